// Messages between processes.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <blitz/blitz.hpp>
#include <string>

using namespace std::chrono_literals;
using blitz::status;

namespace {

struct tick {
    std::uint64_t number = 0;
    double price = 0;
};

std::string new_name() {
    static int number = 0;
    return "cpp-test-" + std::to_string(getpid()) + "-" + std::to_string(number++);
}

TEST(Ipc, ARouteReachesAllReceivers) {
    const std::string name = new_name();
    blitz::ipc::options options;
    options.capacity = 8;
    blitz::ipc::route<tick>::receiver one(name, options);
    blitz::ipc::route<tick>::receiver other(name, options);
    EXPECT_EQ(one.try_recv().why(), status::empty);
    EXPECT_EQ(one.recv_for(1ms).why(), status::timed_out);
    EXPECT_EQ(one.recv_until(std::chrono::steady_clock::now() + 1ms).why(), status::timed_out);
    auto sender = blitz::spawn([&] {
        blitz::ipc::route<tick>::sender tx(name, options);
        for (std::uint64_t i = 0; i < 100; i++) {
            if (i % 2 == 0) {
                EXPECT_EQ(tx.send({i, 0.5}), status::ok);
            } else {
                auto room = tx.borrow();
                room->number = i;
                room.send();
            }
        }
        { const auto dropped = tx.borrow(); }
    });
    auto reader = blitz::spawn([&] {
        for (std::uint64_t i = 0; i < 100; i++) EXPECT_EQ(other.recv()->number, i);
    });
    for (std::uint64_t i = 0; i < 100; i++) EXPECT_EQ(one.recv()->number, i);
    reader.join();
    sender.join();
    EXPECT_EQ(one.recv().why(), status::closed);
    try {
        blitz::ipc::route<std::uint64_t[64]>::sender wrong(name, options);
        FAIL();
    } catch (const blitz::error& error) {
        EXPECT_EQ(error.code(), blitz::errc::mismatch);
    }
}

TEST(Ipc, AQueueHandsEachToOneAndFillsUp) {
    const std::string name = new_name();
    blitz::ipc::options options;
    options.capacity = 2;
    options.when_full = blitz::ipc::when_full::fail;
    blitz::ipc::queue<int>::sender tx(name, options);
    blitz::ipc::queue<int>::receiver rx(name, options);
    EXPECT_EQ(tx.send(1), status::ok);
    EXPECT_EQ(tx.send_for(2, 1ms), status::ok);
    EXPECT_EQ(tx.send_until(3, std::chrono::system_clock::now() + 1h), status::full);
    EXPECT_EQ(tx.send(3), status::full);
    EXPECT_EQ(tx.try_send(3), status::full);
    EXPECT_EQ(tx.drained_for(0ms), status::timed_out);
    EXPECT_EQ(tx.drained_until(std::chrono::system_clock::now()), status::timed_out);
    EXPECT_EQ(*rx.recv(), 1);
    EXPECT_EQ(*rx.recv(), 2);
    EXPECT_EQ(tx.drained_for(1h), status::ok);
    tx.drained();
}

TEST(Ipc, TheDoorbellRings) {
    const std::string name = new_name();
    blitz::ipc::channel<int>::receiver rx(name);
    pollfd bell{rx.doorbell(), POLLIN, 0};
    EXPECT_EQ(rx.try_recv_or_arm().why(), status::empty);
    blitz::ipc::channel<int>::sender tx(name);
    EXPECT_EQ(tx.send(5), status::ok);
    EXPECT_EQ(poll(&bell, 1, -1), 1);
    EXPECT_EQ(*rx.try_recv_or_arm(), 5);
}

TEST(Ipc, AMessageComesFromAnotherProcess) {
    const std::string name = new_name();
    blitz::ipc::route<tick>::receiver rx(name);
    const pid_t child = fork();
    if (child == 0) {
        blitz::ipc::route<tick>::sender tx(name);
        tx.send({42, 1.5});
        _exit(0);
    }
    const auto got = rx.recv();
    ASSERT_TRUE(got);
    EXPECT_EQ(got->number, 42U);
    int result = -1;
    EXPECT_EQ(waitpid(child, &result, 0), child);
    EXPECT_EQ(result, 0);
    EXPECT_EQ(rx.recv().why(), status::closed);
}

}  // namespace
