// Parallel loops.
#ifndef BLITZ_PARALLEL_FOR_HPP
#define BLITZ_PARALLEL_FOR_HPP

#include <blitz.h>

#include <blitz/detail/first_exception.hpp>
#include <blitz/detail/waiting.hpp>
#include <blitz/error.hpp>
#include <blitz/pool.hpp>
#include <memory>
#include <type_traits>

namespace blitz {

// Calls `body(begin, end)` for parts that together are the indices from `first` up to, but not
// including, `last`, each once, in parallel and in any order. A part must not wait for another.
// Returns when all have ended: suspends the calling fiber, or works in the calling thread. Rethrows
// the first exception; parts that have not begun by then do not run. Throws `error` with
// `errc::invalid` if `last` is less than `first`.
template <class Index, class Body>
void parallel_for_parts(Index first, Index last, Body&& body, const loop_options& options = {}) {
    static_assert(std::is_integral_v<Index> && sizeof(Index) <= sizeof(std::size_t));
    if (last < first) throw error(BLITZ_EINVAL, "the end of a loop is before its begin");
    struct loop {
        detail::first_exception errors;
        Index first;
        std::remove_reference_t<Body>* body;
    };
    loop shared{{}, first, std::addressof(body)};
    const auto run_part = [](void* argument, std::size_t begin, std::size_t end) {
        auto* const self = static_cast<loop*>(argument);
        // Unsigned, so that a distance larger than the largest `Index` wraps to the right one.
        const auto index = [&](std::size_t offset) {
            return static_cast<Index>(static_cast<std::size_t>(self->first) + offset);
        };
        self->errors.run([&] { (*self->body)(index(begin), index(end)); });
    };
    const std::size_t count = static_cast<std::size_t>(last) - static_cast<std::size_t>(first);
    detail::check(detail::waiting([&] {
        return blitz_parallel_for(options.native_pool(), 0, count, options.grain, run_part, &shared);
    }));
    shared.errors.rethrow();
}

// Calls `body(index)` for the indices from `first` up to, but not including, `last`, as
// `parallel_for_parts` does. After an exception its part ends.
template <class Index, class Body>
void parallel_for(Index first, Index last, Body&& body, const loop_options& options = {}) {
    parallel_for_parts(
        first, last,
        [&body](Index begin, Index end) {
            for (Index index = begin; index != end; ++index) body(index);
        },
        options);
}

}  // namespace blitz

#endif
