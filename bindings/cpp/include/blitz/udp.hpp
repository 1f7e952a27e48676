// Sockets of UDP.
#ifndef BLITZ_UDP_HPP
#define BLITZ_UDP_HPP

#include <blitz.h>

#include <blitz/address.hpp>
#include <blitz/detail/deadline.hpp>
#include <blitz/detail/handle.hpp>
#include <blitz/detail/operation.hpp>
#include <blitz/detail/waiting.hpp>
#include <blitz/error.hpp>
#include <optional>
#include <string>

namespace blitz {

// A datagram that was received.
struct datagram {
    // The number of bytes.
    std::size_t size = 0;
    // The sender.
    address from;
};

// A socket of UDP. Several threads and fibers may use it at once. Waits throw `canceled` in a fiber
// that is cancelled, and `error` for an error of the system.
class udp_socket {
public:
    // Binds to a host with a port, such as "0.0.0.0:0"; port 0 lets the system choose.
    explicit udp_socket(const std::string& host) {
        blitz_udp* made = nullptr;
        detail::check(detail::waiting([&] { return blitz_udp_bind(host.c_str(), &made); }));
        udp_.reset(made);
    }

    // Sends a datagram. Suspends the calling fiber, or blocks the calling thread, while the system
    // has no room.
    void send_to(const void* buffer, std::size_t len, const address& to) {
        detail::check(detail::waiting([&] {
            return blitz_udp_send(native_handle(), buffer, len, to.native(), BLITZ_NEVER);
        }));
    }

    // Receives a datagram. What does not fit in `len` bytes is lost.
    datagram recv_from(void* buffer, std::size_t len) {
        datagram result;
        detail::check(detail::waiting([&] {
            return blitz_udp_recv(native_handle(), buffer, len, BLITZ_NEVER, &result.size,
                                  result.from.native());
        }));
        return result;
    }

    // Receives a datagram unless `duration` passes before.
    template <class Rep, class Period>
    std::optional<datagram> recv_from_for(void* buffer, std::size_t len,
                                          const std::chrono::duration<Rep, Period>& duration) {
        datagram result;
        const int status = detail::waiting_for(duration, [&](auto deadline) {
            return blitz_udp_recv(native_handle(), buffer, len, deadline, &result.size,
                                  result.from.native());
        });
        if (!detail::check_unless(BLITZ_ETIMEDOUT, status)) return std::nullopt;
        return result;
    }

    // Receives a datagram unless `time` comes before.
    template <class Clock, class Duration>
    std::optional<datagram> recv_from_until(
        void* buffer, std::size_t len, const std::chrono::time_point<Clock, Duration>& time) {
        datagram result;
        const int status = detail::waiting_until(time, [&](auto deadline) {
            return blitz_udp_recv(native_handle(), buffer, len, deadline, &result.size,
                                  result.from.native());
        });
        if (!detail::check_unless(BLITZ_ETIMEDOUT, status)) return std::nullopt;
        return result;
    }

    // Returns the address of the socket.
    [[nodiscard]] address local_address() const {
        address result;
        detail::check(blitz_udp_address(native_handle(), result.native()));
        return result;
    }

    [[nodiscard]] blitz_udp* native_handle() const noexcept { return udp_.get(); }

#if BLITZ_COROUTINES
    // `co_await` this to receive a datagram in a coroutine. The buffer must live until then.
    [[nodiscard]] auto async_recv_from(void* buffer, std::size_t len) {
        return detail::operation([this, buffer, len] { return recv_from(buffer, len); });
    }
#endif

private:
    detail::handle<blitz_udp, blitz_udp_free> udp_;
};

}  // namespace blitz

#endif
