// Bad input: objects that were moved from, numbers out of range, times that have passed, and exceptions
// where none may pass.
#include <errno.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <blitz/blitz.hpp>
#include <chrono>
#include <functional>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

using namespace std::chrono_literals;

namespace {

// Expects `call` to throw `error` with this code.
template <class Call>
void expect_error(blitz::errc code, Call call) {
    try {
        call();
        ADD_FAILURE() << "no exception";
    } catch (const blitz::error& error) {
        EXPECT_EQ(error.code(), code) << error.what();
    }
}

// Runs `test` in a thread and in a fiber.
template <class Test>
void in_both(Test test) {
    test();
    blitz::spawn(test).join();
}

template <class Object>
void move_away(Object& object) {
    const Object gone = std::move(object);
}

TEST(BadInput, AnObjectThatWasMovedFromIsInvalid) {
    using blitz::errc;
    in_both([] {
        char buffer[4] = {};
        auto pair = blitz::unix_pair();
        blitz::stream& stream = pair.first;
        move_away(stream);
        expect_error(errc::invalid, [&] { (void)stream.read(buffer, 4); });
        expect_error(errc::invalid, [&] { stream.write_all("x"); });
        expect_error(errc::invalid, [&] { stream.shutdown(blitz::direction::both); });
        auto listener = blitz::listen_tcp("127.0.0.1:0");
        move_away(listener);
        expect_error(errc::invalid, [&] { (void)listener.accept(); });
        expect_error(errc::invalid, [&] { (void)listener.local_address(); });
        blitz::udp_socket udp("127.0.0.1:0");
        move_away(udp);
        expect_error(errc::invalid, [&] { (void)udp.recv_from(buffer, 4); });
        blitz::file file("/dev/null", blitz::open_mode::read);
        move_away(file);
        expect_error(errc::invalid, [&] { (void)file.read(buffer, 4); });
        expect_error(errc::invalid, [&] { (void)file.size(); });
        blitz::fd_watch watch(0);
        move_away(watch);
        expect_error(errc::invalid, [&] { watch.wait(blitz::fd_events::read); });
        blitz::ipc::route<int>::receiver receiver("cpp-bad-input-" + std::to_string(getpid()));
        move_away(receiver);
        expect_error(errc::invalid, [&] { (void)receiver.recv(); });
        auto [made_sender, made_receiver] = blitz::channel<int>(1);
        blitz::sender<int>& sender = made_sender;
        blitz::receiver<int>& values = made_receiver;
        move_away(sender);
        expect_error(errc::invalid, [&] { (void)sender.send(1); });
        expect_error(errc::invalid, [&] { (void)sender.try_send(1); });
        sender.close();
        move_away(values);
        expect_error(errc::invalid, [&] { (void)values.try_recv(); });
        EXPECT_EQ(values.size(), 0U);
        auto [made_once, made_value] = blitz::oneshot<int>();
        blitz::oneshot_sender<int>& once = made_once;
        blitz::oneshot_receiver<int>& value = made_value;
        move_away(once);
        expect_error(errc::invalid, [&] { (void)once.send(1); });
        move_away(value);
        expect_error(errc::invalid, [&] { (void)value.recv(); });
        auto fiber = blitz::spawn([] { return 1; });
        EXPECT_EQ(fiber.join(), 1);
        expect_error(errc::invalid, [&] { (void)fiber.join(); });
        expect_error(errc::invalid, [&] { blitz::join_handle<void>().join(); });
        // Not the details of an older error of the library.
        EXPECT_THROW((void)blitz::connect_tcp("localhost"), blitz::error);
        try {
            (void)fiber.join();
        } catch (const blitz::error& error) {
            EXPECT_NE(std::string(error.what()).find("no task"), std::string::npos) << error.what();
        }
        blitz::runtime runtime;
        move_away(runtime);
        expect_error(errc::invalid, [&] { runtime.shutdown(); });
        EXPECT_EQ(runtime.tasks(), 0U);
    });
}

TEST(BadInput, AnErrorHasItsMessageOnce) {
    EXPECT_STREQ(blitz::canceled().what(), "the fiber was cancelled");
    const blitz::error refused(-ECONNREFUSED, "Connection refused (os error 111)");
    EXPECT_STREQ(refused.what(), "Connection refused");
    const blitz::error other(BLITZ_EINVAL, "the details");
    EXPECT_STREQ(other.what(), "the details: invalid argument");
}

TEST(BadInput, NumbersOutOfRangeAreInvalid) {
    using blitz::errc;
    constexpr auto largest = std::numeric_limits<std::ptrdiff_t>::max();
    constexpr auto size_max = std::numeric_limits<std::size_t>::max();
    expect_error(errc::invalid, [] { blitz::counting_semaphore<> of(-1); });
    expect_error(errc::invalid, [] { blitz::counting_semaphore<> of(largest); });
    expect_error(errc::invalid, [] { blitz::latch of(-1); });
    expect_error(errc::invalid, [] { blitz::latch of(largest); });
    expect_error(errc::invalid, [] { blitz::barrier<> of(-1); });
    expect_error(errc::invalid, [] { blitz::barrier<> of(largest); });
    expect_error(errc::invalid, [] { (void)blitz::channel<int>(size_max - 1); });
    expect_error(errc::invalid, [] { (void)blitz::broadcast<int>(0); });
    expect_error(errc::invalid, [] { blitz::runtime of({size_max, 0, nullptr}); });
    expect_error(errc::invalid, [] { blitz::pool of(size_max); });
    expect_error(errc::invalid, [] { blitz::spawn(blitz::fiber_options{1, nullptr}, [] {}).join(); });
    expect_error(errc::invalid, [] { blitz::parallel_for(1, 0, [](int) {}); });
    expect_error(errc::invalid,
                 [] { (void)blitz::parallel_reduce(1, 0, 0, [](int i) { return i; }, std::plus<>()); });
    expect_error(errc::invalid, [] { (void)blitz::address("nowhere"); });
    blitz::counting_semaphore<> semaphore(0);
    expect_error(errc::invalid, [&] { semaphore.release(-1); });
    blitz::latch latch(1);
    expect_error(errc::invalid, [&] { latch.count_down(2); });
    expect_error(errc::invalid, [&] { latch.count_down(-1); });
}

TEST(BadInput, ATimeThatHasPassedDoesNotWait) {
    in_both([] {
        const auto before = std::chrono::steady_clock::now() - 1h;
        blitz::mutex mutex;
        blitz::shared_mutex shared;
        blitz::condition_variable changed;
        blitz::counting_semaphore<> semaphore(0);
        blitz::latch latch(1);
        blitz::event event;
        std::unique_lock lock(mutex);
        const std::unique_lock all(shared);
        EXPECT_FALSE(mutex.try_lock_until(before));
        EXPECT_FALSE(mutex.try_lock_for(-1h));
        EXPECT_FALSE(shared.try_lock_until(before));
        EXPECT_FALSE(shared.try_lock_shared_for(-1h));
        EXPECT_EQ(changed.wait_until(lock, before), std::cv_status::timeout);
        EXPECT_EQ(changed.wait_for(lock, -1h), std::cv_status::timeout);
        EXPECT_FALSE(semaphore.try_acquire_until(before));
        EXPECT_FALSE(semaphore.try_acquire_for(-1h));
        EXPECT_FALSE(latch.wait_for(-1h));
        EXPECT_FALSE(event.wait_for(-1h));
        auto [tx, rx] = blitz::channel<std::string>(1);
        EXPECT_EQ(rx.recv_for(-1h).why(), blitz::status::timed_out);
        EXPECT_EQ(tx.send("one"), blitz::status::ok);
        std::string two = "two";
        EXPECT_EQ(tx.send_until(std::move(two), before), blitz::status::timed_out);
        EXPECT_EQ(two, "two");  // NOLINT(bugprone-use-after-move): it was not sent
        blitz::this_fiber::sleep_until(before);
        blitz::this_fiber::sleep_for(-1h);
        blitz::event never;
        auto sleeper = blitz::spawn([&] { never.wait(); });
        EXPECT_FALSE(sleeper.wait_until(before));
        EXPECT_FALSE(sleeper.wait_for(-1h));
        never.set();
        sleeper.join();
    });
}

// These callbacks of C throw, which ends the process. The functions of C++ catch the exceptions of
// what they call, and rethrow them: see `Spawn`, `ParallelFor`, `Pipeline` and others.
void* throws(void* /*argument*/) { throw std::runtime_error("through C"); }
void job_throws(void* /*argument*/) { throw std::runtime_error("through C"); }
void body_throws(void* /*argument*/, std::size_t /*begin*/, std::size_t /*end*/) {
    throw std::runtime_error("through C");
}

void fiber_throws() {
    blitz_task* task = nullptr;
    [[maybe_unused]] const int error = blitz_spawn(nullptr, nullptr, throws, nullptr, &task);
    (void)blitz_task_join(task, BLITZ_NEVER, nullptr);
}

void blocking_function_throws() {
    blitz_task* task = nullptr;
    [[maybe_unused]] const int error = blitz_spawn_blocking(nullptr, throws, nullptr, &task);
    (void)blitz_task_join(task, BLITZ_NEVER, nullptr);
}

void once_throws() {
    blitz_once once = BLITZ_ONCE_INIT;
    (void)blitz_once_call(&once, job_throws, nullptr);
}

void loop_throws() { (void)blitz_parallel_for(nullptr, 0, 1000, 1, body_throws, nullptr); }

void jobs_throw() { (void)blitz_join(nullptr, job_throws, nullptr, job_throws, nullptr); }

TEST(BadInputDeathTest, AnExceptionThroughCEndsTheProcess) {
    // The process that dies begins anew, because this one has threads.
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    for (const auto call : {fiber_throws, blocking_function_throws, once_throws, loop_throws, jobs_throw})
        EXPECT_EXIT(call(), testing::KilledBySignal(SIGABRT), "");
}

}  // namespace
