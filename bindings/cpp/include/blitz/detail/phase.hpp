// A number that advances, and the waits for it. To advance makes no call of the system unless a
// thread or fiber sleeps.
//
// Bit 0 of the word is set if a waiter sleeps or is about to. The number is in the other bits.
//
// 1. A waiter that finds the old number sets bit 0 by a compare-exchange, unless it is set. Then it
//    sleeps while the word is the old number with bit 0.
// 2. To advance is to exchange the word for the next number, with bit 0 clear. If bit 0 was set
//    before, all sleepers are woken.
//
// No wake-up is lost. A waiter sleeps only on a value with bit 0. The exchange of step 2 either finds
// this bit, and wakes; or it comes before step 1, whose compare-exchange then fails and finds the next
// number. A sleeper that the wake misses has not compared the word yet, and finds it changed.
//
// The exchange is the last use of the word: a waiter may see the next number and destroy it. A wake
// uses the address only.
#ifndef BLITZ_DETAIL_PHASE_HPP
#define BLITZ_DETAIL_PHASE_HPP

#include <blitz.h>

#include <atomic>
#include <blitz/detail/word.hpp>
#include <cstddef>
#include <cstdint>

namespace blitz::detail {

class phase {
public:
    constexpr phase() noexcept = default;

    // The number, which is even, and 0 at first.
    [[nodiscard]] std::uint32_t number(std::memory_order order) const noexcept {
        return word_.load(order) & ~awaited;
    }

    // Advances to the next number, and wakes all waiters. Calls must not overlap.
    void advance(std::uint32_t number) noexcept {
        if ((word_.exchange(number + 2, std::memory_order_release) & awaited) != 0) wake_all(word_);
    }

    // Waits while the number is `number`. It takes `threads` threads to advance, the waiting one
    // included. Returns a result of blitz_futex_wait_until; BLITZ_OK if the number is another.
    int wait_while(std::uint32_t number, std::size_t threads, std::uint64_t deadline) const {
        for (;;) {
            std::uint32_t seen = word_.load(std::memory_order_acquire);
            if ((seen & ~awaited) != number) return BLITZ_OK;
            if (blitz_futex_spin_until_different(address_of(word_), seen, threads) == BLITZ_OK)
                continue;
            if (seen == number &&
                !word_.compare_exchange_strong(seen, number | awaited, std::memory_order_relaxed))
                continue;
            const int result = sleep_while(word_, number | awaited, deadline);
            if (result != BLITZ_OK && result != BLITZ_ECHANGED) return result;
        }
    }

private:
    static constexpr std::uint32_t awaited = 1;

    mutable word word_{0};
};

}  // namespace blitz::detail

#endif
