// Sockets and files.
#include <gtest/gtest.h>
#include <unistd.h>

#include <blitz/blitz.hpp>
#include <cstdlib>
#include <string>

using namespace std::chrono_literals;

namespace {

TEST(Tcp, EchoesToAFiberAndToAThread) {
    auto listener = blitz::listen_tcp("127.0.0.1:0");
    EXPECT_FALSE(listener.try_accept());
    EXPECT_FALSE(listener.accept_for(1ms));
    EXPECT_FALSE(listener.accept_until(std::chrono::steady_clock::now() + 1ms));
    auto server = blitz::spawn([&] {
        for (int i = 0; i < 2; i++)
            blitz::spawn([stream = listener.accept()]() mutable {
                char buffer[100];
                while (const std::size_t count = stream.read(buffer, sizeof buffer))
                    stream.write_all(buffer, count);
            }).detach();
    });
    const auto talk = [address = listener.local_address()] {
        auto stream = blitz::connect_tcp(address);
        stream.set_nodelay(true);
        EXPECT_EQ(stream.peer_address().to_string(), address.to_string());
        EXPECT_NE(stream.local_address().port(), address.port());
        char answer[5];
        EXPECT_FALSE(stream.try_read(answer, 5));
        EXPECT_FALSE(stream.read_for(answer, 5, 1ms));
        EXPECT_FALSE(stream.read_until(answer, 5, std::chrono::system_clock::now() + 1ms));
        stream.write_all("hello");
        stream.read_exact(answer, sizeof answer);
        EXPECT_EQ(std::string(answer, 5), "hello");
        EXPECT_EQ(stream.write_all_for("yo", 2, 1h), 2U);
        EXPECT_EQ(stream.write_all_until("u", 1, std::chrono::system_clock::now() + 1h), 1U);
        stream.shutdown(blitz::direction::write);
        stream.read_exact(answer, 3);
        try {
            stream.read_exact(answer, 1);
            ADD_FAILURE();
        } catch (const blitz::error& error) {
            EXPECT_EQ(error.code(), blitz::errc::eof);
        }
    };
    auto client = blitz::spawn(talk);
    talk();
    client.join();
    server.join();
}

TEST(Tcp, ThrowsTheErrorOfTheSystem) {
    std::string refused;
    {
        const auto listener = blitz::listen_tcp("127.0.0.1:0");
        refused = listener.local_address().to_string();
    }
    try {
        (void)blitz::connect_tcp(refused, 1h);
        FAIL();
    } catch (const std::system_error& error) {
        EXPECT_EQ(error.code(), std::errc::connection_refused);
    }
    EXPECT_THROW((void)blitz::connect_tcp("no port"), blitz::error);
    EXPECT_THROW(blitz::address("no address"), blitz::error);
    EXPECT_EQ(blitz::address("[::1]:80").port(), 80);
    ASSERT_FALSE(blitz::resolve("127.0.0.1:9").empty());
}

TEST(Unix, ConnectsPairsAndPaths) {
    auto [one, other] = blitz::unix_pair();
    one.write_all("ab");
    char buffer[2];
    other.read_exact(buffer, 2);
    EXPECT_EQ(std::string(buffer, 2), "ab");
    const std::string path = "/tmp/blitz-cpp-" + std::to_string(getpid()) + ".socket";
    {
        auto listener = blitz::listen_unix(path);
        auto client = blitz::spawn([&] { blitz::connect_unix(path).write_all("x"); });
        auto accepted = listener.accept();
        EXPECT_EQ(accepted.read(buffer, 2), 1U);
        client.join();
    }
    EXPECT_EQ(unlink(path.c_str()), 0);
}

TEST(Udp, SendsDatagrams) {
    blitz::udp_socket one("127.0.0.1:0");
    blitz::udp_socket other("127.0.0.1:0");
    char buffer[8];
    EXPECT_FALSE(one.recv_from_for(buffer, sizeof buffer, 1ms));
    EXPECT_FALSE(
        one.recv_from_until(buffer, sizeof buffer, std::chrono::steady_clock::now() + 1ms));
    other.send_to("ping", 4, one.local_address());
    const auto got = one.recv_from(buffer, sizeof buffer);
    EXPECT_EQ(std::string(buffer, got.size), "ping");
    EXPECT_EQ(got.from.to_string(), other.local_address().to_string());
}

// A descriptor of another library, which is non-blocking.
TEST(Fd, IsWaitedForInAFiberAndInAThread) {
    using blitz::fd_events;
    const auto work = [] {
        auto [one, other] = blitz::unix_pair();
        const int fd = one.fd();
        EXPECT_EQ(blitz::wait_fd(fd, fd_events::write), fd_events::write);
        EXPECT_FALSE(blitz::wait_fd_for(fd, fd_events::read, 1ms));
        EXPECT_FALSE(blitz::wait_fd_until(fd, fd_events::read, std::chrono::system_clock::now()));
        blitz::fd_watch watch(fd);
        EXPECT_FALSE(watch.wait_for(fd_events::read, 1ms));
        EXPECT_FALSE(watch.wait_until(fd_events::read, std::chrono::steady_clock::now()));
        auto writer = blitz::spawn([&other = other] {
            blitz::this_fiber::sleep_for(1ms);
            other.write_all("x");
        });
        EXPECT_EQ(blitz::wait_fd(fd, fd_events::read), fd_events::read);
        watch.wait(fd_events::read | fd_events::write);
        EXPECT_TRUE(watch.wait_for(fd_events::read, 1h));
        writer.join();
        { const auto gone = std::move(other); }
        EXPECT_EQ(blitz::wait_fd(fd, fd_events::read) & fd_events::hangup, fd_events::hangup);
    };
    work();
    blitz::spawn(work).join();
    try {
        (void)blitz::wait_fd(-1, fd_events::read);
        ADD_FAILURE();
    } catch (const blitz::error& error) {
        EXPECT_EQ(error.code(), std::errc::bad_file_descriptor);
    }
    EXPECT_THROW((void)blitz::wait_fd(0, fd_events::none), blitz::error);
    EXPECT_THROW(blitz::fd_watch(-1), blitz::error);
}

TEST(File, ReadsWhatWasWritten) {
    const std::string path = "/tmp/blitz-cpp-" + std::to_string(getpid()) + ".file";
    const auto work = [&] {
        using blitz::open_mode;
        blitz::file file(path, open_mode::read | open_mode::write | open_mode::create_new);
        file.write("one two");
        EXPECT_EQ(file.size(), 7U);
        EXPECT_EQ(file.seek(4), 4U);
        char text[16];
        EXPECT_EQ(file.read(text, sizeof text), 3U);
        EXPECT_EQ(std::string(text, 3), "two");
        EXPECT_EQ(file.read(text, sizeof text), 0U);
        file.resize(3);
        EXPECT_EQ(file.seek(0, blitz::seek_from::end), 3U);
        file.sync();
        try {
            const blitz::file again(path, open_mode::write | open_mode::create_new);
            ADD_FAILURE();
        } catch (const std::system_error& error) {
            EXPECT_EQ(error.code(), std::errc::file_exists);
        }
        EXPECT_EQ(unlink(path.c_str()), 0);
    };
    work();
    blitz::spawn(work).join();
}

}  // namespace
