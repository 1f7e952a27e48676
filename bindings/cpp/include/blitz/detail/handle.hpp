// Owning pointers to the handles of blitz.h.
#ifndef BLITZ_DETAIL_HANDLE_HPP
#define BLITZ_DETAIL_HANDLE_HPP

#include <memory>

namespace blitz::detail {

template <auto Free>
struct freed_by {
    template <class T>
    void operator()(T* handle) const noexcept {
        Free(handle);
    }
};

template <class T, auto Free>
using handle = std::unique_ptr<T, freed_by<Free>>;

}  // namespace blitz::detail

#endif
