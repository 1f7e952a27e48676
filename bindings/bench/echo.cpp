// Servers that send 64 bytes back. The client is the same for all: blocking sockets, a thread for
// each connection. A server lives until the end of the process.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <blitz/listener.hpp>
#include <blitz/spawn.hpp>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <boost/asio.hpp>
#include <uv.h>

#include "measure.hpp"

namespace {

constexpr std::size_t message = 64;

class client {
public:
    explicit client(std::uint16_t port) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) std::abort();
        const int on = 1;
        setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    }
    client(const client&) = delete;
    client& operator=(const client&) = delete;
    ~client() { close(fd_); }

    // Returns `true` if the bytes came back.
    bool echo(unsigned char first) const {
        unsigned char bytes[message] = {first};
        if (send(fd_, bytes, sizeof(bytes), 0) != sizeof(bytes)) return false;
        bytes[0] = 0;
        return recv(fd_, bytes, sizeof(bytes), MSG_WAITALL) == sizeof(bytes) && bytes[0] == first;
    }

private:
    int fd_;
};

bench::work talks(std::uint16_t port, std::size_t connections) {
    return [port, connections](std::size_t n) {
        std::vector<std::unique_ptr<client>> clients;
        for (std::size_t i = 0; i < connections; i++)
            clients.push_back(std::make_unique<client>(port));
        // The server has accepted all when each has its echo.
        for (const auto& each : clients)
            if (!each->echo(1)) return bench::result{};
        return bench::in_threads(connections, [&](std::size_t thread) {
            std::size_t done = 0;
            for (std::size_t i = bench::share(n, connections, thread); i > 0; i--)
                done += clients[thread]->echo(static_cast<unsigned char>(i)) ? 1 : 0;
            return done;
        });
    };
}

std::uint16_t blitz_server() {
    auto* const listener = new blitz::listener(blitz::listen_tcp("127.0.0.1:0"));
    blitz::spawn([listener] {
        for (;;)
            blitz::spawn([stream = listener->accept()]() mutable {
                stream.set_nodelay(true);
                char bytes[1024];
                while (const std::size_t count = stream.read(bytes, sizeof(bytes)))
                    stream.write_all(bytes, count);
            }).detach();
    }).detach();
    return listener->local_address().port();
}

namespace asio = boost::asio;

class asio_session : public std::enable_shared_from_this<asio_session> {
public:
    explicit asio_session(asio::ip::tcp::socket socket) : socket_(std::move(socket)) {
        socket_.set_option(asio::ip::tcp::no_delay(true));
    }

    void read() {
        socket_.async_read_some(asio::buffer(bytes_), [self = shared_from_this()](
                                                          auto error, std::size_t count) {
            if (!error) self->write(count);
        });
    }

private:
    void write(std::size_t count) {
        asio::async_write(socket_, asio::buffer(bytes_, count),
                          [self = shared_from_this()](auto error, std::size_t) {
                              if (!error) self->read();
                          });
    }

    asio::ip::tcp::socket socket_;
    char bytes_[1024];
};

void asio_accept(asio::ip::tcp::acceptor& acceptor) {
    acceptor.async_accept([&acceptor](auto error, asio::ip::tcp::socket socket) {
        if (error) return;
        std::make_shared<asio_session>(std::move(socket))->read();
        asio_accept(acceptor);
    });
}

std::uint16_t asio_server() {
    auto* const context = new asio::io_context();
    auto* const acceptor = new asio::ip::tcp::acceptor(
        *context, asio::ip::tcp::endpoint(asio::ip::address_v4::loopback(), 0));
    asio_accept(*acceptor);
    for (unsigned i = 0; i < std::thread::hardware_concurrency(); i++)
        std::thread([context] { context->run(); }).detach();
    return acceptor->local_endpoint().port();
}

struct uv_session {
    uv_tcp_t socket;
    uv_write_t write;
    char bytes[1024];
};

uv_session* session_of(uv_stream_t* stream) { return static_cast<uv_session*>(stream->data); }

void uv_read(uv_stream_t* stream, ssize_t count, const uv_buf_t* /*buffer*/) {
    uv_session* const session = session_of(stream);
    if (count < 0) {
        uv_close(reinterpret_cast<uv_handle_t*>(stream),
                 [](uv_handle_t* handle) { delete static_cast<uv_session*>(handle->data); });
        return;
    }
    uv_buf_t bytes = uv_buf_init(session->bytes, static_cast<unsigned>(count));
    uv_write(&session->write, stream, &bytes, 1, [](uv_write_t*, int) {});
}

void uv_connected(uv_stream_t* server, int status) {
    if (status != 0) return;
    auto* const session = new uv_session();
    uv_tcp_init(server->loop, &session->socket);
    session->socket.data = session;
    auto* const stream = reinterpret_cast<uv_stream_t*>(&session->socket);
    uv_accept(server, stream);
    uv_tcp_nodelay(&session->socket, 1);
    uv_read_start(
        stream,
        [](uv_handle_t* handle, std::size_t, uv_buf_t* buffer) {
            auto* const session = static_cast<uv_session*>(handle->data);
            *buffer = uv_buf_init(session->bytes, sizeof(session->bytes));
        },
        uv_read);
}

std::uint16_t uv_server() {
    auto* const loop = new uv_loop_t();
    auto* const server = new uv_tcp_t();
    uv_loop_init(loop);
    uv_tcp_init(loop, server);
    sockaddr_in address{};
    uv_ip4_addr("127.0.0.1", 0, &address);
    uv_tcp_bind(server, reinterpret_cast<sockaddr*>(&address), 0);
    uv_listen(reinterpret_cast<uv_stream_t*>(server), 128, uv_connected);
    int len = sizeof(address);
    uv_tcp_getsockname(server, reinterpret_cast<sockaddr*>(&address), &len);
    std::thread([loop] { uv_run(loop, UV_RUN_DEFAULT); }).detach();
    return ntohs(address.sin_port);
}

// The port of a server, which starts with the first call.
std::uint16_t port_of(std::uint16_t (*start)()) {
    static std::mutex lock;
    static std::map<std::uint16_t (*)(), std::uint16_t> ports;
    const std::lock_guard<std::mutex> guard(lock);
    const auto [entry, is_new] = ports.try_emplace(start, 0);
    if (is_new) entry->second = start();
    return entry->second;
}

}  // namespace

std::vector<bench::row> bench::echo_rows() {
    std::vector<row> rows;
    for (const std::size_t connections : {1, 16}) {
        row each{"cpp_echo_" + std::to_string(connections),
                 "Echo over TCP, " + std::to_string(connections) +
                     (connections == 1 ? " connection" : " connections"),
                 std::thread::hardware_concurrency(),
                 4'000,
                 {}};
        const auto contend = [&](const char* name, std::uint16_t (*start)()) {
            // The server starts when it is measured first.
            each.contenders.push_back({name, [start, connections](std::size_t n) {
                                           return talks(port_of(start), connections)(n);
                                       }});
        };
        contend("blitz-io", blitz_server);
        contend("Boost.Asio", asio_server);
        contend("libuv", uv_server);
        rows.push_back(std::move(each));
    }
    return rows;
}
