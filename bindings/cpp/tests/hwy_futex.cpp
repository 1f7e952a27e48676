// A program for Highway's futex, with the header for compatibility.
#include <gtest/gtest.h>

#include <blitz/blitz.hpp>
#include <blitz/compat/hwy_futex.hpp>
#include <thread>

namespace {

TEST(HwyFutex, TwoThreadsTakeTurns) {
    std::atomic<uint32_t> current{0};
    std::thread other([&] {
        for (uint32_t i = 0; i < 2000; i += 2) {
            EXPECT_EQ(hwy::BlockUntilDifferent(i, current), i + 1);
            current.store(i + 2, std::memory_order_release);
            hwy::WakeAll(current);
        }
    });
    for (uint32_t i = 0; i < 2000; i += 2) {
        current.store(i + 1, std::memory_order_release);
        hwy::WakeAll(current);
        EXPECT_EQ(hwy::BlockUntilDifferent(i + 1, current), i + 2);
    }
    other.join();
}

TEST(HwyFutex, WakesAllThreadsAndFibers) {
    std::atomic<uint32_t> current{5};
    std::vector<std::thread> threads;
    std::vector<blitz::join_handle<uint32_t>> fibers;
    for (int i = 0; i < 4; i++) {
        threads.emplace_back([&] { EXPECT_EQ(hwy::BlockUntilDifferent(5, current), 6U); });
        fibers.push_back(blitz::spawn([&] { return hwy::BlockUntilDifferent(5, current); }));
        // It cannot fail, so it keeps waiting.
        fibers.back().cancel();
    }
    current.store(6, std::memory_order_release);
    hwy::WakeAll(current);
    for (auto& thread : threads) thread.join();
    for (auto& fiber : fibers) EXPECT_EQ(fiber.join(), 6U);
}

}  // namespace
