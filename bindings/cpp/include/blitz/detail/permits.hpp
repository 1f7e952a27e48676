// The permits of a `blitz_mutex` or a `blitz_rwlock`: a word that a program may change without a call,
// as the comments of these two types in blitz.h describe.
#ifndef BLITZ_DETAIL_PERMITS_HPP
#define BLITZ_DETAIL_PERMITS_HPP

#include <blitz.h>

#include <cstddef>

namespace blitz::detail {

using permits [[gnu::may_alias]] = std::size_t;

// The word of a lock, or NULL before the lock's first use, which takes a call.
template <class Lock>
permits* permits_of(Lock& lock) noexcept {
    if (__atomic_load_n(&lock.state, __ATOMIC_ACQUIRE) != BLITZ_STATE_READY) return nullptr;
    return reinterpret_cast<permits*>(lock.space);
}

// Changes the word of a lock from `from` to `to`. Returns false if that takes a call.
template <class Lock>
bool exchange_permits(Lock& lock, std::size_t from, std::size_t to, int order) noexcept {
    permits* const at = permits_of(lock);
    return at != nullptr &&
           __atomic_compare_exchange_n(at, &from, to, false, order, __ATOMIC_RELAXED);
}

}  // namespace blitz::detail

#endif
