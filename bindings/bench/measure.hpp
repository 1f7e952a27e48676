// Rows, each with contenders that do the same.
#ifndef BLITZ_BENCH_MEASURE_HPP
#define BLITZ_BENCH_MEASURE_HPP

#include <cstddef>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace bench {

// Does an operation `n` times.
using work = std::function<void(std::size_t n)>;

struct contender {
    std::string name;
    work run;
};

// The first contender is blitz-io.
struct row {
    std::string title;
    std::vector<contender> contenders;
};

std::vector<row> lock_rows();
std::vector<row> queue_rows();
std::vector<row> loop_rows();
std::vector<row> fiber_rows();
std::vector<row> echo_rows();

// Runs `body(thread)` in `count` threads, and waits for all.
template <class Body>
void in_threads(std::size_t count, Body body) {
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < count; i++) threads.emplace_back([&body, i] { body(i); });
    for (std::thread& thread : threads) thread.join();
}

}  // namespace bench

#endif
