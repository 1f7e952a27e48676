// A pool of threads for parallel loops.
#ifndef BLITZ_POOL_HPP
#define BLITZ_POOL_HPP

#include <blitz.h>

#include <blitz/detail/handle.hpp>
#include <blitz/error.hpp>
#include <cstddef>

namespace blitz {

// Threads that run parallel loops. Most programs need none: the loops use the pool of the process.
class pool {
public:
    // Makes a pool of 1 to 1,024 threads; 0 is one for each processor.
    explicit pool(std::size_t threads) {
        blitz_pool* made = nullptr;
        detail::check(blitz_pool_new(threads, &made));
        pool_.reset(made);
    }

    [[nodiscard]] std::size_t threads() const noexcept { return blitz_pool_threads(pool_.get()); }
    [[nodiscard]] blitz_pool* native_handle() const noexcept { return pool_.get(); }

private:
    detail::handle<blitz_pool, blitz_pool_free> pool_;
};

// Settings of a parallel loop.
struct loop_options {
    // The most indices of a part that runs at a stretch. 0 lets the library choose.
    std::size_t grain = 0;
    // The pool that runs it. NULL: that of the process.
    const blitz::pool* pool = nullptr;

    [[nodiscard]] blitz_pool* native_pool() const noexcept {
        return pool == nullptr ? nullptr : pool->native_handle();
    }
};

}  // namespace blitz

#endif
