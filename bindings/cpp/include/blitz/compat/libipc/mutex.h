// A named mutex for processes.
#ifndef BLITZ_COMPAT_LIBIPC_MUTEX_H
#define BLITZ_COMPAT_LIBIPC_MUTEX_H

#include <pthread.h>

#include <blitz/compat/libipc/detail/shared_object.h>
#include <blitz/compat/libipc/detail/timeout.h>
#include <blitz/this_fiber.hpp>

#include <ctime>
#include <system_error>

namespace ipc::sync {

namespace detail {

using ipc::detail::deadline_of;
using ipc::detail::has_passed;
using ipc::detail::shared_object;

// The mutex of the system, which is unlocked when its owner dies.
struct robust_mutex {
    static constexpr const char* kind = "mutex";

    static void begin(void* memory) {
        auto* const made = new (memory) robust_mutex();
        pthread_mutexattr_t attributes;
        (void)pthread_mutexattr_init(&attributes);
        (void)pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
        (void)pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
        (void)pthread_mutex_init(&made->native, &attributes);
        (void)pthread_mutexattr_destroy(&attributes);
    }

    // Returns 0 with the lock, or an error of the system.
    int try_lock() noexcept { return locked(pthread_mutex_trylock(&native)); }

    int lock_until(std::uint64_t deadline) noexcept {
        const int result = try_lock();
        if (result != EBUSY) return result;
        if (blitz_is_fiber()) return lock_in_fiber(deadline);
        if (deadline == BLITZ_NEVER) return locked(pthread_mutex_lock(&native));
        constexpr std::uint64_t second = 1000 * ipc::detail::nanoseconds_of_millisecond;
        timespec time{};
        time.tv_sec = static_cast<std::time_t>(deadline / second);
        time.tv_nsec = static_cast<long>(deadline % second);
        return locked(pthread_mutex_clocklock(&native, CLOCK_MONOTONIC, &time));
    }

    int unlock() noexcept { return pthread_mutex_unlock(&native); }

    pthread_mutex_t native;

private:
    // A wait in the system would block the other fibers of the thread, and the owner may be one.
    int lock_in_fiber(std::uint64_t deadline) noexcept {
        const blitz::this_fiber::cancel_mask mask;
        ipc::detail::pause pause;
        for (;;) {
            const int result = try_lock();
            if (result != EBUSY) return result;
            if (has_passed(deadline)) return ETIMEDOUT;
            (void)pause.until(deadline);
        }
    }

    // The owner has died; the caller owns the mutex now.
    int locked(int result) noexcept {
        return result == EOWNERDEAD ? pthread_mutex_consistent(&native) : result;
    }
};

}  // namespace detail

// Locks and unlocks in one thread, or in one fiber. When the owner dies, the next one gets the lock.
class mutex {
public:
    mutex() noexcept = default;
    explicit mutex(const char* name) { (void)open(name); }
    mutex(const mutex&) = delete;
    mutex& operator=(const mutex&) = delete;
    ~mutex() = default;

    // The mutex of the system, or NULL.
    [[nodiscard]] const void* native() const noexcept { return valid() ? &(*mutex_)->native : nullptr; }
    [[nodiscard]] void* native() noexcept { return valid() ? &(*mutex_)->native : nullptr; }

    [[nodiscard]] bool valid() const noexcept { return mutex_ != nullptr; }

    // Opens the mutex `name`, and makes it if there is none. Returns `true` if that was possible.
    bool open(const char* name) noexcept {
        mutex_ = detail::shared_object<detail::robust_mutex>::open(name, detail::robust_mutex::begin);
        return valid();
    }
    void close() noexcept { mutex_.reset(); }

    // Closes the mutex, and removes its name.
    void clear() noexcept {
        if (valid()) detail::shared_object<detail::robust_mutex>::remove_path(mutex_->path());
        close();
    }
    static void clear_storage(const char* name) noexcept {
        detail::shared_object<detail::robust_mutex>::remove(name);
    }

    // Locks the mutex, within `timeout` milliseconds. Returns `true` if it is locked.
    bool lock(std::uint64_t timeout = invalid_value) noexcept {
        return valid() && (*mutex_)->lock_until(detail::deadline_of(timeout)) == 0;
    }

    // Locks the mutex if it is free. Throws std::system_error for an error of the system.
    bool try_lock() noexcept(false) {
        if (!valid()) return false;
        const int result = (*mutex_)->try_lock();
        if (result == 0 || result == EBUSY) return result == 0;
        throw std::system_error(result, std::system_category());
    }

    // Returns false if the caller does not own the mutex.
    bool unlock() noexcept { return valid() && (*mutex_)->unlock() == 0; }

private:
    std::shared_ptr<detail::shared_object<detail::robust_mutex>> mutex_;
};

}  // namespace ipc::sync

#endif
