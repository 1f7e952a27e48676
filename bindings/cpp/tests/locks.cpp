// Locks, semaphores, latches, barriers and events, with threads and with fibers.
#include <gtest/gtest.h>

#include <blitz/blitz.hpp>
#include <cstdlib>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace {

// Runs `body(i)` in four threads and four fibers, and waits for all. In eight threads if the variable
// BLITZ_TEST_THREADS is set.
template <class Body>
void in_threads_and_fibers(Body body) {
    const bool only_threads = std::getenv("BLITZ_TEST_THREADS") != nullptr;
    std::vector<std::thread> threads;
    std::vector<blitz::join_handle<void>> fibers;
    for (int i = 0; i < 4; i++) {
        threads.emplace_back([&body, i] { body(i); });
        if (only_threads)
            threads.emplace_back([&body, i] { body(4 + i); });
        else
            fibers.push_back(blitz::spawn([&body, i] { body(4 + i); }));
    }
    for (auto& thread : threads) thread.join();
    for (auto& fiber : fibers) fiber.join();
}

TEST(Mutex, ExcludesOthers) {
    blitz::mutex mutex;
    long count = 0;
    in_threads_and_fibers([&](int) {
        for (int i = 0; i < 1000; i++) {
            const std::lock_guard lock(mutex);
            count++;
        }
    });
    EXPECT_EQ(count, 8000);
}

TEST(Mutex, HasTheTimedLocksOfTheStandard) {
    blitz::mutex one;
    blitz::mutex other;
    {
        const std::scoped_lock both(one, other);
        EXPECT_FALSE(one.try_lock());
        EXPECT_FALSE(one.try_lock_for(1ms));
        EXPECT_FALSE(one.try_lock_for(-1ms));
        EXPECT_FALSE(one.try_lock_until(std::chrono::system_clock::now() + 1ms));
        EXPECT_FALSE(one.try_lock_until(std::chrono::system_clock::time_point::min()));
    }
    std::unique_lock lock(one, std::chrono::hours::max());
    EXPECT_TRUE(lock.owns_lock());
    lock.unlock();
    EXPECT_TRUE(one.try_lock_until(std::chrono::steady_clock::time_point::max()));
    one.unlock();
}

TEST(SharedMutex, LetsReadersTogetherAndWritersAlone) {
    blitz::shared_mutex mutex;
    long one = 0;
    long other = 0;
    in_threads_and_fibers([&](int i) {
        for (int n = 0; n < 500; n++) {
            if (i % 2 == 0) {
                const std::lock_guard lock(mutex);
                one++;
                other++;
            } else {
                const std::shared_lock lock(mutex);
                EXPECT_EQ(one, other);
            }
        }
    });
    EXPECT_EQ(one, 2000);
    const std::shared_lock reads(mutex);
    EXPECT_TRUE(mutex.try_lock_shared());
    EXPECT_FALSE(mutex.try_lock());
    EXPECT_FALSE(mutex.try_lock_for(1ms));
    EXPECT_TRUE(mutex.try_lock_shared_for(1h));
    mutex.unlock_shared();
    mutex.unlock_shared();
}

template <class Condition, class Mutex>
void pass_a_turn() {
    Mutex mutex;
    Condition changed;
    int turn = 0;
    in_threads_and_fibers([&](int i) {
        for (int round = 0; round < 50; round++) {
            std::unique_lock lock(mutex);
            changed.wait(lock, [&] { return turn == round * 8 + i; });
            turn++;
            changed.notify_all();
        }
    });
    EXPECT_EQ(turn, 400);
    std::unique_lock lock(mutex);
    EXPECT_EQ(changed.wait_for(lock, 1ms), std::cv_status::timeout);
    EXPECT_FALSE(changed.wait_for(lock, 1ms, [] { return false; }));
    EXPECT_TRUE(changed.wait_until(lock, std::chrono::system_clock::now(), [] { return true; }));
    EXPECT_TRUE(lock.owns_lock());
}

TEST(ConditionVariable, WakesItsWaiters) { pass_a_turn<blitz::condition_variable, blitz::mutex>(); }

TEST(ConditionVariableAny, WakesItsWaiters) {
    pass_a_turn<blitz::condition_variable_any, blitz::mutex>();
    pass_a_turn<blitz::condition_variable_any, blitz::shared_mutex>();
}

