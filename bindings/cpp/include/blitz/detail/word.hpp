// Atomic words that threads and fibers wait for.
#ifndef BLITZ_DETAIL_WORD_HPP
#define BLITZ_DETAIL_WORD_HPP

#include <blitz.h>

#include <atomic>
#include <blitz/detail/cpp17.hpp>
#include <blitz/detail/waiting.hpp>
#include <cstdint>

namespace blitz::detail {

using word = std::atomic<std::uint32_t>;
static_assert(sizeof(word) == sizeof(std::uint32_t) && alignof(word) == alignof(std::uint32_t) &&
                  word::is_always_lock_free,
              "a word is its number");

inline const std::uint32_t* address_of(const word& of) noexcept {
    return reinterpret_cast<const std::uint32_t*>(&of);
}

// Sleeps while the word holds `expected`. Returns a result of blitz_futex_wait_until.
inline int sleep_while(const word& of, std::uint32_t expected, std::uint64_t deadline) {
    return waiting([&] {
        return blitz_futex_wait_until(address_of(of), expected, BLITZ_FUTEX_PRIVATE, deadline);
    });
}

inline void wake_one(const word& of) noexcept {
    (void)blitz_futex_wake_one(address_of(of), BLITZ_FUTEX_PRIVATE);
}

inline void wake_all(const word& of) noexcept {
    (void)blitz_futex_wake_all(address_of(of), BLITZ_FUTEX_PRIVATE);
}

}  // namespace blitz::detail

#endif
