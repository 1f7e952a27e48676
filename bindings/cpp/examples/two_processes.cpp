// Two processes over a route.
#include <sys/wait.h>
#include <unistd.h>

#include <blitz/blitz.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

struct tick {
    std::uint64_t number = 0;
    double price = 0;
};

}  // namespace

int main() {
    const std::string name = "cpp-example-" + std::to_string(getpid());
    blitz::ipc::route<tick>::receiver receiver(name);
    const pid_t child = fork();
    if (child == 0) {
        blitz::ipc::route<tick>::sender sender(name);
        for (std::uint64_t i = 0; i < 1000; i++) {
            auto message = sender.borrow();
            message->number = i;
            message->price = 0.5 * static_cast<double>(i);
            message.send();
        }
        _exit(0);
    }
    std::uint64_t expected = 0;
    // It ends when the sender's process has ended.
    while (const auto message = receiver.recv())
        if (message->number != expected++) std::abort();
    int status = -1;
    if (waitpid(child, &status, 0) != child || status != 0 || expected != 1000) std::abort();
    std::printf("%d messages\n", static_cast<int>(expected));
}
