// Parallel reduction.
#ifndef BLITZ_PARALLEL_REDUCE_HPP
#define BLITZ_PARALLEL_REDUCE_HPP

#include <algorithm>
#include <blitz/parallel_invoke.hpp>
#include <blitz/pool.hpp>
#include <cstddef>
#include <optional>
#include <type_traits>
#include <utility>

namespace blitz {

namespace detail {

template <class T, class Index, class Map, class Combine>
class reduction {
public:
    reduction(const T& identity, Map& map, Combine& combine, std::size_t grain,
              const loop_options& options)
        : identity_(identity), map_(map), combine_(combine), grain_(grain), options_(options) {}

    T run(Index first, std::size_t count) const {
        if (count <= grain_) return run_part(first, count);
        const std::size_t half = count / 2;
        std::optional<T> left;
        std::optional<T> right;
        parallel_invoke([&] { left.emplace(run(first, half)); },
                        [&] { right.emplace(run(offset(first, half), count - half)); }, options_);
        return combine_(std::move(*left), std::move(*right));
    }

private:
    static Index offset(Index first, std::size_t by) {
        return static_cast<Index>(static_cast<std::size_t>(first) + by);
    }

    T run_part(Index first, std::size_t count) const {
        T result = identity_;
        for (std::size_t i = 0; i < count; i++)
            result = combine_(std::move(result), map_(offset(first, i)));
        return result;
    }

    const T& identity_;
    Map& map_;
    Combine& combine_;
    std::size_t grain_;
    const loop_options& options_;
};

}  // namespace detail

// Returns `combine(… combine(combine(identity, map(first)), map(first + 1)) …)` of the indices up to,
// but not including, `last`, computed in parallel. `combine` must be associative, and `identity` its
// neutral element; the order of the operands is kept, so it need not be commutative. Rethrows the
// first exception. Throws `error` with `errc::invalid` if `last` is less than `first`.
template <class T, class Index, class Map, class Combine>
T parallel_reduce(Index first, Index last, const T& identity, Map&& map, Combine&& combine,
                  const loop_options& options = {}) {
    static_assert(std::is_integral_v<Index> && sizeof(Index) <= sizeof(std::size_t));
    if (last < first) throw error(BLITZ_EINVAL, "the end of a reduction is before its begin");
    const std::size_t count = static_cast<std::size_t>(last) - static_cast<std::size_t>(first);
    std::size_t grain = options.grain;
    // Some parts for each thread, so that one that is late is not waited for long.
    if (grain == 0) grain = count / (8 * blitz_pool_threads(options.native_pool()));
    grain = std::max<std::size_t>(grain, 1);
    using mapping = std::remove_reference_t<Map>;
    using combining = std::remove_reference_t<Combine>;
    return detail::reduction<T, Index, mapping, combining>(identity, map, combine, grain, options)
        .run(first, count);
}

}  // namespace blitz

#endif