TEST(ConditionVariable, ACancelledWaitHoldsTheLock) {
    blitz::mutex mutex;
    blitz::condition_variable never;
    blitz::condition_variable_any never_any;
    auto fiber = blitz::spawn([&] {
        std::unique_lock lock(mutex);
        EXPECT_THROW(never.wait(lock), blitz::canceled);
        EXPECT_TRUE(lock.owns_lock());
        EXPECT_THROW(never_any.wait(lock), blitz::canceled);
        EXPECT_FALSE(mutex.try_lock());
    });
    fiber.cancel();
    fiber.join();
    EXPECT_TRUE(mutex.try_lock());
    mutex.unlock();
}

TEST(Semaphore, LimitsItsHolders) {
    blitz::counting_semaphore<3> permits(3);
    std::atomic<int> holders{0};
    in_threads_and_fibers([&](int) {
        for (int i = 0; i < 200; i++) {
            permits.acquire();
            EXPECT_LE(++holders, 3);
            --holders;
            permits.release();
        }
    });
    for (int i = 0; i < 3; i++) EXPECT_TRUE(permits.try_acquire());
    EXPECT_FALSE(permits.try_acquire());
    EXPECT_FALSE(permits.try_acquire_for(1ms));
    EXPECT_THROW(permits.release(-1), blitz::error);
    EXPECT_THROW(permits.release(blitz::binary_semaphore::max() + 1), blitz::error);
    EXPECT_THROW(blitz::binary_semaphore(-1), blitz::error);
}

TEST(Latch, OpensAtZero) {
    blitz::latch latch(8);
    EXPECT_FALSE(latch.try_wait());
    EXPECT_FALSE(latch.wait_for(1ms));
    EXPECT_FALSE(latch.wait_until(std::chrono::system_clock::now() + 1ms));
    in_threads_and_fibers([&](int) { latch.arrive_and_wait(); });
    EXPECT_TRUE(latch.wait_until(std::chrono::steady_clock::now()));
    EXPECT_TRUE(latch.try_wait());
    EXPECT_THROW(latch.count_down(), blitz::error);
    EXPECT_THROW(blitz::latch(-1), blitz::error);
}

TEST(Barrier, EndsPhases) {
    int phases = 0;
    std::atomic<int> arrived{0};
    const auto completion = [&]() noexcept {
        EXPECT_EQ(arrived.exchange(0), 8);
        phases++;
    };
    blitz::barrier barrier(8, completion);
    in_threads_and_fibers([&](int i) {
        for (int phase = 0; phase < 100; phase++) {
            EXPECT_EQ(phases, phase);
            arrived++;
            if (i == 0)
                barrier.wait(barrier.arrive());
            else
                barrier.arrive_and_wait();
        }
    });
    EXPECT_EQ(phases, 100);
}

TEST(Barrier, LosesParticipants) {
    blitz::barrier<> barrier(2);
    std::thread other([&] {
        barrier.arrive_and_wait();
        barrier.arrive_and_drop();
    });
    barrier.arrive_and_wait();
    barrier.arrive_and_wait();
    barrier.arrive_and_wait();
    other.join();
    EXPECT_THROW((void)barrier.arrive(0), blitz::error);
    EXPECT_THROW(blitz::barrier<>(-1), blitz::error);
}

TEST(Event, StaysSetOrIsReset) {
    blitz::event manual;
    EXPECT_FALSE(manual.wait_for(1ms));
    in_threads_and_fibers([&](int i) {
        if (i == 0) manual.set();
        manual.wait();
    });
    manual.reset();
    EXPECT_FALSE(manual.try_wait());

    blitz::event automatic(blitz::event_reset::automatic);
    std::atomic<int> passed{0};
    automatic.set();
    in_threads_and_fibers([&](int) {
        automatic.wait();
        passed++;
        automatic.set();
    });
    EXPECT_EQ(passed, 8);
    EXPECT_TRUE(automatic.try_wait());
    EXPECT_FALSE(automatic.try_wait());
}

TEST(Deadlines, DoNotOverflow) {
    blitz::event set;
    set.set();
    EXPECT_TRUE(set.wait_for(std::chrono::hours::max()));
    EXPECT_TRUE(set.wait_for(std::chrono::duration<float>(1e30F)));
    EXPECT_TRUE(set.wait_until(std::chrono::system_clock::time_point::max()));
    EXPECT_TRUE(set.wait_until(std::chrono::steady_clock::time_point::min()));
    set.reset();
    EXPECT_FALSE(set.wait_for(std::chrono::nanoseconds::min()));
    EXPECT_FALSE(set.wait_until(std::chrono::system_clock::time_point::min()));
}

}  // namespace
