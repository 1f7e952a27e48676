// A client library that knows nothing of fibers waits in one: hiredis, through blitz::wait_fd.
//
// The program starts a server of its own (redis-server) on a Unix socket in a new folder.
#include <hiredis/hiredis.h>
#include <unistd.h>

#include <blitz/blitz.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace {

constexpr int client_count = 16;
constexpr int command_count = 100;

struct freed {
    void operator()(redisContext* context) const noexcept { redisFree(context); }
    void operator()(redisReply* reply) const noexcept { freeReplyObject(reply); }
};
using reply = std::unique_ptr<redisReply, freed>;

// A connection whose commands suspend the calling fiber only.
class connection {
public:
    explicit connection(const std::string& path) : context_(redisConnectUnixNonBlock(path.c_str())) {
        must(context_ != nullptr && context_->err == 0);
    }

    // hiredis gives the steps of its blocking function one by one for a non-blocking connection.
    reply command(const std::string& text) {
        must(redisAppendCommand(context_.get(), text.c_str()) == REDIS_OK);
        for (int done = 0; done == 0;) {
            must(redisBufferWrite(context_.get(), &done) == REDIS_OK);
            if (done == 0) blitz::wait_fd(context_->fd, blitz::fd_events::write);
        }
        for (;;) {
            void* found = nullptr;
            must(redisGetReplyFromReader(context_.get(), &found) == REDIS_OK);
            if (found != nullptr) return reply(static_cast<redisReply*>(found));
            blitz::wait_fd(context_->fd, blitz::fd_events::read);
            must(redisBufferRead(context_.get()) == REDIS_OK);
        }
    }

private:
    static void must(bool holds) {
        if (!holds) throw std::runtime_error("hiredis");
    }

    std::unique_ptr<redisContext, freed> context_;
};

void add(const std::string& path, int number) {
    connection server(path);
    for (int i = 0; i < command_count; i++)
        if (server.command("INCRBY sum " + std::to_string(number))->type != REDIS_REPLY_INTEGER)
            throw std::runtime_error("INCRBY");
}

void wait_for_server(const std::string& path) {
    for (;;) {
        try {
            (void)blitz::connect_unix(path);
            return;
        } catch (const blitz::error&) {
            blitz::this_fiber::sleep_for(10ms);
        }
    }
}

}  // namespace

int main() {
    std::string folder = "/tmp/blitz-redis-XXXXXX";
    if (mkdtemp(folder.data()) == nullptr) return 1;
    const std::string path = folder + "/socket";
    blitz::process_options options;
    options.program = "redis-server";
    options.arguments = {"--port", "0", "--unixsocket", path, "--save", ""};
    options.directory = folder;
    options.output = blitz::stdio::null;
    options.kill_at_exit = true;
    blitz::process server(options);
    wait_for_server(path);

    std::vector<blitz::join_handle<void>> clients;
    for (int i = 1; i <= client_count; i++) clients.push_back(blitz::spawn(add, path, i));
    for (auto& client : clients) client.join();
    const std::string sum = connection(path).command("GET sum")->str;
    std::printf("%d fibers added up to %s in the server\n", client_count, sum.c_str());

    server.kill();
    (void)server.wait();
    unlink(path.c_str());
    rmdir(folder.c_str());
    if (std::stol(sum) != long{command_count} * client_count * (client_count + 1) / 2) std::abort();
}
