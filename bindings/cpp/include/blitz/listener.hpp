// Sockets that accept connections.
#ifndef BLITZ_LISTENER_HPP
#define BLITZ_LISTENER_HPP

#include <blitz.h>

#include <blitz/stream.hpp>
#include <optional>
#include <string>

namespace blitz {

// A socket that accepts connections. Several threads and fibers may use it at once. Waits throw
// `canceled` in a fiber that is cancelled, and `error` for an error of the system.
class listener {
public:
    explicit listener(blitz_listener* native) noexcept : listener_(native) {}

    // Accepts a connection. Suspends the calling fiber, or blocks the calling thread.
    stream accept() {
        return detail::connected([&](blitz_stream** made) {
            return blitz_listener_accept(native_handle(), made);
        });
    }

    // Accepts a connection unless `duration` passes before.
    template <class Rep, class Period>
    std::optional<stream> accept_for(const std::chrono::duration<Rep, Period>& duration) {
        blitz_stream* made = nullptr;
        const int result = detail::waiting_for(duration, [&](auto deadline) {
            return blitz_listener_accept_until(native_handle(), deadline, &made);
        });
        if (!detail::check_unless(BLITZ_ETIMEDOUT, result)) return std::nullopt;
        return stream(made);
    }

    // Accepts a connection unless `time` comes before.
    template <class Clock, class Duration>
    std::optional<stream> accept_until(const std::chrono::time_point<Clock, Duration>& time) {
        blitz_stream* made = nullptr;
        const int result = detail::waiting_until(time, [&](auto deadline) {
            return blitz_listener_accept_until(native_handle(), deadline, &made);
        });
        if (!detail::check_unless(BLITZ_ETIMEDOUT, result)) return std::nullopt;
        return stream(made);
    }

    // Accepts a connection that has arrived.
    std::optional<stream> try_accept() {
        blitz_stream* made = nullptr;
        const int result = blitz_listener_try_accept(native_handle(), &made);
        if (!detail::check_unless(BLITZ_EAGAIN, result)) return std::nullopt;
        return stream(made);
    }

    // Returns the address of a listener of TCP.
    [[nodiscard]] address local_address() const {
        address result;
        detail::check(blitz_listener_address(native_handle(), result.native()));
        return result;
    }

    // Returns the descriptor, for options of the system. The listener keeps it.
    [[nodiscard]] int fd() const noexcept { return blitz_listener_fd(native_handle()); }

    [[nodiscard]] blitz_listener* native_handle() const noexcept { return listener_.get(); }

#if BLITZ_COROUTINES
    // `co_await` this to accept a connection in a coroutine.
    [[nodiscard]] auto async_accept() {
        return detail::operation([this] { return accept(); });
    }
#endif

private:
    detail::handle<blitz_listener, blitz_listener_free> listener_;
};

// Listens at a host with a port, such as "127.0.0.1:8080"; port 0 lets the system choose.
inline listener listen_tcp(const std::string& host) {
    blitz_listener* made = nullptr;
    detail::check(detail::waiting([&] { return blitz_tcp_listen(host.c_str(), &made); }));
    return listener(made);
}

// Listens at a path with a Unix socket. The file remains.
inline listener listen_unix(const std::string& path) {
    blitz_listener* made = nullptr;
    detail::check(blitz_unix_listen(path.c_str(), &made));
    return listener(made);
}

}  // namespace blitz

#endif
