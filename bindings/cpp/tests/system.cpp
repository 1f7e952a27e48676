// Child processes, signals, functions that run once, and pipelines.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <blitz/blitz.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace {

std::string read_all(blitz::stream stream) {
    std::string all;
    char buffer[64];
    while (const std::size_t count = stream.read(buffer, sizeof(buffer))) all.append(buffer, count);
    return all;
}

TEST(Process, TalksThroughPipes) {
    blitz::process_options options;
    options.program = "sh";
    options.arguments = {"-c", "read line; echo \"$line $WORD $PWD\"; echo oops >&2; exit 3"};
    options.environment = {"WORD=word", "PATH=/usr/bin:/bin"};
    options.directory = "/";
    options.input = options.output = options.error = blitz::stdio::pipe;
    const auto talk = [&] {
        blitz::process child(options);
        EXPECT_NE(child.id(), 0U);
        child.take_input().write_all("hello\n");
        EXPECT_THROW((void)child.take_input(), blitz::error);
        EXPECT_EQ(read_all(child.take_output()), "hello word /\n");
        EXPECT_EQ(read_all(child.take_error()), "oops\n");
        const blitz::exit_status status = child.wait();
        EXPECT_FALSE(status.success());
        EXPECT_EQ(status.code(), 3);
        EXPECT_EQ(status.signal(), std::nullopt);
        EXPECT_EQ(child.id(), 0U);
        child.kill();
        EXPECT_EQ(child.wait().code(), 3);
    };
    talk();
    blitz::spawn(talk).join();
}

TEST(Process, IsKilledAndFails) {
    blitz::process_options options;
    options.program = "sleep";
    options.arguments = {"1000000"};
    blitz::process child(options);
    EXPECT_FALSE(child.wait_for(1ms));
    EXPECT_FALSE(child.wait_until(std::chrono::steady_clock::now() + 1ms));
    EXPECT_THROW((void)child.take_output(), blitz::error);
    child.kill();
    const auto status = child.wait_for(1h);
    ASSERT_TRUE(status);
    EXPECT_EQ(status->signal(), SIGKILL);
    EXPECT_EQ(status->code(), std::nullopt);
    EXPECT_TRUE(WIFSIGNALED(status->native()));

    options.program = "/no/such/program";
    try {
        blitz::process none(options);
        FAIL();
    } catch (const blitz::error& error) {
        EXPECT_EQ(error.code(), std::errc::no_such_file_or_directory);
    }
    options.program = std::string("true");
    options.arguments.clear();
    options.kill_at_exit = true;
    EXPECT_TRUE(blitz::process(options).wait().success());
}

TEST(Signal, Arrives) {
    blitz::signal_listener listener(SIGUSR1);
    EXPECT_FALSE(listener.wait_for(1ms));
    EXPECT_FALSE(listener.wait_until(std::chrono::system_clock::now()));
    EXPECT_EQ(kill(getpid(), SIGUSR1), 0);
    listener.wait();
    auto fiber = blitz::spawn([&] { listener.wait(); });
    EXPECT_EQ(kill(getpid(), SIGUSR1), 0);
    fiber.join();
    EXPECT_THROW(blitz::signal_listener{SIGKILL}, blitz::error);
    auto canceled = blitz::spawn([&] { listener.wait(); });
    canceled.cancel();
    EXPECT_THROW(canceled.join(), blitz::canceled);
}

TEST(Once, RunsOnce) {
    blitz::once_flag flag;
    int runs = 0;
    const auto run = [&](int add) {
        blitz::this_fiber::yield();
        runs += add;
    };
    std::vector<std::thread> threads;
    std::vector<blitz::join_handle<void>> fibers;
    for (int i = 0; i < 4; i++) {
        threads.emplace_back([&] {
            blitz::call_once(flag, run, 5);
            EXPECT_EQ(runs, 5);
        });
        fibers.push_back(blitz::spawn([&] {
            blitz::call_once(flag, run, 5);
            EXPECT_EQ(runs, 5);
        }));
    }
    for (auto& thread : threads) thread.join();
    for (auto& fiber : fibers) fiber.join();
    EXPECT_TRUE(flag.is_done());
}

TEST(Once, RunsAgainAfterAnException) {
    blitz::once_flag flag;
    EXPECT_THROW(blitz::call_once(flag, [] { throw std::logic_error("not yet"); }), std::logic_error);
    EXPECT_FALSE(flag.is_done());
    bool ran = false;
    blitz::call_once(flag, [&] { ran = true; });
    EXPECT_TRUE(ran);
    blitz::call_once(flag, [] { FAIL(); });
}

// Counts up to `end`.
auto up_to(int end) {
    return [next = 0, end]() mutable -> std::optional<int> {
        if (next == end) return std::nullopt;
        return next++;
    };
}

TEST(Pipeline, KeepsTheOrder) {
    const auto run = [] {
        std::vector<std::string> results;
        const std::uint64_t taken =
            blitz::make_pipeline(up_to(1000))
                .then([](int number) { return number * 2L; })
                .then([](long number) -> std::optional<std::string> {
                    if (number % 3 != 0) return std::nullopt;
                    return "the number " + std::to_string(number);
                })
                .run([&](std::string text) { results.push_back(std::move(text)); });
        ASSERT_EQ(results.size(), 334U);
        EXPECT_GE(taken, 334U);
        for (std::size_t i = 0; i < results.size(); i++)
            EXPECT_EQ(results[i], "the number " + std::to_string(6 * i));
    };
    run();
    blitz::spawn(run).join();
    int sum = 0;
    blitz::pipeline_options options;
    options.unordered = true;
    options.workers = 2;
    options.capacity = 3;
    blitz::make_pipeline(up_to(10)).run([&](int number) { sum += number; }, options);
    EXPECT_EQ(sum, 45);
    options.workers = 2000;
    EXPECT_THROW(blitz::make_pipeline(up_to(10)).run([](int) {}, options), blitz::error);
}

TEST(Pipeline, RethrowsAndFreesItsItems) {
    // A source, a stage, and a sink that fail at item 5.
    for (int failing = 0; failing < 3; failing++) {
        const auto fails = [&](int part, int number) {
            if (part == failing && number == 5) throw std::out_of_range("five");
        };
        const auto counted = std::make_shared<int>(0);
        using item = std::pair<int, std::shared_ptr<int>>;
        int taken = 0;
        EXPECT_THROW(blitz::make_pipeline([&, next = 0]() mutable -> std::optional<item> {
                         fails(0, next);
                         return item(next++, counted);
                     })
                         .then([&](item each) {
                             fails(1, each.first);
                             return each;
                         })
                         .run([&](const item& each) {
                             fails(2, each.first);
                             EXPECT_EQ(each.first, taken++);
                         }),
                     std::out_of_range);
        EXPECT_LE(taken, 5);
        EXPECT_EQ(counted.use_count(), 1);
    }
}

TEST(Pipeline, IsCancelled) {
    blitz::pipeline_control control;
    int next = 0;
    EXPECT_THROW(blitz::make_pipeline([&]() -> std::optional<int> { return next++; })
                     .run(
                         [&](int number) {
                             if (number == 10) control.cancel();
                         },
                         {}, &control),
                 blitz::canceled);
}

}  // namespace
