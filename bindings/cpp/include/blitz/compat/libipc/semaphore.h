// A named semaphore for processes.
//
// 1. `permits` is the number of free permits. A waiter takes one with a compare-exchange if there
//    is one, and otherwise sleeps while the number is 0.
// 2. A post adds permits before it wakes as many waiters. A waiter that sleeps is woken, and one
//    that would sleep sees a number that is not 0.
// 3. A waiter looks again from time to time, because a process may be killed between the two steps.
#ifndef BLITZ_COMPAT_LIBIPC_SEMAPHORE_H
#define BLITZ_COMPAT_LIBIPC_SEMAPHORE_H

#include <blitz/compat/libipc/detail/shared_object.h>
#include <blitz/compat/libipc/detail/shared_word.h>
#include <blitz/compat/libipc/detail/timeout.h>

namespace ipc::sync {

namespace detail {

struct shared_semaphore {
    static constexpr const char* kind = "semaphore";

    explicit shared_semaphore(std::uint32_t count) : permits(count) {}

    ipc::detail::word permits;
};

}  // namespace detail

class semaphore {
public:
    semaphore() noexcept = default;
    explicit semaphore(const char* name, std::uint32_t count = 0) { (void)open(name, count); }
    semaphore(const semaphore&) = delete;
    semaphore& operator=(const semaphore&) = delete;
    ~semaphore() = default;

    // The word, or NULL.
    [[nodiscard]] const void* native() const noexcept {
        return valid() ? &(*semaphore_)->permits : nullptr;
    }
    [[nodiscard]] void* native() noexcept { return valid() ? &(*semaphore_)->permits : nullptr; }

    [[nodiscard]] bool valid() const noexcept { return semaphore_ != nullptr; }

    // Opens the semaphore `name`, and makes it with `count` permits if there is none.
    bool open(const char* name, std::uint32_t count = 0) noexcept {
        semaphore_.reset();
        if (count > max) return false;
        semaphore_ = object::open(
            name, [count](void* memory) { new (memory) detail::shared_semaphore(count); });
        return valid();
    }
    void close() noexcept { semaphore_.reset(); }

    // Closes the semaphore, and removes its name.
    void clear() noexcept {
        if (valid()) object::remove_path(semaphore_->path());
        close();
    }
    static void clear_storage(const char* name) noexcept { object::remove(name); }

    // Takes a permit, within `timeout` milliseconds. Returns `true` if it has one.
    bool wait(std::uint64_t timeout = invalid_value) noexcept {
        if (!valid()) return false;
        const auto shared = semaphore_;
        ipc::detail::word& permits = (*shared)->permits;
        const std::uint64_t deadline = ipc::detail::deadline_of(timeout);
        for (;;) {
            std::uint32_t free = permits.load(std::memory_order_relaxed);
            while (free != 0)
                if (permits.compare_exchange_weak(free, free - 1, std::memory_order_acquire))
                    return true;
            if (ipc::detail::has_passed(deadline)) return false;
            const int result =
                ipc::detail::sleep_while(permits, 0, ipc::detail::next_look(deadline));
            if (result != BLITZ_OK && result != BLITZ_ETIMEDOUT && result != BLITZ_ECHANGED)
                return false;
        }
    }

    // Adds permits. Returns false if there would be more than 2,147,483,647.
    bool post(std::uint32_t count = 1) noexcept {
        if (!valid()) return false;
        ipc::detail::word& permits = (*semaphore_)->permits;
        std::uint32_t free = permits.load(std::memory_order_relaxed);
        do {
            if (count > max || free > max - count) return false;
        } while (!permits.compare_exchange_weak(free, free + count, std::memory_order_release));
        ipc::detail::wake(permits, count);
        return true;
    }

private:
    using object = ipc::detail::shared_object<detail::shared_semaphore>;
    static constexpr std::uint32_t max = std::numeric_limits<std::int32_t>::max();

    std::shared_ptr<object> semaphore_;
};

}  // namespace ipc::sync

#endif
