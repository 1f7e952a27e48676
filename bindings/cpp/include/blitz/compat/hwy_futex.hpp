// The functions of Google Highway's hwy/contrib/thread_pool/futex.h, on the futex of blitz-io. A
// program includes this header instead of that one, or before it; then that one adds nothing.
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
#include <blitz/detail/word.hpp>
#include <blitz/error.hpp>
#include <blitz/this_fiber.hpp>
#include <cstdint>

namespace hwy {

// Waits until the word holds another value than `prev`, and returns that value. Changes that were
// made before with release ordering are visible afterwards. Cannot fail, so it is not ended by the
// cancellation of a fiber.
inline std::uint32_t BlockUntilDifferent(const std::uint32_t prev,
                                         const std::atomic<std::uint32_t>& current) {
    std::uint32_t value = current.load(std::memory_order_acquire);
    if (value != prev) return value;
    const blitz::this_fiber::cancel_mask mask;
    blitz::detail::check(blitz::detail::waiting([&] {
        return blitz_futex_block_until_different(blitz::detail::address_of(current), prev,
                                                 BLITZ_FUTEX_PRIVATE, BLITZ_NEVER, &value);
    }));
    return value;
}

// Wakes all that wait for the word to change. Change it before.
inline void WakeAll(std::atomic<std::uint32_t>& current) { blitz::detail::wake_all(current); }

}  // namespace hwy

#endif
