// A condition variable for blitz::mutex.
#ifndef BLITZ_CONDITION_VARIABLE_HPP
#define BLITZ_CONDITION_VARIABLE_HPP

#include <blitz.h>

#include <blitz/mutex.hpp>
#include <condition_variable>
#include <mutex>

namespace blitz {

// A condition variable for threads and fibers, with the members of std::condition_variable. It must
// outlive the waits for it. A wait throws `canceled` in a fiber that is cancelled; the lock is held
// then too.
class condition_variable {
public:
    using native_handle_type = blitz_condvar*;

    constexpr condition_variable() noexcept = default;
    condition_variable(const condition_variable&) = delete;
    condition_variable& operator=(const condition_variable&) = delete;
    ~condition_variable() = default;

    // Wakes the first thread or fiber that waits.
    void notify_one() noexcept { (void)blitz_condvar_notify_one(&condvar_); }

    // Wakes all threads and fibers that wait.
    void notify_all() noexcept { (void)blitz_condvar_notify_all(&condvar_); }

    // Unlocks, waits for a notification, and locks again. May return without a notification.
    void wait(std::unique_lock<mutex>& lock) {
        detail::check(detail::waiting(
            [&] { return blitz_condvar_wait(&condvar_, lock.mutex()->native_handle()); }));
    }

    // Waits until `condition()` is true.
    template <class Predicate>
    void wait(std::unique_lock<mutex>& lock, Predicate condition) {
        while (!condition()) wait(lock);
    }

    // Waits for a notification until `time` at most.
    template <class Clock, class Duration>
    std::cv_status wait_until(std::unique_lock<mutex>& lock,
                              const std::chrono::time_point<Clock, Duration>& time) {
        const int result = detail::waiting_until(time, [&](auto deadline) {
            return blitz_condvar_wait_until(&condvar_, lock.mutex()->native_handle(), deadline);
        });
        return detail::check_unless(BLITZ_ETIMEDOUT, result) ? std::cv_status::no_timeout
                                                             : std::cv_status::timeout;
    }

    // Waits until `condition()` is true, until `time` at most, and returns `condition()`.
    template <class Clock, class Duration, class Predicate>
    bool wait_until(std::unique_lock<mutex>& lock,
                    const std::chrono::time_point<Clock, Duration>& time, Predicate condition) {
        while (!condition())
            if (wait_until(lock, time) == std::cv_status::timeout) return condition();
        return true;
    }

    // Waits for a notification for `duration` at most.
    template <class Rep, class Period>
    std::cv_status wait_for(std::unique_lock<mutex>& lock,
                            const std::chrono::duration<Rep, Period>& duration) {
        return wait_to(lock, detail::deadline_after(duration));
    }

    // Waits until `condition()` is true, for `duration` at most, and returns `condition()`.
    template <class Rep, class Period, class Predicate>
    bool wait_for(std::unique_lock<mutex>& lock, const std::chrono::duration<Rep, Period>& duration,
                  Predicate condition) {
        const std::uint64_t deadline = detail::deadline_after(duration);
        while (!condition())
            if (wait_to(lock, deadline) == std::cv_status::timeout) return condition();
        return true;
    }

    native_handle_type native_handle() noexcept { return &condvar_; }

private:
    std::cv_status wait_to(std::unique_lock<mutex>& lock, std::uint64_t deadline) {
        const int result = detail::waiting([&] {
            return blitz_condvar_wait_until(&condvar_, lock.mutex()->native_handle(), deadline);
        });
        return detail::check_unless(BLITZ_ETIMEDOUT, result) ? std::cv_status::no_timeout
                                                             : std::cv_status::timeout;
    }

    blitz_condvar condvar_ = BLITZ_CONDVAR_INIT;
};

}  // namespace blitz

#endif
