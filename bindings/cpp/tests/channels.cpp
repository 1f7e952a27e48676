// Channels of values of many types.
#include <gtest/gtest.h>

#include <array>
#include <blitz/blitz.hpp>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using blitz::status;

namespace {

// Counts the objects that live. It points into itself, so its bytes must not be moved.
class counted {
public:
    static inline std::atomic<int> alive{0};

    explicit counted(int value) : value_(value) { alive++; }
    counted(counted&& other) noexcept : value_(std::exchange(other.value_, -1)) { alive++; }
    counted& operator=(counted&& other) noexcept {
        value_ = std::exchange(other.value_, -1);
        return *this;
    }
    ~counted() {
        EXPECT_EQ(self_, this);
        alive--;
    }
    [[nodiscard]] int value() const { return value_; }

private:
    counted* self_ = this;
    int value_;
};

TEST(Channel, HandsOverNumbers) {
    auto [tx, rx] = blitz::channel<int>(4);
    std::vector<blitz::join_handle<void>> senders;
    for (int i = 0; i < 4; i++)
        senders.push_back(blitz::spawn([tx = tx, i]() mutable {
            for (int n = 0; n < 250; n++) EXPECT_EQ(tx.send(i * 250 + n), status::ok);
        }));
    { const auto last = std::move(tx); }
    std::atomic<long> sum{0};
    std::thread other([&sum, rx = rx]() mutable {
        for (const int value : rx) sum += value;
    });
    for (const int value : rx) sum += value;
    other.join();
    for (auto& sender : senders) sender.join();
    EXPECT_EQ(sum, 999L * 1000 / 2);
    EXPECT_EQ(rx.recv().why(), status::closed);
}

TEST(Channel, MovesStringsAndPointers) {
    auto [strings, to_strings] = blitz::channel<std::string>(2);
    EXPECT_EQ(strings.send("short"), status::ok);
    EXPECT_EQ(strings.send(std::string(1000, 'x')), status::ok);
    EXPECT_EQ(*to_strings.recv(), "short");
    EXPECT_EQ(to_strings.recv()->size(), 1000U);

    static_assert(blitz::is_relocatable<std::unique_ptr<int>>);
    auto [pointers, to_pointers] = blitz::channel<std::unique_ptr<int>>(blitz::unbounded);
    for (int i = 0; i < 100; i++) EXPECT_EQ(pointers.send(std::make_unique<int>(i)), status::ok);
    EXPECT_EQ(to_pointers.size(), 100U);
    for (int i = 0; i < 50; i++) EXPECT_EQ(**to_pointers.recv(), i);
    // The rest goes with the channel: the address sanitizer looks for it.
}

TEST(Channel, AValueThatWasNotSentStays) {
    auto [tx, rx] = blitz::channel<std::string>(1);
    std::string value = "the first value of the channel";
    EXPECT_EQ(tx.send(std::move(value)), status::ok);
    value = "the second value of the channel";
    EXPECT_EQ(tx.try_send(std::move(value)), status::full);
    EXPECT_EQ(value, "the second value of the channel");
    EXPECT_EQ(tx.send_for(std::move(value), 1ms), status::timed_out);
    EXPECT_EQ(tx.send_until(std::move(value), std::chrono::system_clock::now()), status::timed_out);
    { const auto last = std::move(rx); }
    EXPECT_TRUE(tx.is_closed());
    EXPECT_EQ(tx.send(std::move(value)), status::closed);
    EXPECT_EQ(value, "the second value of the channel");

    auto [pointers, none] = blitz::channel<std::unique_ptr<int>>(1);
    none.close();
    auto pointer = std::make_unique<int>(7);
    EXPECT_EQ(pointers.send(std::move(pointer)), status::closed);
    EXPECT_EQ(*pointer, 7);
}

TEST(Channel, ReceivesOrTellsWhyNot) {
    auto [tx, rx] = blitz::channel<std::array<char, 300>>(1);
    EXPECT_EQ(rx.try_recv().why(), status::empty);
    EXPECT_EQ(rx.recv_for(1ms).why(), status::timed_out);
    EXPECT_EQ(rx.recv_until(std::chrono::steady_clock::now()).why(), status::timed_out);
    std::array<char, 300> value{};
    value.back() = 'z';
    EXPECT_EQ(tx.send(value), status::ok);
    const auto got = rx.recv();
    ASSERT_TRUE(got);
    EXPECT_EQ(got.why(), status::ok);
    EXPECT_EQ(got->back(), 'z');
    EXPECT_THROW(blitz::channel<int>(1 << 30), blitz::error);
}

TEST(Channel, DestroysWhatIsLeft) {
    for (const std::size_t capacity : {std::size_t{8}, blitz::unbounded}) {
        {
            auto [tx, rx] = blitz::channel<counted>(capacity);
            for (int i = 0; i < 5; i++) EXPECT_EQ(tx.send(counted(i)), status::ok);
            EXPECT_EQ(rx.recv()->value(), 0);
            EXPECT_EQ(counted::alive, 4);
            { const auto last = std::move(rx); }
            EXPECT_EQ(counted::alive, 0);
            counted kept(9);
            EXPECT_EQ(tx.send(std::move(kept)), status::closed);
            EXPECT_EQ(kept.value(), 9);
        }
        {
            auto [tx, rx] = blitz::channel<counted>(capacity);
            EXPECT_EQ(tx.send(counted(1)), status::ok);
        }
        EXPECT_EQ(counted::alive, 0);
    }
}

TEST(Channel, WithoutRoomMeets) {
    auto [tx, rx] = blitz::channel<counted>(0);
    EXPECT_EQ(tx.try_send(counted(1)), status::full);
    auto sender = blitz::spawn([tx = tx]() mutable { return tx.send(counted(3)); });
    EXPECT_EQ(rx.recv()->value(), 3);
    EXPECT_EQ(sender.join(), status::ok);
    EXPECT_EQ(counted::alive, 0);
}

TEST(Channel, ACancelledWaitThrows) {
    auto [tx, rx] = blitz::channel<int>(1);
    auto receiver = blitz::spawn([rx = rx]() mutable { return rx.recv().value(); });
    receiver.cancel();
    EXPECT_THROW(receiver.join(), blitz::canceled);
    EXPECT_EQ(tx.send(1), status::ok);
    EXPECT_EQ(rx.recv().value(), 1);
}

}  // namespace
