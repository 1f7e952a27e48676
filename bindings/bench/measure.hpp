// Rows, each with contenders that do the same, and the clock around their work.
#ifndef BLITZ_BENCH_MEASURE_HPP
#define BLITZ_BENCH_MEASURE_HPP

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace bench {

using clock = std::chrono::steady_clock;

struct result {
    std::chrono::nanoseconds time;
    // The number of operations found done. It is not `n` if one of them went wrong.
    std::size_t done;
};

// Does an operation `n` times.
using work = std::function<result(std::size_t n)>;

struct contender {
    std::string name;
    work run;
};

// The first contender is blitz-io.
struct row {
    std::string id;
    std::string title;
    std::size_t threads;
    // The operations of one measurement.
    std::size_t ops;
    std::vector<contender> contenders;
};

std::vector<row> lock_rows();
std::vector<row> queue_rows();
std::vector<row> loop_rows();
std::vector<row> fiber_rows();
std::vector<row> echo_rows();

// Runs `body()` in this thread. It returns the number of finished operations.
template <class Body>
result alone(Body body) {
    const auto begin = clock::now();
    const std::size_t done = body();
    return {clock::now() - begin, done};
}

// Runs `body(thread)` in `count` threads, each of which returns the number of finished operations.
// Time runs from the first thread that finds all others started to the end of the last.
template <class Body>
result in_threads(std::size_t count, Body body) {
    struct member {
        clock::time_point begin;
        clock::time_point end;
        std::size_t done = 0;
    };
    std::vector<member> members(count);
    std::vector<std::thread> threads;
    std::atomic<std::size_t> started{0};
    for (member& self : members)
        threads.emplace_back([&, index = threads.size()] {
            ++started;
            while (started != count) std::this_thread::yield();
            self.begin = clock::now();
            self.done = body(index);
            self.end = clock::now();
        });
    for (std::thread& thread : threads) thread.join();
    member all = members.front();
    for (const member& one : members) {
        all.begin = std::min(all.begin, one.begin);
        all.end = std::max(all.end, one.end);
        all.done += &one == &members.front() ? 0 : one.done;
    }
    return {all.end - all.begin, all.done};
}

// The operations of one of `count` threads that together do `n`.
inline std::size_t share(std::size_t n, std::size_t count, std::size_t thread) {
    return n / count + (thread < n % count ? 1 : 0);
}

}  // namespace bench

#endif
