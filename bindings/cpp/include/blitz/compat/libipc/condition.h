// A named condition variable for processes.
//
// 1. `sequence` counts the notifications. A waiter reads it while it has the mutex, unlocks, and
//    sleeps while the number is the same.
// 2. A notification changes the number before it wakes. So a waiter that sleeps when the change
//    comes is woken, and one that would sleep afterwards sees another number.
//
// A process that is killed between the two steps of a notification wakes no waiter: the next
// notification does.
#ifndef BLITZ_COMPAT_LIBIPC_CONDITION_H
#define BLITZ_COMPAT_LIBIPC_CONDITION_H

#include <blitz/compat/libipc/detail/shared_word.h>
#include <blitz/compat/libipc/mutex.h>

namespace ipc::sync {

namespace detail {

struct shared_condition {
    static constexpr const char* kind = "condition";
    static void begin(void* memory) { new (memory) shared_condition(); }

    ipc::detail::word sequence{0};
};

}  // namespace detail

class condition {
public:
    condition() noexcept = default;
    explicit condition(const char* name) { (void)open(name); }
    condition(const condition&) = delete;
    condition& operator=(const condition&) = delete;
    ~condition() = default;

    // The word, or NULL.
    [[nodiscard]] const void* native() const noexcept {
        return valid() ? &(*condition_)->sequence : nullptr;
    }
    [[nodiscard]] void* native() noexcept { return valid() ? &(*condition_)->sequence : nullptr; }

    [[nodiscard]] bool valid() const noexcept { return condition_ != nullptr; }

    // Opens the condition variable `name`, and makes it if there is none.
    bool open(const char* name) noexcept {
        condition_ = object::open(name, detail::shared_condition::begin);
        return valid();
    }
    void close() noexcept { condition_.reset(); }

    // Closes the condition variable, and removes its name.
    void clear() noexcept {
        if (valid()) object::remove_path(condition_->path());
        close();
    }
    static void clear_storage(const char* name) noexcept { object::remove(name); }

    // Unlocks the mutex, waits for a notification for `timeout` milliseconds, and locks the mutex
    // again. Returns false without a notification. May return true without one.
    bool wait(mutex& mutex, std::uint64_t timeout = invalid_value) noexcept {
        if (!valid() || !mutex.valid()) return false;
        const auto shared = condition_;
        const std::uint64_t deadline = detail::deadline_of(timeout);
        const std::uint32_t seen = (*shared)->sequence.load(std::memory_order_acquire);
        if (!mutex.unlock()) return false;
        int result = BLITZ_OK;
        while (result == BLITZ_OK &&
               (*shared)->sequence.load(std::memory_order_acquire) == seen)
            result = ipc::detail::sleep_while((*shared)->sequence, seen, deadline);
        const bool notified = (*shared)->sequence.load(std::memory_order_acquire) != seen;
        return mutex.lock() && notified;
    }

    // Wakes one that waits. The mutex need not be locked.
    bool notify(mutex& /*mutex*/) noexcept { return wake(1); }

    // Wakes all that wait.
    bool broadcast(mutex& /*mutex*/) noexcept { return wake(std::numeric_limits<std::size_t>::max()); }

private:
    using object = detail::shared_object<detail::shared_condition>;

    bool wake(std::size_t count) noexcept {
        if (!valid()) return false;
        (*condition_)->sequence.fetch_add(1, std::memory_order_acq_rel);
        ipc::detail::wake((*condition_)->sequence, count);
        return true;
    }

    std::shared_ptr<object> condition_;
};

}  // namespace ipc::sync

#endif
