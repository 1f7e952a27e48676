// Coroutines: tasks, the objects that they await, and cancellation.
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <blitz/blitz.hpp>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace {

blitz::task<int> twice(int value) { co_return 2 * value; }

blitz::task<int> sum_to(int n) {
    int sum = 0;
    for (int i = 0; i < n; i++) sum += co_await twice(i);
    co_return sum;
}

blitz::task<> fails() {
    co_await blitz::this_fiber::async_sleep_for(1ms);
    co_await blitz::this_fiber::async_sleep_until(std::chrono::steady_clock::now() + 1ms);
    throw std::out_of_range("far");
}

TEST(Task, ReturnsAndThrows) {
    EXPECT_EQ(blitz::sync_wait(sum_to(1000)), 999000);
    EXPECT_EQ(blitz::spawn(sum_to(10)).join(), 90);
    EXPECT_THROW(blitz::sync_wait(fails()), std::out_of_range);
    { const auto never_begun = fails(); }
}

blitz::task<int> nested(int depth) {
    if (depth == 0) co_return 0;
    co_return 1 + co_await nested(depth - 1);
}

blitz::task<int> nested_fails(int depth) {
    if (depth == 0) throw std::out_of_range("far");
    co_return co_await nested_fails(depth - 1);
}

TEST(Task, TasksThatAwaitEachOtherDeeplyDoNotOverflowTheStack) {
    EXPECT_EQ(blitz::sync_wait(nested(10000)), 10000);
    EXPECT_EQ(blitz::spawn(nested(100000)).join(), 100000);
    EXPECT_THROW(blitz::sync_wait(nested_fails(10000)), std::out_of_range);
    EXPECT_EQ(blitz::sync_wait(sum_to(30000)), 30000 * 29999);
}

TEST(Task, AwaitsLocksAndChannels) {
    blitz::mutex mutex;
    blitz::shared_mutex shared;
    blitz::binary_semaphore semaphore(1);
    blitz::latch latch(2);
    blitz::barrier<> barrier(2);
    blitz::event event;
    auto [tx, rx] = blitz::channel<std::string>(1);
    const auto side = [&](bool first) -> blitz::task<std::string> {
        co_await mutex.async_lock();
        mutex.unlock();
        co_await shared.async_lock();
        shared.unlock();
        co_await shared.async_lock_shared();
        shared.unlock_shared();
        co_await semaphore.async_acquire();
        semaphore.release();
        latch.count_down();
        co_await latch.async_wait();
        co_await barrier.async_arrive_and_wait();
        if (first) {
            event.set();
            for (int i = 0; i < 10; i++) {
                std::string text = std::to_string(i);
                EXPECT_EQ(co_await tx.async_send(std::move(text)), blitz::status::ok);
            }
            tx.close();
            co_return std::string();
        }
        co_await event.async_wait();
        std::string all;
        while (auto text = co_await rx.async_recv()) all += *text;
        co_return all;
    };
    auto one = blitz::spawn(side(true));
    auto other = blitz::spawn(side(false));
    EXPECT_EQ(one.join(), "");
    EXPECT_EQ(other.join(), "0123456789");
}

TEST(Task, AwaitsSocketsAndTasks) {
    auto listener = blitz::listen_tcp("127.0.0.1:0");
    const auto serve = [&]() -> blitz::task<> {
        auto stream = co_await listener.async_accept();
        char buffer[5];
        co_await stream.async_read_exact(buffer, 5);
        co_await stream.async_write_all(buffer, 5);
    };
    const auto talk = [&]() -> blitz::task<std::string> {
        auto server = blitz::spawn(serve());
        auto stream = blitz::connect_tcp(listener.local_address());
        co_await stream.async_write_all("hello");
        char buffer[5];
        co_await stream.async_read_exact(buffer, 5);
        co_await server.async_join();
        co_return std::string(buffer, 5);
    };
    EXPECT_EQ(blitz::sync_wait(talk()), "hello");
}

TEST(Task, AwaitsChannelsOfAllKinds) {
    auto [done_tx, done_rx] = blitz::oneshot<std::string>();
    auto [all_tx, all_rx] = blitz::broadcast<int>(4);
    auto [latest_tx, latest_rx] = blitz::watch<int>(0);
    const auto receives = [&]() -> blitz::task<std::string> {
        const int first = (co_await all_rx.async_recv()).value();
        const int latest = (co_await latest_rx.async_recv()).value();
        std::string text;
        const std::size_t index = co_await blitz::async_select(
            blitz::on_recv(all_rx, [](const auto&) {}),
            blitz::on_recv(done_rx, [&](auto value) { text = std::move(*value); }));
        co_return std::to_string(first) + std::to_string(latest) + std::to_string(index) + text;
    };
    auto receiver = blitz::spawn(receives());
    EXPECT_EQ(all_tx.send(1), blitz::status::ok);
    EXPECT_EQ(latest_tx.send(2), blitz::status::ok);
    EXPECT_EQ(done_tx.send("done"), blitz::status::ok);
    EXPECT_EQ(receiver.join(), "121done");
    const auto waits = [](auto tx, auto other) -> blitz::task<> {
        co_await tx.async_wait_closed();
        co_await other.async_wait_closed();
    };
    auto closes = blitz::spawn(waits(std::move(done_tx), std::move(all_tx)));
    { const auto gone = std::move(done_rx); }
    { const auto gone = std::move(all_rx); }
    closes.join();
}

TEST(Task, AwaitsTheSystem) {
    const auto runs = []() -> blitz::task<int> {
        blitz::process_options options;
        options.program = "sh";
        options.arguments = {"-c", "exit 5"};
        blitz::process child(options);
        const blitz::exit_status status = co_await child.async_wait();
        blitz::signal_listener listener(SIGUSR2);
        EXPECT_EQ(raise(SIGUSR2), 0);
        co_await listener.async_wait();
        blitz::once_flag flag;
        int sum = 0;
        co_await blitz::async_call_once(flag, [&] { sum = status.code().value(); });
        int next = 0;
        co_await blitz::make_pipeline([&]() -> std::optional<int> {
            if (next == 10) return std::nullopt;
            return next++;
        }).async_run([&](int number) { sum += number; });
        co_return sum;
    };
    EXPECT_EQ(blitz::sync_wait(runs()), 50);
}

TEST(Stop, EndsPipelines) {
    std::stop_source source;
    int next = 0;
    EXPECT_THROW(blitz::make_pipeline([&]() -> std::optional<int> { return next++; })
                     .run(source.get_token(),
                          [&](int number) {
                              if (number == 10) source.request_stop();
                          }),
                 blitz::canceled);
}

// A coroutine of another library: it runs where it is resumed, and must not block.
struct detached {
    struct promise_type {
        detached get_return_object() { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
};

TEST(Awaitable, WorksInCoroutinesOfOthers) {
    blitz::event go;
    blitz::event ended;
    const auto waits = [&]() -> detached {
        co_await go.async_wait();
        EXPECT_EQ(co_await twice(21), 42);
        ended.set();
    };
    waits();
    // It is suspended, and this thread continues.
    EXPECT_FALSE(ended.try_wait());
    go.set();
    ended.wait();
}

// Everything that waits, in a task and in a coroutine of another library.
template <class Coroutine>
Coroutine awaits_calls(blitz::event& ended) {
    blitz::mutex mutex;
    blitz::condition_variable changed;
    std::unique_lock lock(mutex);
    EXPECT_EQ(co_await blitz::async_call([&] { return changed.wait_for(lock, 1ms); }),
              std::cv_status::timeout);
    EXPECT_TRUE(lock.owns_lock());
    auto listener = blitz::listen_tcp("127.0.0.1:0");
    auto stream = co_await blitz::async_call(
        [&] { return blitz::connect_tcp(listener.local_address()); });
    auto accepted = co_await listener.async_accept();
    EXPECT_EQ(co_await blitz::async_wait_fd(stream.fd(), blitz::fd_events::write),
              blitz::fd_events::write);
    blitz::fd_watch watch(stream.fd());
    accepted.write_all("x");
    co_await watch.async_wait(blitz::fd_events::read);
    std::atomic<int> sum{0};
    co_await blitz::async_call([&] { blitz::parallel_for(0, 100, [&](int i) { sum += i; }); });
    EXPECT_EQ(sum, 4950);
    EXPECT_EQ(co_await blitz::async_call([] {
        return blitz::parallel_reduce(0, 100, 0, [](int i) { return i; }, std::plus<>());
    }), 4950);
    bool caught = false;
    try {
        co_await blitz::async_call([] { (void)blitz::connect_tcp("no port"); });
    } catch (const blitz::error& error) {
        caught = error.code() == blitz::errc::invalid;
    }
    EXPECT_TRUE(caught);
    ended.set();
}

TEST(AsyncCall, AwaitsEverythingThatWaits) {
    // Longer than the test: a coroutine may still be in `set` when the wait ends.
    static blitz::event ended(blitz::event_reset::automatic);
    blitz::sync_wait(awaits_calls<blitz::task<>>(ended));
    EXPECT_TRUE(ended.try_wait());
    awaits_calls<detached>(ended);
    ended.wait();
}

// An awaitable object of another library: it resumes the coroutine in a thread of its own.
struct other_thread {
    [[nodiscard]] bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> coroutine) const {
        // From here on another thread may destroy this object.
        std::thread([coroutine] { coroutine.resume(); }).detach();
    }
    void await_resume() const {}
};

TEST(Task, AwaitsObjectsOfOthers) {
    const auto inner = [&]() -> blitz::task<int> {
        co_await other_thread{};
        // No fiber runs this now, and it still waits.
        co_await blitz::this_fiber::async_sleep_for(1ms);
        co_return 5;
    };
    const auto outer = [&]() -> blitz::task<int> { co_return 1 + co_await inner(); };
    EXPECT_EQ(blitz::sync_wait(outer()), 6);
}

// The innermost task of each round goes on in another thread, and so do those that await it.
blitz::task<int> nested_elsewhere(int depth) {
    if (depth == 0) {
        co_await other_thread{};
        co_return 0;
    }
    co_return 1 + co_await nested_elsewhere(depth - 1);
}

TEST(Task, TasksThatGoOnInAnotherThreadDoNotOverflowItsStack) {
    const auto rounds = [&]() -> blitz::task<int> {
        int sum = 0;
        for (int i = 0; i < 20; i++) {
            sum += co_await nested_elsewhere(20000);
            // This thread drives the tasks now.
            sum += co_await nested(20000);
        }
        co_return sum;
    };
    EXPECT_EQ(blitz::sync_wait(rounds()), 800000);
    // In a coroutine of another library.
    static blitz::event ended;
    const auto waits = [&]() -> detached {
        EXPECT_EQ(co_await nested_elsewhere(20000), 20000);
        EXPECT_EQ(co_await nested(20000), 20000);
        ended.set();
    };
    waits();
    ended.wait();
}

blitz::task<int> after(std::chrono::milliseconds time, int value) {
    co_await blitz::this_fiber::async_sleep_for(time);
    co_return value;
}

template <class... Tasks>
auto list(Tasks... tasks) {
    std::vector<std::common_type_t<Tasks...>> all;
    (all.push_back(std::move(tasks)), ...);
    return all;
}

TEST(WhenAll, HasAllResultsOrTheException) {
    const auto results = blitz::sync_wait(blitz::when_all(list(after(3ms, 1), after(1ms, 2))));
    EXPECT_EQ(results, (std::vector<int>{1, 2}));
    // The one that would sleep for ever is cancelled.
    const auto sleeps = []() -> blitz::task<> { co_await blitz::this_fiber::async_sleep_for(10000h); };
    EXPECT_THROW(blitz::sync_wait(blitz::when_all(list(fails(), sleeps()))), std::out_of_range);
}

TEST(WhenAll, TasksOfDifferentTypes) {
    const auto text = []() -> blitz::task<std::string> { co_return "text"; };
    const auto nothing = []() -> blitz::task<> { co_await blitz::this_fiber::async_sleep_for(1ms); };
    const auto alone = []() -> blitz::task<std::unique_ptr<int>> { co_return std::make_unique<int>(3); };
    int variable = 4;
    const auto reference = [&]() -> blitz::task<int&> { co_return variable; };
    auto [number, word, none, pointer, same] =
        blitz::sync_wait(blitz::when_all(after(1ms, 1), text(), nothing(), alone(), reference()));
    EXPECT_EQ(number, 1);
    EXPECT_EQ(word, "text");
    EXPECT_EQ(none, std::monostate());
    EXPECT_EQ(*pointer, 3);
    EXPECT_EQ(&same, &variable);
    // The one that would sleep for ever is cancelled.
    EXPECT_THROW(
        blitz::sync_wait(blitz::when_all(fails(), text(), after(std::chrono::hours(10000), 1))),
        std::out_of_range);
    EXPECT_EQ(blitz::sync_wait(blitz::when_all()), std::tuple<>());
}

TEST(WhenAny, HasTheFirstAndCancelsTheOthers) {
    const auto [index, value] =
        blitz::sync_wait(blitz::when_any(list(after(std::chrono::hours(10000), 1), after(1ms, 2))));
    EXPECT_EQ(index, 1U);
    EXPECT_EQ(value, 2);
    EXPECT_THROW(blitz::sync_wait(blitz::when_any(list(fails()))), std::out_of_range);
    EXPECT_THROW(blitz::sync_wait(blitz::when_any(std::vector<blitz::task<>>())), blitz::error);
}

TEST(Stop, CancelsTasks) {
    std::stop_source source;
    auto coroutine = blitz::spawn(source.get_token(), after(std::chrono::hours(10000), 1));
    auto function = blitz::spawn(source.get_token(), [](const std::stop_token& stop) {
        EXPECT_THROW(blitz::this_fiber::sleep_for(10000h), blitz::canceled);
        return stop.stop_requested();
    });
    EXPECT_FALSE(function.wait_for(1ms));
    source.request_stop();
    EXPECT_THROW(coroutine.join(), blitz::canceled);
    EXPECT_TRUE(function.join());
    // Too late, and before the begin.
    auto late = blitz::spawn(source.get_token(), [] { blitz::this_fiber::sleep_for(10000h); });
    EXPECT_THROW(late.join(), blitz::canceled);
}

TEST(Stop, EndsWaitsForConditions) {
    blitz::mutex mutex;
    blitz::condition_variable_any changed;
    std::stop_source source;
    auto fiber = blitz::spawn([&] {
        std::unique_lock lock(mutex);
        return changed.wait(lock, source.get_token(), [] { return false; });
    });
    source.request_stop();
    EXPECT_FALSE(fiber.join());
    std::unique_lock lock(mutex);
    EXPECT_TRUE(changed.wait_for(lock, source.get_token(), 1ms, [] { return true; }));
    EXPECT_FALSE(changed.wait_for(lock, std::stop_token(), 1ms, [] { return false; }));
}

}  // namespace
