// Functions for the calling fiber or thread.
#ifndef BLITZ_THIS_FIBER_HPP
#define BLITZ_THIS_FIBER_HPP

#include <blitz.h>

#include <blitz/detail/deadline.hpp>
#include <blitz/detail/operation.hpp>
#include <blitz/detail/waiting.hpp>
#include <blitz/error.hpp>

namespace blitz::this_fiber {

// Returns `true` if the caller runs in a fiber.
[[nodiscard]] inline bool is_fiber() noexcept { return blitz_is_fiber(); }

// Returns the number of the calling fiber, which no other fiber of this process has; 0 in a thread.
[[nodiscard]] inline std::uint64_t get_id() noexcept { return blitz_fiber_id(); }

// Returns `true` if the calling fiber is cancelled; false in a thread.
[[nodiscard]] inline bool is_canceled() noexcept { return blitz_fiber_is_cancelled(); }

// Lets other fibers of this thread run, or other threads if the caller is not a fiber.
inline void yield() {
    detail::check(detail::waiting([] { return blitz_yield(); }));
}

// Suspends the calling fiber, or blocks the calling thread, for `duration`.
template <class Rep, class Period>
void sleep_for(const std::chrono::duration<Rep, Period>& duration) {
    detail::check(detail::waiting_for(
        duration, [](auto deadline) { return blitz_sleep_until(deadline); }));
}

// Suspends the calling fiber, or blocks the calling thread, until `time`.
template <class Clock, class Duration>
void sleep_until(const std::chrono::time_point<Clock, Duration>& time) {
    do {
        const std::uint64_t deadline = detail::deadline_at(time);
        detail::check(detail::waiting([&] { return blitz_sleep_until(deadline); }));
    } while (!Clock::is_steady && Clock::now() < time);
}

#if BLITZ_COROUTINES
// `co_await` this to sleep in a coroutine.
template <class Rep, class Period>
[[nodiscard]] auto async_sleep_for(const std::chrono::duration<Rep, Period>& duration) {
    return detail::operation([duration] { sleep_for(duration); });
}

// `co_await` this to sleep in a coroutine until `time`.
template <class Clock, class Duration>
[[nodiscard]] auto async_sleep_until(const std::chrono::time_point<Clock, Duration>& time) {
    return detail::operation([time] { sleep_until(time); });
}
#endif

// While it lives, the waits of the calling fiber are not cancelled. May be nested. No effect in a
// thread.
class cancel_mask {
public:
    cancel_mask() noexcept : masked_(blitz_fiber_mask_cancel(true) == BLITZ_OK) {}
    cancel_mask(const cancel_mask&) = delete;
    cancel_mask& operator=(const cancel_mask&) = delete;
    ~cancel_mask() {
        if (masked_) (void)blitz_fiber_mask_cancel(false);
    }

private:
    bool masked_;
};

}  // namespace blitz::this_fiber

#endif
