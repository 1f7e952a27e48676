// Tasks: results, exceptions, cancellation, runtimes.
#include <gtest/gtest.h>

#include <blitz/blitz.hpp>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace {

TEST(Spawn, ReturnsResults) {
    EXPECT_EQ(blitz::spawn([] { return 7; }).join(), 7);
    EXPECT_EQ(blitz::spawn([](int a, const std::string& b) { return a + b.size(); }, 2,
                           std::string("three"))
                  .join(),
              7U);
    auto pointer = blitz::spawn([](std::unique_ptr<int> p) { return p; }, std::make_unique<int>(5));
    EXPECT_EQ(*pointer.join(), 5);
    int target = 0;
    int& reference = blitz::spawn([&target]() -> int& { return target; }).join();
    EXPECT_EQ(&reference, &target);
    EXPECT_TRUE(blitz::spawn(blitz::fiber_options{std::size_t{64} * 1024, "named"}, blitz_is_fiber).join());
    EXPECT_FALSE(blitz::spawn_blocking(blitz_is_fiber).join());
    EXPECT_THROW((void)blitz::spawn(blitz::fiber_options{1, nullptr}, [] {}), blitz::error);
}

TEST(Spawn, RethrowsExceptionsAtTheJoin) {
    auto thrown = blitz::spawn([]() -> int { throw std::out_of_range("far"); });
    EXPECT_THROW(thrown.join(), std::out_of_range);
    EXPECT_FALSE(thrown.joinable());
    EXPECT_THROW(thrown.join(), blitz::error);
    EXPECT_THROW(blitz::spawn_blocking([] { throw 7; }).join(), int);
    // Without a join it is dropped.
    blitz::spawn([] { throw std::runtime_error("dropped"); }).wait();
    blitz::spawn([] { throw std::runtime_error("dropped"); }).detach();
}

TEST(Spawn, WaitsForAWhile) {
    blitz::event go;
    auto fiber = blitz::spawn([&] {
        go.wait();
        return 3;
    });
    EXPECT_FALSE(fiber.wait_for(1ms));
    EXPECT_FALSE(fiber.wait_until(std::chrono::system_clock::now()));
    EXPECT_FALSE(fiber.is_done());
    go.set();
    EXPECT_TRUE(fiber.wait_for(std::chrono::hours::max()));
    EXPECT_TRUE(fiber.is_done());
    EXPECT_EQ(fiber.join(), 3);
}

TEST(Cancel, WaitsThrow) {
    blitz::event cleaned;
    auto fiber = blitz::spawn([&] {
        try {
            blitz::this_fiber::sleep_for(std::chrono::hours::max());
        } catch (const blitz::canceled& error) {
            EXPECT_EQ(error.code(), blitz::errc::canceled);
            EXPECT_TRUE(blitz::this_fiber::is_canceled());
            const blitz::this_fiber::cancel_mask mask;
            blitz::this_fiber::sleep_for(1ms);
            cleaned.set();
            throw;
        }
    });
    fiber.cancel();
    EXPECT_THROW(fiber.join(), blitz::canceled);
    EXPECT_TRUE(cleaned.try_wait());
    EXPECT_THROW(blitz::spawn_blocking([] {}).cancel(), blitz::error);
}

TEST(Cancel, OfTheJoinerLeavesTheTask) {
    blitz::event go;
    auto worker = blitz::spawn([&] {
        go.wait();
        return 11;
    });
    auto joiner = blitz::spawn([&] { EXPECT_THROW(worker.wait(), blitz::canceled); });
    joiner.cancel();
    joiner.join();
    go.set();
    EXPECT_EQ(worker.join(), 11);
}

