// Oneshot, broadcast and watch channels, and waiting for several channels.
#include <gtest/gtest.h>

#include <blitz/blitz.hpp>
#include <memory>
#include <string>
#include <thread>

using namespace std::chrono_literals;
using blitz::status;

namespace {

TEST(Oneshot, HandsOneValueOver) {
    auto [tx, rx] = blitz::oneshot<std::string>();
    EXPECT_EQ(rx.try_recv().why(), status::empty);
    EXPECT_EQ(rx.recv_for(1ms).why(), status::timed_out);
    auto sends = blitz::spawn([tx = std::move(tx)]() mutable {
        EXPECT_EQ(tx.send("a text that is on the heap, as it is so long"), status::ok);
        std::string second = "second";
        EXPECT_EQ(tx.send(std::move(second)), status::closed);
        EXPECT_EQ(second, "second");
    });
    EXPECT_EQ(*rx.recv(), "a text that is on the heap, as it is so long");
    sends.join();
    EXPECT_EQ(rx.recv().why(), status::closed);
}

TEST(Oneshot, TellsTheSenderThatTheReceiverIsGone) {
    blitz::oneshot<std::unique_ptr<int>> channel;
    EXPECT_FALSE(channel.tx.is_closed());
    EXPECT_FALSE(channel.tx.wait_closed_for(1ms));
    EXPECT_FALSE(channel.tx.wait_closed_until(std::chrono::system_clock::now() + 1ms));
    std::thread thread([rx = std::move(channel.rx)] {});
    channel.tx.wait_closed();
    thread.join();
    EXPECT_TRUE(channel.tx.wait_closed_until(std::chrono::steady_clock::now() + 1h));
    EXPECT_TRUE(channel.tx.is_closed());
    auto value = std::make_unique<int>(5);
    EXPECT_EQ(channel.tx.send(std::move(value)), status::closed);
    EXPECT_EQ(*value, 5);

    auto [tx, rx] = blitz::oneshot<int>();
    { const auto gone = std::move(tx); }
    EXPECT_EQ(rx.recv().why(), status::closed);
    auto closed = blitz::oneshot<int>();
    closed.rx.close();
    EXPECT_EQ(closed.tx.send(1), status::closed);
}

TEST(Oneshot, DestroysWhatNobodyReceives) {
    const auto counted = std::make_shared<std::string>("value");
    struct record {
        std::shared_ptr<std::string> text;
        std::string own = "own";
    };
    {
        auto [tx, rx] = blitz::oneshot<record>();
        EXPECT_EQ(tx.send(record{counted}), status::ok);
        const auto gone = std::move(rx);
    }
    {
        auto [tx, rx] = blitz::oneshot<record>();
        EXPECT_EQ(tx.send(record{counted}), status::ok);
        const auto gone = std::move(tx);
    }
    EXPECT_EQ(counted.use_count(), 1);
}

TEST(Broadcast, ReachesAllReceivers) {
    auto [tx, rx] = blitz::broadcast<int>(64);
    auto later = tx.subscribe();
    auto more = tx;
    EXPECT_EQ(tx.send(1), status::ok);
    EXPECT_EQ(more.send(2), status::ok);
    auto copy = rx;
    EXPECT_EQ(rx.size(), 2U);
    EXPECT_EQ(copy.try_recv().why(), status::empty);
    for (auto* each : {&rx, &later}) {
        EXPECT_EQ(*each->recv(), 1);
        EXPECT_EQ(*each->recv_for(1h), 2);
        EXPECT_EQ(each->recv_until(std::chrono::system_clock::now()).why(), status::timed_out);
    }
    auto fiber = blitz::spawn([copy]() mutable { return copy.recv().value(); });
    EXPECT_EQ(fiber.wait_for(1ms), false);
    EXPECT_EQ(tx.send(3), status::ok);
    EXPECT_EQ(fiber.join(), 3);
    for (int i = 0; i < 1000; i++) EXPECT_EQ(tx.send(i), status::ok);
    EXPECT_EQ(rx.recv().why(), status::lagged);
    EXPECT_GT(*rx.recv(), 0);
    EXPECT_THROW(blitz::broadcast<int>(0), blitz::error);
}

TEST(Broadcast, ClosesAtBothEnds) {
    blitz::broadcast<int> channel(1);
    EXPECT_FALSE(channel.tx.is_closed());
    std::thread thread([rx = std::move(channel.rx)] {});
    channel.tx.wait_closed();
    thread.join();
    EXPECT_TRUE(channel.tx.is_closed());
    EXPECT_EQ(channel.tx.send(1), status::closed);
    auto rx = channel.tx.subscribe();
    EXPECT_EQ(channel.tx.send(2), status::ok);
    { const auto gone = std::move(channel.tx); }
    EXPECT_EQ(*rx.recv(), 2);
    EXPECT_EQ(rx.recv().why(), status::closed);
}

TEST(Watch, KeepsTheLatest) {
    auto [tx, rx] = blitz::watch<double>(0.5);
    EXPECT_EQ(rx.latest(), 0.5);
    EXPECT_EQ(rx.try_recv().why(), status::empty);
    EXPECT_EQ(rx.recv_for(1ms).why(), status::timed_out);
    EXPECT_EQ(tx.send(1.5), status::ok);
    EXPECT_EQ(tx.send(2.5), status::ok);
    auto copy = rx;
    EXPECT_EQ(*rx.recv(), 2.5);
    EXPECT_EQ(copy.latest(), 2.5);
    auto other = tx.subscribe();
    auto fiber = blitz::spawn([other]() mutable { return other.recv().value(); });
    auto more = tx;
    { const auto gone = std::move(tx); }
    EXPECT_EQ(more.send(3.5), status::ok);
    EXPECT_EQ(fiber.join(), 3.5);
    EXPECT_EQ(*rx.recv(), 3.5);
    { const auto gone = std::move(more); }
    EXPECT_EQ(rx.recv().why(), status::closed);
    EXPECT_EQ(rx.latest(), 3.5);
}

TEST(Select, PerformsWhatIsPossible) {
    auto [numbers_tx, numbers_rx] = blitz::channel<int>(1);
    auto [texts_tx, texts_rx] = blitz::channel<std::string>(1);
    auto [stop_tx, stop_rx] = blitz::oneshot<int>();
    std::string got;
    const auto on_number = [&](const blitz::received<int>& number) {
        got = number ? std::to_string(*number) : "closed";
    };
    const auto on_stop = [&](const blitz::received<int>&) { got = "stop"; };
    EXPECT_EQ(blitz::try_select(blitz::on_recv(numbers_rx, on_number),
                                blitz::on_recv(stop_rx, on_stop)),
              std::nullopt);
    EXPECT_EQ(blitz::select_for(1ms, blitz::on_recv(numbers_rx, on_number)), std::nullopt);
    EXPECT_EQ(blitz::select_until(std::chrono::system_clock::now() + 1ms,
                                  blitz::on_recv(numbers_rx, on_number)),
              std::nullopt);
    EXPECT_EQ(numbers_tx.send(7), status::ok);
    EXPECT_EQ(blitz::select(blitz::on_recv(stop_rx, on_stop), blitz::on_recv(numbers_rx, on_number)),
              1U);
    EXPECT_EQ(got, "7");

    // A value that was not sent is the caller's still.
    std::string one = "the first text, which is long enough for the heap";
    std::string other = "the second text, which is long enough for the heap";
    status sent = status::full;
    const auto on_sent = [&](status result) { sent = result; };
    EXPECT_EQ(blitz::select(blitz::on_send(texts_tx, std::move(one), on_sent)), 0U);
    EXPECT_EQ(sent, status::ok);
    EXPECT_EQ(blitz::try_select(blitz::on_send(texts_tx, std::move(other), on_sent)), std::nullopt);
    EXPECT_EQ(other.substr(0, 10), "the second");
    auto fiber = blitz::spawn([&, &numbers_rx = numbers_rx, &texts_tx = texts_tx] {
        return blitz::select(blitz::on_recv(numbers_rx, on_number),
                             blitz::on_send(texts_tx, std::move(other), on_sent));
    });
    EXPECT_EQ(texts_rx.recv()->substr(0, 9), "the first");
    EXPECT_EQ(fiber.join(), 1U);
    EXPECT_EQ(texts_rx.recv()->substr(0, 10), "the second");
    texts_rx.close();
    std::string late = "late";
    EXPECT_EQ(blitz::select(blitz::on_send(texts_tx, std::move(late), on_sent)), 0U);
    EXPECT_EQ(sent, status::closed);
    EXPECT_EQ(late, "late");

    EXPECT_EQ(stop_tx.send(1), status::ok);
    EXPECT_EQ(blitz::select_for(1h, blitz::on_recv(numbers_rx, on_number),
                                blitz::on_recv(stop_rx, on_stop)),
              1U);
    EXPECT_EQ(got, "stop");
    EXPECT_EQ(numbers_tx.send(8), status::ok);
    EXPECT_EQ(blitz::select_until(std::chrono::steady_clock::now() + 1h,
                                  blitz::on_recv(numbers_rx, on_number)),
              0U);
    EXPECT_EQ(got, "8");
    numbers_tx.close();
    EXPECT_EQ(blitz::select(blitz::on_recv(numbers_rx, on_number)), 0U);
    EXPECT_EQ(got, "closed");
}

TEST(Select, IsCancelledAndThrowsWhatItsFunctionsThrow) {
    auto [tx, rx] = blitz::channel<int>(1);
    auto fiber = blitz::spawn([rx = rx]() mutable {
        blitz::select(blitz::on_recv(rx, [](const auto&) {}));
    });
    fiber.cancel();
    EXPECT_THROW(fiber.join(), blitz::canceled);
    EXPECT_EQ(tx.send(1), status::ok);
    EXPECT_THROW(blitz::select(blitz::on_recv(rx, [](const auto&) { throw 5; })), int);
}

}  // namespace
