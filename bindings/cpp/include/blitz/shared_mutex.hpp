// A lock for many readers or one writer.
#ifndef BLITZ_SHARED_MUTEX_HPP
#define BLITZ_SHARED_MUTEX_HPP

#include <blitz.h>

#include <blitz/detail/deadline.hpp>
#include <blitz/detail/operation.hpp>
#include <blitz/detail/permits.hpp>
#include <blitz/detail/waiting.hpp>
#include <blitz/error.hpp>
#include <cstddef>

namespace blitz {

// A shared mutex for threads and fibers, with the members of std::shared_timed_mutex. It is fair: a
// reader that comes after a writer waits for the writer, so none may lock it for reading twice.
// Waiting for it is not ended by the cancellation of a fiber.
class shared_mutex {
public:
    using native_handle_type = blitz_rwlock*;

    constexpr shared_mutex() noexcept = default;
    shared_mutex(const shared_mutex&) = delete;
    shared_mutex& operator=(const shared_mutex&) = delete;
    ~shared_mutex() = default;

    // Locks for writing. Suspends the calling fiber, or blocks the calling thread, until nothing
    // else has the lock.
    void lock() {
        if (detail::exchange_permits(lock_, BLITZ_RWLOCK_FREE, 0, __ATOMIC_ACQUIRE)) return;
        detail::check(detail::waiting([this] { return blitz_rwlock_write(&lock_); }));
    }

    // Locks for writing if that is possible at once.
    [[nodiscard]] bool try_lock() noexcept { return blitz_rwlock_try_write(&lock_) == BLITZ_OK; }

    // Locks for writing unless `duration` passes before.
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& duration) {
        return detail::check_unless(
            BLITZ_ETIMEDOUT, detail::waiting_for(duration, [this](auto deadline) {
                return blitz_rwlock_write_until(&lock_, deadline);
            }));
    }

    // Locks for writing unless `time` comes before.
    template <class Clock, class Duration>
    [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration>& time) {
        return detail::check_unless(
            BLITZ_ETIMEDOUT, detail::waiting_until(time, [this](auto deadline) {
                return blitz_rwlock_write_until(&lock_, deadline);
            }));
    }

    // Ends a lock for writing.
    void unlock() noexcept {
        if (detail::exchange_permits(lock_, 0, BLITZ_RWLOCK_FREE, __ATOMIC_RELEASE)) return;
        (void)blitz_rwlock_unlock_write(&lock_);
    }

    // Locks for reading. Suspends the calling fiber, or blocks the calling thread, until no writer
    // has the lock or came before.
    void lock_shared() {
        if (take_permit()) return;
        detail::check(detail::waiting([this] { return blitz_rwlock_read(&lock_); }));
    }

    // Locks for reading if that is possible at once.
    [[nodiscard]] bool try_lock_shared() noexcept {
        return blitz_rwlock_try_read(&lock_) == BLITZ_OK;
    }

    // Locks for reading unless `duration` passes before.
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_shared_for(const std::chrono::duration<Rep, Period>& duration) {
        return detail::check_unless(
            BLITZ_ETIMEDOUT, detail::waiting_for(duration, [this](auto deadline) {
                return blitz_rwlock_read_until(&lock_, deadline);
            }));
    }

    // Locks for reading unless `time` comes before.
    template <class Clock, class Duration>
    [[nodiscard]] bool try_lock_shared_until(const std::chrono::time_point<Clock, Duration>& time) {
        return detail::check_unless(
            BLITZ_ETIMEDOUT, detail::waiting_until(time, [this](auto deadline) {
                return blitz_rwlock_read_until(&lock_, deadline);
            }));
    }

    // Ends a lock for reading.
    void unlock_shared() noexcept {
        if (!return_permit()) (void)blitz_rwlock_unlock_read(&lock_);
    }

    native_handle_type native_handle() noexcept { return &lock_; }

#if BLITZ_COROUTINES
    // `co_await` this to lock for writing in a coroutine.
    [[nodiscard]] auto async_lock() {
        return detail::operation([this] { lock(); });
    }
    // `co_await` this to lock for reading in a coroutine.
    [[nodiscard]] auto async_lock_shared() {
        return detail::operation([this] { lock_shared(); });
    }
#endif

private:
    // Returns `true` if the permits are those of a lock for which nothing waits.
    static bool none_waits(std::size_t permits) noexcept {
        return permits % BLITZ_RWLOCK_READER == 0;
    }

    // Locks for reading without a call. False if that takes one.
    bool take_permit() noexcept {
        detail::permits* const word = detail::permits_of(lock_);
        if (word == nullptr) return false;
        std::size_t permits = __atomic_load_n(word, __ATOMIC_RELAXED);
        while (permits != 0 && none_waits(permits))
            if (__atomic_compare_exchange_n(word, &permits, permits - BLITZ_RWLOCK_READER, true,
                                            __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
                return true;
        return false;
    }

    // Ends a lock for reading without a call. False if that takes one.
    bool return_permit() noexcept {
        detail::permits* const word = detail::permits_of(lock_);
        if (word == nullptr) return false;
        std::size_t permits = __atomic_load_n(word, __ATOMIC_RELAXED);
        while (permits != 0 && permits < BLITZ_RWLOCK_FREE && none_waits(permits))
            if (__atomic_compare_exchange_n(word, &permits, permits + BLITZ_RWLOCK_READER, true,
                                            __ATOMIC_RELEASE, __ATOMIC_RELAXED))
                return true;
        return false;
    }

    blitz_rwlock lock_ = BLITZ_RWLOCK_INIT;
};

using shared_timed_mutex = shared_mutex;

}  // namespace blitz

#endif
