// A word in shared memory that processes wait for.
#ifndef BLITZ_COMPAT_LIBIPC_DETAIL_SHARED_WORD_H
#define BLITZ_COMPAT_LIBIPC_DETAIL_SHARED_WORD_H

#include <blitz.h>

#include <blitz/detail/word.hpp>

namespace ipc::detail {

using word = blitz::detail::word;

inline int sleep_while(const word& of, std::uint32_t expected, std::uint64_t deadline) {
    return blitz::detail::waiting([&] {
        return blitz_futex_wait_until(blitz::detail::address_of(of), expected, BLITZ_FUTEX_SHARED,
                                      deadline);
    });
}

inline void wake(const word& of, std::size_t count) noexcept {
    (void)blitz_futex_wake(blitz::detail::address_of(of), count, BLITZ_FUTEX_SHARED, nullptr);
}

}  // namespace ipc::detail

#endif
