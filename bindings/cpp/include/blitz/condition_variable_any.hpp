// A condition variable for locks of any type.
//
// The word counts notifications.
//
// 1. A waiter holds the lock, reads the word, unlocks, and sleeps while the word still has that value.
// 2. A notifier has changed the condition under the lock before it increments the word and wakes.
// 3. A waiter that has not seen the condition read the word before the change, so before the
//    increment. Either it sleeps when the wake comes, or it finds another number and does not sleep.
// 4. `notify_one` wakes a sleeper even if a waiter that is still on its way to sleep sees the
//    increment: then both return, and one of them without need.
#ifndef BLITZ_CONDITION_VARIABLE_ANY_HPP
#define BLITZ_CONDITION_VARIABLE_ANY_HPP

#include <blitz.h>

#include <blitz/detail/deadline.hpp>
#include <blitz/detail/word.hpp>
#include <blitz/error.hpp>
#include <condition_variable>
#if __has_include(<stop_token>) && __cplusplus >= 202002L
#include <stop_token>
#endif

namespace blitz {

// A condition variable for threads and fibers, with the members of std::condition_variable_any. It
// must outlive the waits for it. A wait throws `canceled` in a fiber that is cancelled; the lock is
// held then too.
class condition_variable_any {
public:
    constexpr condition_variable_any() noexcept = default;
    condition_variable_any(const condition_variable_any&) = delete;
    condition_variable_any& operator=(const condition_variable_any&) = delete;
    ~condition_variable_any() = default;

    // Wakes a thread or fiber that waits.
    void notify_one() noexcept {
        notifications_.fetch_add(1, std::memory_order_release);
        detail::wake_one(notifications_);
    }

    // Wakes all threads and fibers that wait.
    void notify_all() noexcept {
        notifications_.fetch_add(1, std::memory_order_release);
        detail::wake_all(notifications_);
    }

    // Unlocks, waits for a notification, and locks again. May return without a notification.
    template <class Lock>
    void wait(Lock& lock) {
        (void)wait_to(lock, BLITZ_NEVER);
    }

    // Waits until `condition()` is true.
    template <class Lock, class Predicate>
    void wait(Lock& lock, Predicate condition) {
        while (!condition()) wait(lock);
    }

    // Waits for a notification until `time` at most.
    template <class Lock, class Clock, class Duration>
    std::cv_status wait_until(Lock& lock, const std::chrono::time_point<Clock, Duration>& time) {
        const std::cv_status status = wait_to(lock, detail::deadline_at(time));
        // A clock that was set back makes this a wait that ended without a notification.
        return Clock::is_steady || Clock::now() >= time ? status : std::cv_status::no_timeout;
    }

    // Waits until `condition()` is true, until `time` at most, and returns `condition()`.
    template <class Lock, class Clock, class Duration, class Predicate>
    bool wait_until(Lock& lock, const std::chrono::time_point<Clock, Duration>& time,
                    Predicate condition) {
        while (!condition())
            if (wait_until(lock, time) == std::cv_status::timeout) return condition();
        return true;
    }

    // Waits for a notification for `duration` at most.
    template <class Lock, class Rep, class Period>
    std::cv_status wait_for(Lock& lock, const std::chrono::duration<Rep, Period>& duration) {
        return wait_to(lock, detail::deadline_after(duration));
    }

    // Waits until `condition()` is true, for `duration` at most, and returns `condition()`.
    template <class Lock, class Rep, class Period, class Predicate>
    bool wait_for(Lock& lock, const std::chrono::duration<Rep, Period>& duration,
                  Predicate condition) {
        const std::uint64_t deadline = detail::deadline_after(duration);
        while (!condition())
            if (wait_to(lock, deadline) == std::cv_status::timeout) return condition();
        return true;
    }

#ifdef __cpp_lib_jthread
    // Waits until `condition()` is true or a stop is requested, and returns `condition()`.
    template <class Lock, class Predicate>
    bool wait(Lock& lock, std::stop_token stop, Predicate condition) {
        return wait_to(lock, stop, BLITZ_NEVER, condition);
    }

    // Waits as above, until `time` at most.
    template <class Lock, class Clock, class Duration, class Predicate>
    bool wait_until(Lock& lock, std::stop_token stop,
                    const std::chrono::time_point<Clock, Duration>& time, Predicate condition) {
        return wait_to(lock, stop, detail::deadline_at(time), condition);
    }

    // Waits as above, for `duration` at most.
    template <class Lock, class Rep, class Period, class Predicate>
    bool wait_for(Lock& lock, std::stop_token stop,
                  const std::chrono::duration<Rep, Period>& duration, Predicate condition) {
        return wait_to(lock, stop, detail::deadline_after(duration), condition);
    }
#endif

private:
    // Unlocks, and locks again at the end. If that throws while an exception is handled, the
    // process ends, as with the condition variable of the standard library.
    template <class Lock>
    class unlocked {
    public:
        explicit unlocked(Lock& lock) : lock_(lock) { lock_.unlock(); }
        unlocked(const unlocked&) = delete;
        unlocked& operator=(const unlocked&) = delete;
        ~unlocked() { lock_.lock(); }

    private:
        Lock& lock_;
    };

    template <class Lock>
    std::cv_status wait_to(Lock& lock, std::uint64_t deadline) {
        return sleep_while(lock, notifications_.load(std::memory_order_acquire), deadline);
    }

    template <class Lock>
    std::cv_status sleep_while(Lock& lock, std::uint32_t seen, std::uint64_t deadline) {
        int result;
        {
            const unlocked<Lock> without(lock);
            result = detail::sleep_while(notifications_, seen, deadline);
        }
        if (result == BLITZ_ETIMEDOUT) return std::cv_status::timeout;
        if (result != BLITZ_ECHANGED) detail::check(result);
        return std::cv_status::no_timeout;
    }

#ifdef __cpp_lib_jthread
    template <class Lock, class Predicate>
    bool wait_to(Lock& lock, const std::stop_token& stop, std::uint64_t deadline,
                 Predicate& condition) {
        // It increments the word without the lock, so the waiter reads the word before it asks.
        const std::stop_callback wakes(stop, [this] { notify_all(); });
        for (;;) {
            const std::uint32_t seen = notifications_.load(std::memory_order_acquire);
            if (condition()) return true;
            if (stop.stop_requested()) return false;
            if (sleep_while(lock, seen, deadline) == std::cv_status::timeout) return condition();
        }
    }
#endif

    detail::word notifications_{0};
};

}  // namespace blitz

#endif
