// An echo server in blocking style: each connection has a fiber. It serves its own clients and ends.
#include <blitz/blitz.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace {

void serve(blitz::stream stream) {
    char buffer[4096];
    while (const std::size_t count = stream.read(buffer, sizeof buffer))
        stream.write_all(buffer, count);
}

void accept_connections(blitz::listener& listener) {
    for (;;) blitz::spawn(serve, listener.accept()).detach();
}

void talk(const blitz::address& address) {
    auto stream = blitz::connect_tcp(address);
    for (int i = 0; i < 100; i++) {
        const std::string sent = "message " + std::to_string(i);
        std::string received(sent.size(), 0);
        stream.write_all(sent);
        stream.read_exact(received.data(), received.size());
        if (received != sent) std::abort();
    }
}

}  // namespace

int main() {
    blitz::runtime runtime;
    auto listener = blitz::listen_tcp("127.0.0.1:0");
    auto server = runtime.spawn([&] { accept_connections(listener); });
    std::vector<blitz::join_handle<void>> clients;
    for (int i = 0; i < 64; i++) clients.push_back(runtime.spawn(talk, listener.local_address()));
    for (auto& client : clients) client.join();
    server.cancel();
    try {
        server.join();
    } catch (const blitz::canceled&) {
        std::puts("64 clients got their echo");
    }
}
