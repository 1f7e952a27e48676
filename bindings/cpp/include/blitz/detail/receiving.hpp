// Members of the receivers of all channels.
#ifndef BLITZ_DETAIL_RECEIVING_HPP
#define BLITZ_DETAIL_RECEIVING_HPP

#include <blitz.h>

#include <blitz/channel.hpp>
#include <blitz/detail/deadline.hpp>
#include <blitz/detail/operation.hpp>
#include <blitz/detail/waiting.hpp>

namespace blitz::detail {

// The ways to receive of a class `Receiver` with `native_handle()`.
template <class Receiver, class T>
class receiving {
public:
    // Receives a value. Suspends the calling fiber, or blocks the calling thread, until there is
    // one.
    [[nodiscard]] received<T> recv() {
        return recv_with([this](void* bytes) {
            return waiting([&] { return blitz_recv(handle(), bytes); });
        });
    }

    // Receives a value unless `duration` passes before.
    template <class Rep, class Period>
    [[nodiscard]] received<T> recv_for(const std::chrono::duration<Rep, Period>& duration) {
        return recv_with([&](void* bytes) {
            return waiting_for(duration, [&](auto deadline) {
                return blitz_recv_until(handle(), bytes, deadline);
            });
        });
    }

    // Receives a value unless `time` comes before.
    template <class Clock, class Duration>
    [[nodiscard]] received<T> recv_until(const std::chrono::time_point<Clock, Duration>& time) {
        return recv_with([&](void* bytes) {
            return waiting_until(time, [&](auto deadline) {
                return blitz_recv_until(handle(), bytes, deadline);
            });
        });
    }

    // Receives a value if there is one.
    [[nodiscard]] received<T> try_recv() {
        return recv_with([this](void* bytes) { return blitz_try_recv(handle(), bytes); });
    }

#if BLITZ_COROUTINES
    // `co_await` this to receive a value in a coroutine.
    [[nodiscard]] auto async_recv() {
        return operation([this] { return recv(); });
    }
#endif

private:
    [[nodiscard]] blitz_receiver* handle() const noexcept {
        return static_cast<const Receiver*>(this)->native_handle();
    }

    template <class Receive>
    received<T> recv_with(Receive&& receive) {
        element<T> element;
        const int result = receive(element.bytes());
        if (result == BLITZ_OK) return received<T>(element.take());
        return received<T>(status_of(result));
    }
};

}  // namespace blitz::detail

#endif
