// An event.
#ifndef BLITZ_EVENT_HPP
#define BLITZ_EVENT_HPP

#include <blitz.h>

#include <blitz/detail/deadline.hpp>
#include <blitz/detail/operation.hpp>
#include <blitz/detail/waiting.hpp>
#include <blitz/error.hpp>

namespace blitz {

// How an event is reset.
enum class event_reset : std::uint32_t {
    // It stays set until it is reset, and lets all waiters go.
    manual = BLITZ_EVENT_MANUAL,
    // The one waiter that it lets go resets it.
    automatic = BLITZ_EVENT_AUTO,
};

// An event for threads and fibers, which begins unset. A wait throws `canceled` in a fiber that is
// cancelled.
class event {
public:
    constexpr explicit event(event_reset reset = event_reset::manual) noexcept
        : event_ BLITZ_EVENT_INIT(static_cast<std::uint32_t>(reset)) {}
    event(const event&) = delete;
    event& operator=(const event&) = delete;
    ~event() = default;

    // Sets the event.
    void set() noexcept { (void)blitz_event_set(&event_); }

    // Resets the event.
    void reset() noexcept { (void)blitz_event_reset(&event_); }

    // Waits until the event is set. Suspends the calling fiber, or blocks the calling thread.
    void wait() {
        detail::check(detail::waiting([this] { return blitz_event_wait(&event_); }));
    }

    // Returns `true` if the event is set, and resets it if its reset is automatic.
    [[nodiscard]] bool try_wait() noexcept { return blitz_event_try_wait(&event_) == BLITZ_OK; }

    // Waits until the event is set, for `duration` at most. Returns `true` if it was set.
    template <class Rep, class Period>
    [[nodiscard]] bool wait_for(const std::chrono::duration<Rep, Period>& duration) {
        return detail::check_unless(
            BLITZ_ETIMEDOUT, detail::waiting_for(duration, [this](auto deadline) {
                return blitz_event_wait_until(&event_, deadline);
            }));
    }

    // Waits until the event is set, until `time` at most. Returns `true` if it was set.
    template <class Clock, class Duration>
    [[nodiscard]] bool wait_until(const std::chrono::time_point<Clock, Duration>& time) {
        return detail::check_unless(
            BLITZ_ETIMEDOUT, detail::waiting_until(time, [this](auto deadline) {
                return blitz_event_wait_until(&event_, deadline);
            }));
    }

#if BLITZ_COROUTINES
    // `co_await` this to wait until the event is set in a coroutine.
    [[nodiscard]] auto async_wait() {
        return detail::operation([this] { wait(); });
    }
#endif

private:
    blitz_event event_;
};

}  // namespace blitz

#endif
