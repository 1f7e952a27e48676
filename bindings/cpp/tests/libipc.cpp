// Programs for cpp-ipc, with its include lines, on the headers for compatibility.
#include <gtest/gtest.h>
#include <libipc/buffer.h>
#include <libipc/condition.h>
#include <libipc/export.h>
#include <libipc/ipc.h>
#include <libipc/mutex.h>
#include <libipc/pool_alloc.h>
#include <libipc/rw_lock.h>
#include <libipc/semaphore.h>
#include <libipc/shm.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

// For fibers, which cpp-ipc has not.
#include <blitz/blitz.hpp>

using namespace std::string_literals;

namespace {

std::string new_name() {
    static int number = 0;
    return "libipc-test/" + std::to_string(getpid()) + "." + std::to_string(number++);
}

std::string text_of(const ipc::buff_t& message) {
    return message.empty() ? "" : static_cast<const char*>(message.data());
}

// Runs `body` in a child process, which must return 0.
template <class Body>
pid_t in_child(Body body) {
    const pid_t child = fork();
    if (child == 0) _exit(body() ? 0 : 1);
    return child;
}

void expect_success(pid_t child) {
    int result = -1;
    EXPECT_EQ(waitpid(child, &result, 0), child);
    EXPECT_EQ(result, 0);
}

void kill_and_wait(pid_t child) {
    EXPECT_EQ(kill(child, SIGKILL), 0);
    int result = 0;
    EXPECT_EQ(waitpid(child, &result, 0), child);
    EXPECT_TRUE(WIFSIGNALED(result));
}

TEST(LibipcBuffer, OwnsItsBytes) {
    static int freed;
    static void* freed_address;
    freed = 0;
    const auto count = [](void* address, std::size_t size) {
        freed += static_cast<int>(size);
        freed_address = address;
    };
    char text[] = "hello";
    char block[8] = {};
    {
        ipc::buff_t one(text, sizeof(text), count);
        ipc::buff_t other(std::move(one));
        EXPECT_TRUE(one.empty());
        EXPECT_EQ(other.size(), 6U);
        EXPECT_STREQ(other.get<const char*>(), "hello");
        ipc::buff_t same(text, sizeof(text));
        EXPECT_TRUE(other == same);
        same = ipc::buff_t(text, 3);
        EXPECT_TRUE(other != same);
        EXPECT_EQ(same.to_vector(), (std::vector<ipc::byte_t>{'h', 'e', 'l'}));
        const auto [data, size] = same.to_tuple();
        EXPECT_EQ(data, text);
        EXPECT_EQ(size, 3U);
        const ipc::buff_t inside(block + 4, 4, count, block);
        EXPECT_EQ(inside.data(), block + 4);
    }
    EXPECT_EQ(freed, 10);
    EXPECT_TRUE(freed_address == text || freed_address == block);
    ipc::byte_t bytes[3] = {1, 2, 3};
    EXPECT_EQ(ipc::buff_t(bytes).size(), 3U);
    EXPECT_EQ(ipc::buff_t(text[0]).size(), 1U);
    EXPECT_TRUE(ipc::buff_t().to_vector().empty());
    EXPECT_TRUE(ipc::buff_t() == ipc::buff_t());
}

TEST(LibipcRoute, ReachesAllReceivers) {
    const std::string name = new_name();
    ipc::route tx(name.c_str());
    EXPECT_TRUE(tx.valid());
    EXPECT_STREQ(tx.name(), name.c_str());
    EXPECT_EQ(tx.mode(), static_cast<unsigned>(ipc::sender));
    EXPECT_NE(tx.handle(), nullptr);
    EXPECT_EQ(tx.recv_count(), 0U);
    EXPECT_FALSE(tx.send("nobody"s, 10));
    EXPECT_FALSE(tx.wait_for_recv(1, 1));
    ipc::route one(name.c_str(), ipc::receiver);
    ipc::route other = one.clone();
    EXPECT_TRUE(tx.wait_for_recv(2));
    EXPECT_TRUE(ipc::route::wait_for_recv(name.c_str(), 2, 0));
    EXPECT_EQ(tx.recv_count(), 2U);
    EXPECT_TRUE(one.try_recv().empty());
    EXPECT_TRUE(one.recv(1).empty());

    EXPECT_TRUE(tx.send(std::string("text")));
    const int number = 7;
    EXPECT_TRUE(tx.try_send(&number, sizeof(number)));
    ipc::byte_t bytes[3] = {1, 2, 3};
    EXPECT_TRUE(tx.send(ipc::buff_t(bytes)));
    for (ipc::route* rx : {&one, &other}) {
        EXPECT_EQ(text_of(rx->recv()), "text");
        const ipc::buff_t got = rx->recv();
        ASSERT_EQ(got.size(), sizeof(number));
        EXPECT_EQ(*got.get<const int*>(), 7);
        EXPECT_TRUE(rx->try_recv() == ipc::buff_t(bytes));
    }
    EXPECT_FALSE(tx.send(nullptr, 5));
    EXPECT_FALSE(tx.send("", 0, 5));

    // One sender at a time.
    ipc::route second(name.c_str());
    EXPECT_TRUE(second.valid());
    EXPECT_FALSE(second.send("second"s, 0));
    tx.disconnect();
    EXPECT_FALSE(tx.send("gone"s, 0));
    EXPECT_TRUE(second.send("second"));
    EXPECT_EQ(text_of(one.recv()), "second");
    one.disconnect();
    other.release();
    EXPECT_FALSE(other.valid());
    EXPECT_TRUE(one.recv().empty());
    EXPECT_FALSE(second.send("nobody"s, 0));
    EXPECT_TRUE(one.reconnect(ipc::receiver));
    EXPECT_TRUE(one.reconnect(ipc::receiver));
    EXPECT_TRUE(second.send("again"));
    EXPECT_EQ(text_of(one.recv()), "again");
}

TEST(LibipcRoute, HasNamesOfAnyForm) {
    ipc::route none;
    EXPECT_FALSE(none.valid());
    EXPECT_EQ(none.name(), nullptr);
    EXPECT_EQ(none.handle(), nullptr);
    EXPECT_FALSE(none.connect(nullptr));
    EXPECT_FALSE(none.connect(""));
    EXPECT_FALSE(none.reconnect(ipc::sender));
    EXPECT_FALSE(none.send("x"));
    EXPECT_TRUE(none.recv().empty());
    EXPECT_FALSE(none.wait_for_recv(1, 0));
    EXPECT_FALSE(ipc::route::wait_for_recv("", 0, 0));
    EXPECT_EQ(none.recv_count(), static_cast<std::size_t>(ipc::invalid_value));
    none.disconnect();
    none.clear();
    EXPECT_FALSE(none.clone().valid());

    for (const std::string& name : {new_name() + " ÄÖ%.", new_name() + std::string(300, 'x')}) {
        ipc::route rx(ipc::prefix{"a/b"}, name.c_str(), ipc::sender | ipc::receiver);
        ipc::route tx(ipc::prefix{"a/b"}, name.c_str());
        ipc::route elsewhere(name.c_str());
        EXPECT_FALSE(elsewhere.send("x"s, 0));
        EXPECT_TRUE(tx.send(name));
        EXPECT_EQ(text_of(rx.recv()), name);
        const ipc::route clone = tx.clone();
        EXPECT_EQ(clone.recv_count(), 1U);
        ipc::route moved(std::move(tx));
        EXPECT_FALSE(tx.valid());
        EXPECT_STREQ(moved.name(), name.c_str());
        moved.clear();
        EXPECT_FALSE(moved.valid());
        ipc::route::clear_storage(name.c_str());
        ipc::route::clear_storage(ipc::prefix{"a/b"}, name.c_str());
    }
}

TEST(LibipcRoute, CarriesMessagesOfAnySize) {
    const std::string name = new_name();
    ipc::route rx(name.c_str(), ipc::receiver);
    ipc::route tx(name.c_str(), ipc::sender);
    // One that fits in the ring at once, and one that does not.
    const std::string half(std::size_t{512} * 1024, 'h');
    EXPECT_TRUE(tx.send(half));
    EXPECT_EQ(text_of(rx.recv()), half);
    const std::string large(std::size_t{5} * 1024 * 1024, 'l');
    std::thread sends([&] { EXPECT_TRUE(tx.send(large, ipc::invalid_value)); });
    EXPECT_EQ(text_of(rx.recv()), large);
    sends.join();
    // A part of a message is no message.
    EXPECT_FALSE(tx.send(large, 0));
    for (;;) {
        EXPECT_TRUE(rx.try_recv().empty());
        if (tx.send("next"s, 0)) break;
    }
    EXPECT_EQ(text_of(rx.recv()), "next");
}

TEST(LibipcRoute, DoesNotOverwrite) {
    const std::string name = new_name();
    ipc::route rx(name.c_str(), ipc::receiver);
    ipc::route tx(name.c_str(), ipc::sender);
    int sent = 0;
    while (tx.try_send(&sent, sizeof(sent), 0)) sent++;
    EXPECT_GE(sent, 256);
    EXPECT_FALSE(tx.send(&sent, sizeof(sent), 1));
    for (int i = 0; i < sent; i++) EXPECT_EQ(*rx.recv().get<const int*>(), i);
    EXPECT_TRUE(rx.try_recv().empty());
}

TEST(LibipcChannel, HasManySenders) {
    const std::string name = new_name();
    ipc::channel rx(name.c_str(), ipc::receiver);
    std::vector<std::thread> senders;
    for (int i = 0; i < 4; i++)
        senders.emplace_back([&, i] {
            ipc::channel tx(name.c_str());
            for (int n = 0; n < 300; n++)
                EXPECT_TRUE(tx.send("message of " + std::to_string(i), ipc::invalid_value));
        });
    for (int n = 0; n < 1200; n++) EXPECT_EQ(text_of(rx.recv()).substr(0, 11), "message of ");
    for (auto& sender : senders) sender.join();
    EXPECT_TRUE(rx.try_recv().empty());
}

// Each participant of a chat has one object for both directions.
TEST(LibipcChannel, DoesNotReceiveItsOwn) {
    const std::string name = new_name();
    ipc::channel one(name.c_str(), ipc::sender | ipc::receiver);
    ipc::channel other(name.c_str(), ipc::sender | ipc::receiver);
    EXPECT_TRUE(one.send("from one"));
    EXPECT_TRUE(other.send("from other"));
    EXPECT_EQ(text_of(one.recv()), "from other");
    EXPECT_EQ(text_of(other.recv()), "from one");
    EXPECT_TRUE(one.try_recv().empty());
    EXPECT_TRUE(other.try_recv().empty());
}

TEST(LibipcChannel, OneObjectServesManyThreadsAndFibers) {
    const std::string name = new_name();
    ipc::channel rx(name.c_str(), ipc::receiver);
    ipc::channel tx(name.c_str());
    std::atomic<int> received{0};
    std::vector<std::thread> threads;
    std::vector<blitz::join_handle<void>> fibers;
    const auto send = [&] {
        for (int n = 0; n < 200; n++) EXPECT_TRUE(tx.send("x"s, ipc::invalid_value));
    };
    const auto receive = [&] {
        for (int n = 0; n < 200; n++) {
            EXPECT_EQ(text_of(rx.recv()), "x");
            received++;
        }
    };
    for (int i = 0; i < 2; i++) {
        threads.emplace_back(send);
        threads.emplace_back(receive);
        fibers.push_back(blitz::spawn(send));
        fibers.push_back(blitz::spawn(receive));
    }
    for (auto& thread : threads) thread.join();
    for (auto& fiber : fibers) fiber.join();
    EXPECT_EQ(received, 800);
}

TEST(LibipcChannel, DisconnectEndsACallThatReceives) {
    const std::string name = new_name();
    ipc::channel rx(name.c_str(), ipc::receiver);
    std::atomic<bool> begun{false};
    std::thread receives([&] {
        begun = true;
        EXPECT_TRUE(rx.recv().empty());
    });
    while (!begun) std::this_thread::yield();
    rx.disconnect();
    receives.join();
    EXPECT_TRUE(rx.recv().empty());
    EXPECT_TRUE(rx.connect(name.c_str(), ipc::receiver));
    // A receiver waits on when all senders have gone.
    { EXPECT_TRUE(ipc::channel(name.c_str()).send("one")); }
    EXPECT_EQ(text_of(rx.recv()), "one");
    std::thread sends([&] { EXPECT_TRUE(ipc::channel(name.c_str()).send("two")); });
    EXPECT_EQ(text_of(rx.recv()), "two");
    sends.join();
}

TEST(LibipcUnicast, HandsEachMessageToItsReceiver) {
    using line = ipc::chan<ipc::relat::single, ipc::relat::single, ipc::trans::unicast>;
    const std::string name = new_name();
    line rx(name.c_str(), ipc::receiver);
    line tx(name.c_str());
    EXPECT_TRUE(tx.send("one"));
    EXPECT_EQ(text_of(rx.recv()), "one");
}

// The functions below the classes, which bindings of other languages use.
TEST(LibipcImpl, HasTheFunctionsOfAHandle) {
    using impl = ipc::chan_impl<ipc::wr<ipc::relat::multi, ipc::relat::multi, ipc::trans::broadcast>>;
    const std::string name = new_name();
    ipc::handle_t tx = impl::inited();
    ipc::handle_t rx = impl::inited();
    EXPECT_EQ(tx, nullptr);
    EXPECT_FALSE(impl::connect(nullptr, name.c_str(), ipc::sender));
    EXPECT_FALSE(impl::connect(&tx, "", ipc::sender));
    EXPECT_FALSE(impl::reconnect(&tx, ipc::sender));
    EXPECT_FALSE(impl::send(tx, "x", 1, 0));
    EXPECT_TRUE(impl::recv(rx, 0).empty());
    EXPECT_EQ(impl::name(tx), nullptr);
    impl::disconnect(tx);
    EXPECT_TRUE(impl::connect(&tx, ipc::prefix{"p"}, name.c_str(), ipc::sender));
    EXPECT_TRUE(impl::connect(&rx, ipc::prefix{"p"}, name.c_str(), ipc::receiver));
    EXPECT_STREQ(impl::name(tx), name.c_str());
    EXPECT_TRUE(impl::wait_for_recv(tx, 1, ipc::invalid_value));
    EXPECT_EQ(impl::recv_count(tx), 1U);
    EXPECT_TRUE(impl::send(tx, "one", 4, 100));
    EXPECT_TRUE(impl::try_send(tx, "two", 4, 100));
    EXPECT_EQ(text_of(impl::recv(rx, ipc::invalid_value)), "one");
    EXPECT_EQ(text_of(impl::try_recv(rx)), "two");
    EXPECT_TRUE(impl::connect(&rx, impl::name(rx), ipc::receiver));
    EXPECT_STREQ(impl::name(rx), name.c_str());
    EXPECT_TRUE(impl::reconnect(&rx, ipc::sender));
    EXPECT_TRUE(impl::try_recv(rx).empty());
    impl::destroy(rx);
    impl::destroy(tx);
    impl::destroy(nullptr);
}

TEST(LibipcProcesses, SurviveTheDeathOfOthers) {
    const std::string name = new_name();
    ipc::route rx(name.c_str(), ipc::receiver);
    const pid_t sends = in_child([&] {
        ipc::route tx(name.c_str());
        return tx.send("from the child") && pause() == 0;
    });
    EXPECT_EQ(text_of(rx.recv()), "from the child");
    ipc::route successor(name.c_str());
    EXPECT_FALSE(successor.send("too early"s, 0));
    kill_and_wait(sends);
    // The system tells the death of a process at once.
    EXPECT_TRUE(successor.send("from the successor"));
    EXPECT_EQ(text_of(rx.recv()), "from the successor");

    const pid_t receives = in_child([&] {
        ipc::route other(name.c_str(), ipc::receiver);
        return pause() == 0;
    });
    EXPECT_TRUE(successor.wait_for_recv(2));
    kill_and_wait(receives);
    // A dead receiver holds nothing up.
    for (int i = 0; i < 1000; i++) {
        EXPECT_TRUE(successor.send(&i, sizeof(i), ipc::invalid_value));
        EXPECT_EQ(*rx.recv().get<const int*>(), i);
    }
    EXPECT_EQ(successor.recv_count(), 1U);
}

// Both ends are killed in the middle, and nothing disconnects. The name works again at once, without phantoms.
template <class Chan>
void begins_again_after_all_have_died() {
    const std::string name = new_name();
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    for (int round = 0; round < 3; round++) {
        const pid_t receives = in_child([&] {
            Chan rx(name.c_str(), ipc::receiver);
            for (int i = 0; i < 1000; i++)
                if (rx.recv().empty()) return false;
            if (write(ready[1], "x", 1) != 1) return false;
            while (!rx.recv().empty()) {}
            return false;
        });
        const pid_t sends = in_child([&] {
            Chan tx(name.c_str(), ipc::sender);
            if (!tx.wait_for_recv(1)) return false;
            for (int i = 0;; i++) (void)tx.send(&i, sizeof(i), ipc::invalid_value);
        });
        char byte = 0;
        ASSERT_EQ(read(ready[0], &byte, 1), 1);
        kill_and_wait(round == 1 ? sends : receives);
        kill_and_wait(round == 1 ? receives : sends);

        Chan rx(name.c_str(), ipc::receiver);
        Chan tx(name.c_str(), ipc::sender);
        EXPECT_EQ(tx.recv_count(), 1U);
        EXPECT_TRUE(tx.send("again"));
        EXPECT_EQ(text_of(rx.recv()), "again");
    }
    close(ready[0]);
    close(ready[1]);
}

TEST(LibipcProcesses, BeginAgainAfterAllHaveDied) {
    begins_again_after_all_have_died<ipc::route>();
    begins_again_after_all_have_died<ipc::channel>();
}

// The clients of a service come and go, more of them than cpp-ipc has connections. Some end, and some are killed, before or
// after they have their answer.
TEST(LibipcProcesses, AnswerClientsThatComeAgainAndAgain) {
    const std::string name = new_name();
    const std::string questions = name + ".questions", answers = name + ".answers";
    const pid_t serves = in_child([&] {
        ipc::channel rx(questions.c_str(), ipc::receiver);
        ipc::channel tx(answers.c_str(), ipc::sender);
        for (;;) {
            const ipc::buff_t question = rx.recv();
            if (question.empty()) return false;
            tx.send(question);
        }
    });
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    enum { leaves, dies_before, dies_after, ways };
    for (int round = 0; round < 100; round++) {
        const int way = round % ways;
        const pid_t client = in_child([&] {
            const auto waits = [&] { return write(ready[1], "x", 1) == 1 && pause() == 0; };
            ipc::channel rx(answers.c_str(), ipc::receiver);
            ipc::channel tx(questions.c_str(), ipc::sender);
            if (!tx.wait_for_recv(1) || !tx.send(&round, sizeof(round))) return false;
            if (way == dies_before) return waits();
            int answer = -1;
            while (answer != round) {
                const ipc::buff_t message = rx.recv();
                if (message.empty()) return false;
                answer = *message.get<const int*>();
            }
            return way == leaves || waits();
        });
        char byte;
        if (way == leaves) {
            expect_success(client);
        } else {
            ASSERT_EQ(read(ready[0], &byte, 1), 1);
            kill_and_wait(client);
        }
    }
    kill_and_wait(serves);
    close(ready[0]);
    close(ready[1]);
}

TEST(LibipcShm, IsSharedAndCounted) {
    const std::string name = "libipc-" + std::to_string(getpid()) + "-shm";
    EXPECT_EQ(ipc::shm::acquire(nullptr, 8), nullptr);
    EXPECT_EQ(ipc::shm::acquire("", 8), nullptr);
    EXPECT_EQ(ipc::shm::acquire("a/b", 8), nullptr);
    EXPECT_EQ(ipc::shm::acquire(name.c_str(), 0), nullptr);
    EXPECT_EQ(ipc::shm::acquire(name.c_str(), SIZE_MAX), nullptr);
    EXPECT_EQ(ipc::shm::acquire(name.c_str(), 8, ipc::shm::open), nullptr);
    EXPECT_EQ(ipc::shm::get_mem(nullptr, nullptr), nullptr);
    EXPECT_EQ(ipc::shm::release(nullptr), -1);
    EXPECT_EQ(ipc::shm::get_ref(nullptr), 0);
    ipc::shm::sub_ref(nullptr);
    ipc::shm::remove(static_cast<ipc::shm::id_t>(nullptr));
    ipc::shm::remove(static_cast<const char*>(nullptr));

    ipc::shm::id_t id = ipc::shm::acquire(name.c_str(), 100, ipc::shm::create);
    ASSERT_NE(id, nullptr);
    EXPECT_EQ(ipc::shm::get_ref(id), 0);
    EXPECT_EQ(ipc::shm::acquire(name.c_str(), 100, ipc::shm::create), nullptr);
    EXPECT_EQ(ipc::shm::acquire(name.c_str(), 10000), nullptr);
    std::size_t size = 0;
    auto* const memory = static_cast<char*>(ipc::shm::get_mem(id, &size));
    ASSERT_NE(memory, nullptr);
    EXPECT_GE(size, 100U);
    EXPECT_EQ(memory[99], 0);
    memory[0] = 'x';
    {
        ipc::shm::handle other(name.c_str(), 64, ipc::shm::open);
        ASSERT_TRUE(other.valid());
        EXPECT_EQ(other.size(), size);
        EXPECT_STREQ(other.name(), name.c_str());
        EXPECT_EQ(other.ref(), 2);
        EXPECT_EQ(*static_cast<char*>(other.get()), 'x');
        other.sub_ref();
        EXPECT_EQ(ipc::shm::get_ref(id), 1);
        ipc::shm::handle moved(std::move(other));
        EXPECT_FALSE(other.valid());
        EXPECT_FALSE(moved.acquire("", 8));
        EXPECT_TRUE(moved.valid());
        other.attach(moved.detach());
        EXPECT_TRUE(other.valid());
        EXPECT_EQ(moved.release(), -1);
    }
    expect_success(in_child([&] {
        ipc::shm::handle child(name.c_str(), 100);
        return child.valid() && *static_cast<char*>(child.get()) == 'x';
    }));
    EXPECT_EQ(ipc::shm::release(id), 0);
    // The last user has removed it.
    EXPECT_EQ(ipc::shm::acquire(name.c_str(), 8, ipc::shm::open), nullptr);
}

TEST(LibipcShm, DoesNotOutliveKilledProcesses) {
    const std::string name = "/libipc-" + std::to_string(getpid()) + "-killed";
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    const pid_t child = in_child([&] {
        ipc::shm::handle handle(name.c_str(), 8);
        return handle.valid() && write(ready[1], "x", 1) == 1 && pause() == 0;
    });
    char byte = 0;
    ASSERT_EQ(read(ready[0], &byte, 1), 1);
    {
        const ipc::shm::handle handle(name.c_str(), 8);
        EXPECT_EQ(handle.ref(), 2);
        kill_and_wait(child);
    }
    EXPECT_EQ(ipc::shm::acquire(name.c_str(), 8, ipc::shm::open), nullptr);

    const pid_t other = in_child([&] {
        ipc::shm::handle handle(name.c_str(), 8);
        return handle.valid() && write(ready[1], "x", 1) == 1 && pause() == 0;
    });
    ASSERT_EQ(read(ready[0], &byte, 1), 1);
    kill_and_wait(other);
    // It is left, and as good as none.
    ipc::shm::handle handle(name.c_str(), 8, ipc::shm::create);
    EXPECT_TRUE(handle.valid());
    EXPECT_EQ(handle.ref(), 1);
    handle.clear();
    EXPECT_FALSE(handle.valid());
    ipc::shm::handle::clear_storage(name.c_str());
    close(ready[0]);
    close(ready[1]);
}

// Threads and fibers write in turns, and read together.
TEST(LibipcLocks, ExcludeThreadsAndFibers) {
    ipc::spin_lock spin;
    ipc::rw_lock shared;
    int spun = 0;
    int one = 0;
    int other = 0;
    const auto work = [&] {
        for (int i = 0; i < 300; i++) {
            const std::lock_guard own(spin);
            spun++;
            // In a fiber, the others of the thread run while it has the lock.
            if (i % 100 == 0) blitz::this_fiber::yield();
        }
        for (int i = 0; i < 300; i++) {
            if (i % 3 == 0) {
                const std::unique_lock own(shared);
                one++;
                if (i % 99 == 0) blitz::this_fiber::yield();
                other++;
            } else {
                const std::shared_lock own(shared);
                EXPECT_EQ(one, other);
            }
        }
    };
    std::thread thread(work);
    std::vector<blitz::join_handle<void>> fibers;
    for (int i = 0; i < 4; i++) fibers.push_back(blitz::spawn(work));
    // A cancelled one works to its end, as it would in a thread.
    auto cancelled = blitz::spawn([&] {
        const blitz::this_fiber::cancel_mask mask;
        work();
    });
    cancelled.cancel();
    cancelled.join();
    for (auto& fiber : fibers) fiber.join();
    thread.join();
    EXPECT_EQ(spun, 6 * 300);
    EXPECT_EQ(one, 6 * 100);
    EXPECT_EQ(other, 6 * 100);
}

TEST(LibipcLocks, LookAgain) {
    unsigned k = 0;
    for (int i = 0; i < 40; i++) ipc::yield(k);
    EXPECT_GE(k, 32U);
    int calls = 0;
    k = 0;
    for (int i = 0; i < 5; i++)
        ipc::sleep<3>(k, [&] {
            calls++;
            return true;
        });
    EXPECT_EQ(calls, 2);
    ipc::sleep<3>(k);
}

TEST(LibipcMem, MakesAndDestroysObjects) {
    struct counted {
        explicit counted(int& count) : count_(count) { count_++; }
        counted(const counted&) = delete;
        counted& operator=(const counted&) = delete;
        ~counted() { count_--; }

        int& count_;
    };
    int count = 0;
    auto* const one = ipc::mem::alloc<counted>(count);
    EXPECT_EQ(count, 1);
    ipc::mem::free(one);
    ipc::mem::free(static_cast<counted*>(nullptr));
    EXPECT_EQ(count, 0);
    using three = counted[3];
    void* const memory = ipc::mem::alloc(sizeof(three));
    ASSERT_NE(memory, nullptr);
    auto* const made = ipc::mem::construct<three>(memory, count);
    EXPECT_EQ(count, 3);
    ipc::mem::destruct(made);
    EXPECT_EQ(count, 0);
    ipc::mem::free(memory, sizeof(three));
    ipc::mem::pool_alloc::free(ipc::mem::pool_alloc::alloc(8), 8);
}

TEST(LibipcMutex, ExcludesThreadsFibersAndProcesses) {
    const std::string name = new_name();
    ipc::sync::mutex mutex(name.c_str());
    ASSERT_TRUE(mutex.valid());
    EXPECT_NE(mutex.native(), nullptr);
    ipc::shm::handle memory(("libipc-count-" + std::to_string(getpid())).c_str(), sizeof(long));
    auto* const count = static_cast<long*>(memory.get());
    const auto work = [&] {
        ipc::sync::mutex own(name.c_str());
        for (int i = 0; i < 1000; i++) {
            const std::lock_guard<ipc::sync::mutex> lock(own);
            ++*count;
        }
        return true;
    };
    const pid_t child = in_child(work);
    std::thread thread(work);
    auto one = blitz::spawn(work);
    auto other = blitz::spawn([&] {
        for (int i = 0; i < 1000; i++) {
            EXPECT_TRUE(mutex.lock());
            ++*count;
            // Other fibers of this thread want it in that time.
            if (i % 100 == 0) blitz::this_fiber::yield();
            EXPECT_TRUE(mutex.unlock());
        }
    });
    thread.join();
    one.join();
    other.join();
    expect_success(child);
    EXPECT_EQ(*count, 4000);

    EXPECT_TRUE(mutex.try_lock());
    EXPECT_FALSE(mutex.try_lock());
    std::thread([&] {
        EXPECT_FALSE(mutex.lock(0));
        EXPECT_FALSE(mutex.lock(5));
        EXPECT_FALSE(mutex.unlock());
    }).join();
    EXPECT_TRUE(mutex.unlock());
    EXPECT_FALSE(mutex.unlock());
}

TEST(LibipcMutex, GoesOnWhenItsOwnerDies) {
    const std::string name = new_name();
    ipc::sync::mutex mutex(name.c_str());
    int locked[2];
    ASSERT_EQ(pipe(locked), 0);
    const pid_t child = in_child([&] {
        ipc::sync::mutex own(name.c_str());
        return own.lock() && write(locked[1], "x", 1) == 1 && pause() == 0;
    });
    char byte = 0;
    ASSERT_EQ(read(locked[0], &byte, 1), 1);
    EXPECT_FALSE(mutex.lock(1));
    kill_and_wait(child);
    EXPECT_TRUE(mutex.lock());
    EXPECT_TRUE(mutex.unlock());
    mutex.clear();
    EXPECT_FALSE(mutex.valid());
    EXPECT_EQ(mutex.native(), nullptr);
    EXPECT_FALSE(mutex.lock());
    EXPECT_FALSE(mutex.try_lock());
    EXPECT_FALSE(mutex.unlock());
    EXPECT_FALSE(mutex.open(nullptr));
    EXPECT_FALSE(mutex.open(""));
    ipc::sync::mutex::clear_storage(name.c_str());
    ipc::sync::mutex::clear_storage(nullptr);
    close(locked[0]);
    close(locked[1]);
}

TEST(LibipcCondition, WakesProcessesThreadsAndFibers) {
    const std::string name = new_name();
    ipc::sync::mutex mutex(name.c_str());
    ipc::sync::condition changed(name.c_str());
    ASSERT_TRUE(changed.valid());
    EXPECT_NE(changed.native(), nullptr);
    ipc::shm::handle memory(("libipc-turn-" + std::to_string(getpid())).c_str(), sizeof(int));
    auto* const turn = static_cast<int*>(memory.get());
    const auto play = [&](int me) {
        ipc::sync::mutex own_mutex(name.c_str());
        ipc::sync::condition own(name.c_str());
        for (int round = 0; round < 50; round++) {
            if (!own_mutex.lock()) return false;
            while (*turn != round * 3 + me)
                if (!own.wait(own_mutex)) return false;
            ++*turn;
            if (!own.broadcast(own_mutex) || !own_mutex.unlock()) return false;
        }
        return true;
    };
    const pid_t child = in_child([&] { return play(0); });
    std::thread thread([&] { EXPECT_TRUE(play(1)); });
    auto fiber = blitz::spawn([&] { EXPECT_TRUE(play(2)); });
    thread.join();
    fiber.join();
    expect_success(child);
    EXPECT_EQ(*turn, 150);

    EXPECT_FALSE(changed.wait(mutex, 0)) << "the mutex is not locked";
    ASSERT_TRUE(mutex.lock());
    EXPECT_FALSE(changed.wait(mutex, 0));
    EXPECT_FALSE(changed.wait(mutex, 1));
    std::thread notifies([&] {
        const std::lock_guard<ipc::sync::mutex> lock(mutex);
        EXPECT_TRUE(changed.notify(mutex));
    });
    // Nothing else wakes, as the mutex is locked until the wait.
    EXPECT_TRUE(changed.wait(mutex));
    EXPECT_TRUE(mutex.unlock());
    notifies.join();
    changed.clear();
    EXPECT_FALSE(changed.valid());
    EXPECT_FALSE(changed.wait(mutex));
    EXPECT_FALSE(changed.notify(mutex));
    EXPECT_FALSE(changed.broadcast(mutex));
    EXPECT_FALSE(changed.open(""));
    ipc::sync::condition::clear_storage(name.c_str());
}

TEST(LibipcSemaphore, CountsForAllProcesses) {
    const std::string name = new_name();
    ipc::sync::semaphore permits(name.c_str(), 2);
    ASSERT_TRUE(permits.valid());
    EXPECT_NE(permits.native(), nullptr);
    // The number is for the first that opens it.
    ipc::sync::semaphore same(name.c_str(), 100);
    EXPECT_TRUE(same.wait());
    EXPECT_TRUE(permits.wait(0));
    EXPECT_FALSE(same.wait(0));
    EXPECT_FALSE(permits.wait(1));
    const pid_t child = in_child([&] {
        ipc::sync::semaphore own(name.c_str());
        for (int i = 0; i < 300; i++)
            if (!own.post()) return false;
        return true;
    });
    std::thread thread([&] {
        for (int i = 0; i < 100; i++) EXPECT_TRUE(permits.wait());
    });
    auto fiber = blitz::spawn([&] {
        for (int i = 0; i < 100; i++) EXPECT_TRUE(same.wait());
    });
    for (int i = 0; i < 100; i++) EXPECT_TRUE(permits.wait());
    thread.join();
    fiber.join();
    expect_success(child);
    EXPECT_FALSE(permits.wait(0));
    EXPECT_TRUE(permits.post(INT32_MAX));
    EXPECT_FALSE(permits.post());
    EXPECT_FALSE(permits.post(UINT32_MAX));
    EXPECT_FALSE(same.open(name.c_str(), UINT32_MAX));
    EXPECT_FALSE(same.valid());
    permits.clear();
    EXPECT_FALSE(permits.valid());
    EXPECT_FALSE(permits.wait());
    EXPECT_FALSE(permits.post());
    EXPECT_EQ(permits.native(), nullptr);
    ipc::sync::semaphore::clear_storage(name.c_str());
}

}  // namespace