TEST(Runtime, EndsItsFibers) {
    blitz::event started;
    bool ended = false;
    {
        blitz::runtime runtime({2, 4, "mine"});
        runtime
            .spawn([&] {
                started.set();
                EXPECT_THROW(blitz::this_fiber::sleep_for(1000h), blitz::canceled);
                ended = true;
            })
            .detach();
        EXPECT_EQ(runtime.spawn_blocking([] { return 2; }).join(), 2);
        started.wait();
    }
    EXPECT_TRUE(ended);
    EXPECT_THROW(blitz::runtime({BLITZ_WORKERS_MAX + 1, 0, nullptr}), blitz::error);
}

TEST(Runtime, ATaskThatDoesNotBeginDestroysItsFunction) {
    const auto shared = std::make_shared<int>(1);
    std::vector<blitz::join_handle<int>> handles;
    {
        blitz::runtime runtime({1, 1, nullptr});
        for (int i = 0; i < 20; i++) {
            handles.push_back(runtime.spawn([shared] { return *shared; }));
            handles.push_back(runtime.spawn_blocking([shared] { return *shared; }));
        }
        runtime.shutdown();
        EXPECT_TRUE(runtime.shutdown_until(std::chrono::steady_clock::now() + 1h));
        EXPECT_THROW((void)runtime.spawn([shared] { return *shared; }), blitz::error);
    }
    EXPECT_EQ(shared.use_count(), 1);
    for (auto& handle : handles) {
        try {
            EXPECT_EQ(handle.join(), 1);
        } catch (const blitz::canceled&) {
            // The runtime ended before.
        }
    }
}

// A caught exception belongs to its fiber, also if others throw and catch while it waits.
TEST(Exceptions, BelongToTheirFiber) {
    blitz::runtime runtime({1, 0, nullptr});
    blitz::barrier<> all(8);
    std::vector<blitz::join_handle<int>> fibers;
    for (int i = 0; i < 8; i++)
        fibers.push_back(runtime.spawn([&all, i]() -> int {
            try {
                throw std::to_string(i);
            } catch (const std::string&) {
                // All eight handle their exceptions now, in one thread.
                all.arrive_and_wait();
                try {
                    throw i;
                } catch (int inner) {
                    EXPECT_EQ(inner, i);
                    // In another order than they came.
                    blitz::this_fiber::sleep_for(std::chrono::milliseconds(8 - i));
                    EXPECT_THROW(throw, int);
                }
                all.arrive_and_wait();
                try {
                    throw;
                } catch (const std::string& again) {
                    return std::stoi(again);
                }
            }
        }));
    for (int i = 0; i < 8; i++) EXPECT_EQ(fibers[static_cast<std::size_t>(i)].join(), i);
}

// A destructor that waits during unwinding keeps the count of its fiber.
TEST(Exceptions, DestructorsMayWait) {
    struct waits {
        explicit waits(int& seen) : seen_(seen) {}
        ~waits() {
            blitz::this_fiber::yield();
            seen_ = std::uncaught_exceptions();
        }
        int& seen_;
    };
    blitz::runtime runtime({1, 0, nullptr});
    std::vector<blitz::join_handle<void>> fibers;
    for (int i = 0; i < 8; i++)
        fibers.push_back(runtime.spawn([] {
            for (int n = 0; n < 20; n++) {
                EXPECT_EQ(std::uncaught_exceptions(), 0);
                int seen = -1;
                try {
                    const waits guard(seen);
                    throw n;
                } catch (int) {
                    EXPECT_EQ(seen, 1);
                }
            }
        }));
    for (auto& fiber : fibers) fiber.join();
}

TEST(Error, ComparesWithConditions) {
    try {
        blitz::detail::check(-ENOENT);
        FAIL();
    } catch (const std::system_error& error) {
        EXPECT_EQ(error.code(), std::errc::no_such_file_or_directory);
    }
    EXPECT_EQ(blitz::make_error_code(blitz::errc::closed).category().name(), std::string("blitz"));
    EXPECT_FALSE(blitz::make_error_code(blitz::errc::closed).message().empty());
}

}  // namespace
