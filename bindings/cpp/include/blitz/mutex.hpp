// A mutual exclusion lock.
#ifndef BLITZ_MUTEX_HPP
#define BLITZ_MUTEX_HPP

#include <blitz.h>

#include <blitz/detail/deadline.hpp>
#include <blitz/detail/operation.hpp>
#include <blitz/detail/permits.hpp>
#include <blitz/detail/waiting.hpp>
#include <blitz/error.hpp>

namespace blitz {

// A mutex for threads and fibers, with the members of std::timed_mutex. It is fair, not recursive,
// allocates nothing, and may be unlocked by another thread or fiber. Waiting for it is not ended by
// the cancellation of a fiber.
class mutex {
public:
    using native_handle_type = blitz_mutex*;

    constexpr mutex() noexcept = default;
    mutex(const mutex&) = delete;
    mutex& operator=(const mutex&) = delete;
    ~mutex() = default;

    // Locks the mutex. Suspends the calling fiber, or blocks the calling thread, until it is free.
    void lock() {
        if (detail::exchange_permits(mutex_, BLITZ_MUTEX_FREE, 0, __ATOMIC_ACQUIRE)) return;
        detail::check(detail::waiting([this] { return blitz_mutex_lock(&mutex_); }));
    }

    // Locks the mutex if it is free.
    [[nodiscard]] bool try_lock() noexcept { return blitz_mutex_try_lock(&mutex_) == BLITZ_OK; }

    // Locks the mutex unless `duration` passes before.
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& duration) {
        return detail::check_unless(
            BLITZ_ETIMEDOUT, detail::waiting_for(duration, [this](auto deadline) {
                return blitz_mutex_lock_until(&mutex_, deadline);
            }));
    }

    // Locks the mutex unless `time` comes before.
    template <class Clock, class Duration>
    [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration>& time) {
        return detail::check_unless(
            BLITZ_ETIMEDOUT, detail::waiting_until(time, [this](auto deadline) {
                return blitz_mutex_lock_until(&mutex_, deadline);
            }));
    }

    // Unlocks the mutex, which must be locked.
    void unlock() noexcept {
        if (detail::exchange_permits(mutex_, 0, BLITZ_MUTEX_FREE, __ATOMIC_RELEASE)) return;
        (void)blitz_mutex_unlock(&mutex_);
    }

    native_handle_type native_handle() noexcept { return &mutex_; }

#if BLITZ_COROUTINES
    // `co_await` this to lock the mutex in a coroutine.
    [[nodiscard]] auto async_lock() {
        return detail::operation([this] { lock(); });
    }
#endif

private:
    blitz_mutex mutex_ = BLITZ_MUTEX_INIT;
};

using timed_mutex = mutex;

}  // namespace blitz

#endif
