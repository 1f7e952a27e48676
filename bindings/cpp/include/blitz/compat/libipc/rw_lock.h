// Locks that spin, also in shared memory. Both are one word, and zeros are a free lock.
//
// A fiber that spins lets the others of its thread run. Its cancellation does not end the wait.
//
// States of `rw_lock`: bit 31 is set while a writer has the lock or waits for its readers; the other
// bits count the readers.
//
// 1. A writer sets the bit. If the bit was clear before, no other writer has the lock, and from now on
//    no reader can begin. The writer has the lock when it has seen the count at 0.
// 2. A reader adds 1 if the bit is clear, by one compare-exchange.
// 3. Unlocking is a release: a writer stores 0, for its bit alone is set; a reader subtracts 1.
#ifndef BLITZ_COMPAT_LIBIPC_RW_LOCK_H
#define BLITZ_COMPAT_LIBIPC_RW_LOCK_H

#include <blitz.h>

#include <atomic>
#include <blitz/detail/waiting.hpp>
#include <blitz/this_fiber.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace ipc {

namespace detail {

// Lets others run, for a millisecond or a moment.
inline void let_others_run(bool for_long) noexcept {
    constexpr std::uint64_t millisecond = 1000000;
    const blitz::this_fiber::cancel_mask mask;
    (void)blitz::detail::waiting(
        [&] { return for_long ? blitz_sleep_ns(millisecond) : blitz_yield(); });
}

}  // namespace detail

// Waits for a moment between two looks, longer for a larger `k`, which it counts up.
template <typename K>
void yield(K& k) noexcept {
    constexpr K short_turns = 4;
    constexpr K turns = 32;
    const bool for_long = !(k < turns);
    if (!(k < short_turns)) detail::let_others_run(for_long);
    if (!for_long) ++k;
}

// Lets others run between two looks. After `N` of them it calls `f`, which waits and returns true, or
// it sleeps for a millisecond.
template <std::size_t N = 4096, typename K, typename F>
void sleep(K& k, F&& f) {
    if (k < static_cast<K>(N)) {
        detail::let_others_run(false);
        ++k;
    } else if (!std::forward<F>(f)()) {
        detail::let_others_run(true);
    }
}
template <std::size_t N = 4096, typename K>
void sleep(K& k) {
    sleep<N>(k, [] { return false; });
}

class spin_lock {
public:
    void lock() noexcept {
        for (unsigned k = 0; locked_.exchange(1, std::memory_order_acquire) != 0;) yield(k);
    }
    void unlock() noexcept { locked_.store(0, std::memory_order_release); }

private:
    std::atomic<unsigned> locked_{0};
};

// Readers that come after a writer wait for it.
class rw_lock {
public:
    rw_lock() = default;
    rw_lock(const rw_lock&) = delete;
    rw_lock& operator=(const rw_lock&) = delete;
    ~rw_lock() = default;

    void lock() noexcept {
        for (unsigned k = 0; (state_.fetch_or(writer, std::memory_order_acquire) & writer) != 0;)
            yield(k);
        for (unsigned k = 0; state_.load(std::memory_order_acquire) != writer;) yield(k);
    }
    void unlock() noexcept { state_.store(0, std::memory_order_release); }

    void lock_shared() noexcept {
        unsigned state = state_.load(std::memory_order_relaxed);
        for (unsigned k = 0;;) {
            if ((state & writer) != 0) {
                yield(k);
                state = state_.load(std::memory_order_relaxed);
            } else if (state_.compare_exchange_weak(state, state + 1, std::memory_order_acquire,
                                                    std::memory_order_relaxed)) {
                return;
            }
        }
    }
    void unlock_shared() noexcept { state_.fetch_sub(1, std::memory_order_release); }

private:
    static constexpr unsigned writer = 1U << 31U;

    std::atomic<unsigned> state_{0};
};

}  // namespace ipc

#endif
