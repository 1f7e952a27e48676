// The functions of Google Highway's hwy/contrib/thread_pool/futex.h, on the futex of blitz-io. A
// program includes this header instead of that one, or before it; then that one adds nothing. As
// Highway does, it needs C++11 only, and neither exceptions nor run-time type information.
//
// More than there: a fiber that waits is suspended alone.
#ifndef BLITZ_COMPAT_HWY_FUTEX_HPP
#define BLITZ_COMPAT_HWY_FUTEX_HPP

#ifdef HIGHWAY_HWY_CONTRIB_THREAD_POOL_FUTEX_H_
#error "include blitz/compat/hwy_futex.hpp before the futex.h of Highway"
#endif
#define HIGHWAY_HWY_CONTRIB_THREAD_POOL_FUTEX_H_

#include <blitz.h>

#include <atomic>
#include <blitz/detail/waiting.hpp>
#include <cstdint>
#include <exception>

namespace hwy {
namespace blitz_detail {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t) &&
                  alignof(std::atomic<std::uint32_t>) == alignof(std::uint32_t),
              "a word is its number");

inline const std::uint32_t* address_of(const std::atomic<std::uint32_t>& word) {
    return reinterpret_cast<const std::uint32_t*>(&word);
}

// A wait of a fiber that its cancellation does not end.
struct uncancelled {
    const bool masked = blitz_fiber_mask_cancel(true) == BLITZ_OK;
    uncancelled() = default;
    uncancelled(const uncancelled&) = delete;
    uncancelled& operator=(const uncancelled&) = delete;
    ~uncancelled() {
        if (masked) (void)blitz_fiber_mask_cancel(false);
    }
};

struct block_until_different {
    const std::uint32_t* word;
    std::uint32_t* value;
    int operator()() const {
        return blitz_futex_block_until_different(word, *value, BLITZ_FUTEX_PRIVATE, BLITZ_NEVER, value);
    }
};

struct sleep {
    std::uint64_t nanoseconds;
    int operator()() const { return blitz_sleep_ns(nanoseconds); }
};

}  // namespace blitz_detail

// Sleeps for `ns` nanoseconds. Returns false if it did not, because the calling fiber is cancelled.
inline bool NanoSleep(std::uint64_t ns) {
    return blitz::detail::waiting(blitz_detail::sleep{ns}) == BLITZ_OK;
}

// Waits until the word holds another value than `prev`, and returns that value. Changes that were
// made before with release ordering are visible afterwards. Cannot fail, so it is not ended by the
// cancellation of a fiber.
inline std::uint32_t BlockUntilDifferent(const std::uint32_t prev,
                                         const std::atomic<std::uint32_t>& current) {
    std::uint32_t value = current.load(std::memory_order_acquire);
    if (value != prev) return value;
    const blitz_detail::uncancelled mask;
    const blitz_detail::block_until_different wait = {blitz_detail::address_of(current), &value};
    // The other errors are those of a wrong address.
    if (blitz::detail::waiting(wait) != BLITZ_OK) std::terminate();
    return value;
}

// Wakes all that wait for the word to change. Change it before.
inline void WakeAll(std::atomic<std::uint32_t>& current) {
    (void)blitz_futex_wake_all(blitz_detail::address_of(current), BLITZ_FUTEX_PRIVATE);
}

}  // namespace hwy

#endif
