// Signals of the system.
#ifndef BLITZ_SIGNAL_HPP
#define BLITZ_SIGNAL_HPP

#include <blitz.h>

#include <blitz/detail/deadline.hpp>
#include <blitz/detail/handle.hpp>
#include <blitz/detail/operation.hpp>
#include <blitz/detail/waiting.hpp>
#include <blitz/error.hpp>

namespace blitz {

// Receives a signal, such as SIGTERM, which from then on has no other effect in this process. For
// one thread or fiber at a time; another gets `error` with `errc::busy`. Waits throw `canceled` in a
// fiber that is cancelled.
class signal_listener {
public:
    // Throws `error` for a signal that cannot be caught, such as SIGKILL.
    explicit signal_listener(int number) {
        blitz_signal* made = nullptr;
        detail::check(blitz_signal_new(number, &made));
        signal_.reset(made);
    }

    // Waits for the signal. Signals that came since the last wait count once.
    void wait() {
        detail::check(detail::waiting(
            [this] { return blitz_signal_wait(native_handle(), BLITZ_NEVER); }));
    }

    // Waits for the signal, for `duration` at most. Returns `true` if it came.
    template <class Rep, class Period>
    [[nodiscard]] bool wait_for(const std::chrono::duration<Rep, Period>& duration) {
        return detail::check_unless(
            BLITZ_ETIMEDOUT, detail::waiting_for(duration, [this](auto deadline) {
                return blitz_signal_wait(native_handle(), deadline);
            }));
    }

    // Waits for the signal, until `time` at most. Returns `true` if it came.
    template <class Clock, class Duration>
    [[nodiscard]] bool wait_until(const std::chrono::time_point<Clock, Duration>& time) {
        return detail::check_unless(
            BLITZ_ETIMEDOUT, detail::waiting_until(time, [this](auto deadline) {
                return blitz_signal_wait(native_handle(), deadline);
            }));
    }

#if BLITZ_COROUTINES
    // `co_await` this to wait for the signal in a coroutine.
    [[nodiscard]] auto async_wait() {
        return detail::operation([this] { wait(); });
    }
#endif

    [[nodiscard]] blitz_signal* native_handle() const noexcept { return signal_.get(); }

private:
    detail::handle<blitz_signal, blitz_signal_free> signal_;
};

}  // namespace blitz

#endif
