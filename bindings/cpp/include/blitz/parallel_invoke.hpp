// Two functions in parallel.
#ifndef BLITZ_PARALLEL_INVOKE_HPP
#define BLITZ_PARALLEL_INVOKE_HPP

#include <blitz.h>

#include <blitz/detail/first_exception.hpp>
#include <blitz/detail/waiting.hpp>
#include <blitz/error.hpp>
#include <blitz/pool.hpp>

namespace blitz {

// Calls `one()` and `other()`, in parallel if a thread is free, and returns when both have ended.
// Suspends the calling fiber, or works in the calling thread. Both may call this again. Rethrows the
// first exception; a function that has not begun by then does not run.
template <class One, class Other>
void parallel_invoke(One&& one, Other&& other, const loop_options& options = {}) {
    struct job {
        detail::first_exception* errors;
        std::remove_reference_t<One>* one;
        std::remove_reference_t<Other>* other;
    };
    detail::first_exception errors;
    job both{&errors, std::addressof(one), std::addressof(other)};
    const auto run_one = [](void* argument) {
        auto* const self = static_cast<job*>(argument);
        self->errors->run([&] { (*self->one)(); });
    };
    const auto run_other = [](void* argument) {
        auto* const self = static_cast<job*>(argument);
        self->errors->run([&] { (*self->other)(); });
    };
    detail::check(detail::waiting([&] {
        return blitz_join(options.native_pool(), run_one, &both, run_other, &both);
    }));
    errors.rethrow();
}

}  // namespace blitz

#endif
