// Parallel loops and reductions.
#include <gtest/gtest.h>

#include <atomic>
#include <blitz/blitz.hpp>
#include <cstdint>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

TEST(ParallelFor, CallsEachIndexOnce) {
    std::vector<std::atomic<int>> calls(10000);
    blitz::parallel_for(std::size_t{0}, calls.size(), [&](std::size_t i) { calls[i]++; });
    for (const auto& count : calls) EXPECT_EQ(count, 1);
    blitz::parallel_for(5, 5, [](int) { FAIL(); });
    std::atomic<int> sum{0};
    blitz::parallel_for(-50, 50, [&](int i) { sum += i; }, {7, nullptr});
    EXPECT_EQ(sum, -50);
    EXPECT_THROW(blitz::parallel_for(1, 0, [](int) {}), blitz::error);
}

TEST(ParallelFor, TakesTheWholeRangeOfAType) {
    std::atomic<int> calls{0};
    blitz::parallel_for(std::numeric_limits<std::int8_t>::min(), std::numeric_limits<std::int8_t>::max(),
                        [&](std::int8_t) { calls++; });
    EXPECT_EQ(calls, 255);
    blitz::parallel_for_parts(std::numeric_limits<std::int64_t>::min(),
                              std::numeric_limits<std::int64_t>::max(),
                              [&](std::int64_t, std::int64_t) { calls++; },
                              {std::numeric_limits<std::size_t>::max(), nullptr});
    EXPECT_GE(calls, 256);
}

TEST(ParallelFor, RethrowsInAThreadAndInAFiber) {
    const auto fails = [] {
        blitz::parallel_for(0, 1000, [](int i) {
            if (i == 500) throw std::domain_error("five hundred");
        });
    };
    EXPECT_THROW(fails(), std::domain_error);
    EXPECT_THROW(blitz::spawn(fails).join(), std::domain_error);
}

TEST(ParallelFor, RunsInAPool) {
    const blitz::pool pool(2);
    EXPECT_EQ(pool.threads(), 2U);
    std::atomic<int> calls{0};
    blitz::parallel_for(0, 100, [&](int) { calls++; }, {0, &pool});
    EXPECT_EQ(calls, 100);
    EXPECT_THROW(blitz::pool(5000), blitz::error);
}

TEST(ParallelInvoke, RunsBoth) {
    int one = 0;
    int other = 0;
    blitz::parallel_invoke([&] { one = 1; }, [&] { other = 2; });
    EXPECT_EQ(one + other, 3);
    EXPECT_THROW(blitz::parallel_invoke([] { throw 1; }, [] {}), int);
}

TEST(ParallelReduce, KeepsTheOrder) {
    std::string expected;
    for (int i = 0; i < 2000; i++) expected += std::to_string(i) + ",";
    for (const std::size_t grain : {0, 1, 13, 5000}) {
        const auto text = blitz::parallel_reduce(
            0, 2000, std::string(), [](int i) { return std::to_string(i) + ","; },
            [](std::string one, const std::string& other) { return std::move(one) + other; },
            {grain, nullptr});
        EXPECT_EQ(text, expected);
    }
    const auto plus = [](long a, long b) { return a + b; };
    EXPECT_EQ(blitz::parallel_reduce(1, 1001, 0L, [](long i) { return i; }, plus), 500500);
    EXPECT_EQ(blitz::parallel_reduce(1, 1, 7L, [](long i) { return i; }, plus), 7);
    EXPECT_THROW(blitz::parallel_reduce(
                     0, 100, 0L,
                     [](long i) {
                         if (i == 60) throw std::domain_error("sixty");
                         return i;
                     },
                     plus),
                 std::domain_error);
    EXPECT_THROW(blitz::parallel_reduce(1, 0, 0L, [](long i) { return i; }, plus), blitz::error);
}

}  // namespace
