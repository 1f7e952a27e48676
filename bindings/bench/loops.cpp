// Fork-join.
#include <blitz/parallel_for.hpp>
#include <blitz/parallel_invoke.hpp>
#ifdef HAS_TBB
#include <tbb/parallel_for.h>
#include <tbb/parallel_invoke.h>
#include <tbb/task_group.h>
#endif

#include "measure.hpp"

namespace {

constexpr std::size_t indices = 1000;

// An empty body that the compiler does not remove.
inline void touch(std::size_t index) { asm volatile("" : : "r"(index)); }

template <class Join>
unsigned fibonacci(unsigned n, const Join& join) {
    if (n < 2) return n;
    unsigned one = 0;
    unsigned other = 0;
    join([&] { one = fibonacci(n - 1, join); }, [&] { other = fibonacci(n - 2, join); });
    return one + other;
}

template <class Join>
bench::work joins(Join join) {
    // This makes 1,596 joins.
    return [join](std::size_t n) {
        for (std::size_t i = 0; i < n; i++) touch(fibonacci(16, join));
    };
}

}  // namespace

std::vector<bench::row> bench::loop_rows() {
    row loop{"parallel_for of 1,000 empty bodies", {}};
    loop.contenders.push_back({"blitz", [](std::size_t n) {
                                   for (std::size_t i = 0; i < n; i++)
                                       blitz::parallel_for(std::size_t{0}, indices, touch);
                               }});
    row tree{"fork-join, Fibonacci of 16", {}};
    tree.contenders.push_back({"blitz", joins([](auto&& one, auto&& other) {
                                   blitz::parallel_invoke(one, other);
                               })});
#ifdef HAS_TBB
    loop.contenders.push_back({"tbb::parallel_for", [](std::size_t n) {
                                   for (std::size_t i = 0; i < n; i++)
                                       tbb::parallel_for(std::size_t{0}, indices, touch);
                               }});
    tree.contenders.push_back({"tbb::parallel_invoke", joins([](auto&& one, auto&& other) {
                                   tbb::parallel_invoke(one, other);
                               })});
    tree.contenders.push_back({"tbb::task_group", joins([](auto&& one, auto&& other) {
                                   tbb::task_group group;
                                   group.run(one);
                                   other();
                                   group.wait();
                               })});
#endif
#ifdef HAS_OPENMP
    loop.contenders.push_back({"OpenMP", [](std::size_t n) {
                                   for (std::size_t i = 0; i < n; i++) {
#pragma omp parallel for
                                       for (std::size_t j = 0; j < indices; j++) touch(j);
                                   }
                               }});
#endif
    return {loop, tree};
}
