// Fork-join.
#include <blitz/parallel_for.hpp>
#include <blitz/parallel_invoke.hpp>
#include <tbb/parallel_for.h>
#include <tbb/parallel_invoke.h>
#include <tbb/task_group.h>

#include "measure.hpp"

namespace {

constexpr std::size_t indices = 1000;

// An empty body that the compiler does not remove.
inline void touch(std::size_t index) { asm volatile("" : : "r"(index)); }

// The threads of the contender before this one may spin still: libgomp's do for milliseconds. One
// operation before the clock wakes the contender's own.
template <class Body>
bench::work warm(Body body) {
    return [body](std::size_t n) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        (void)body();
        return bench::alone([&] {
            std::size_t done = 0;
            for (std::size_t i = 0; i < n; i++) done += body() ? 1 : 0;
            return done;
        });
    };
}

// A loop with an empty body has nothing to check. Before the clock one marks its indices.
template <class Loop>
bench::contender loops(const char* name, Loop loop) {
    return {name, [run = warm([loop] {
                       loop([](std::size_t index) { touch(index); });
                       return true;
                   }),
                   loop](std::size_t n) {
                std::vector<unsigned char> marks(indices);
                loop([&](std::size_t index) { marks[index]++; });
                bench::result result = run(n);
                if (std::any_of(marks.begin(), marks.end(), [](auto mark) { return mark != 1; }))
                    result.done = 0;
                return result;
            }};
}

template <class Join>
unsigned fibonacci(unsigned n, const Join& join) {
    if (n < 2) return n;
    unsigned one = 0;
    unsigned other = 0;
    join([&] { one = fibonacci(n - 1, join); }, [&] { other = fibonacci(n - 2, join); });
    return one + other;
}

template <class Join>
bench::contender joins(const char* name, Join join) {
    // This makes 1,596 joins.
    return {name, warm([join] { return fibonacci(16, join) == 987; })};
}

}  // namespace

std::vector<bench::row> bench::loop_rows() {
    const std::size_t threads = std::thread::hardware_concurrency();
    row loop{"cpp_parallel_for", "parallel_for of 1,000 empty bodies", threads, 10'000, {}};
    row tree{"cpp_fibonacci", "Fork-join, Fibonacci of 16", threads, 200, {}};
    loop.contenders.push_back(loops("blitz-io", [](const auto& body) {
        blitz::parallel_for(std::size_t{0}, indices, body);
    }));
    tree.contenders.push_back(joins("blitz-io", [](auto&& one, auto&& other) {
        blitz::parallel_invoke(one, other);
    }));
    loop.contenders.push_back(loops("oneTBB", [](const auto& body) {
        tbb::parallel_for(std::size_t{0}, indices, body);
    }));
    tree.contenders.push_back(joins("oneTBB", [](auto&& one, auto&& other) {
        tbb::parallel_invoke(one, other);
    }));
    tree.contenders.push_back(joins("oneTBB (task_group)", [](auto&& one, auto&& other) {
        tbb::task_group group;
        group.run(one);
        other();
        group.wait();
    }));
    loop.contenders.push_back(loops("OpenMP", [](const auto& body) {
#pragma omp parallel for
        for (std::size_t index = 0; index < indices; index++) body(index);
    }));
    return {loop, tree};
}
