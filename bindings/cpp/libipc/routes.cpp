// One program for cpp-ipc and for our headers with its interface: messages from processes to processes, and what
// arrives of them.
//
//     routes route|channel SENDERS RECEIVERS BYTES MESSAGES
//
// Prints, as JSON, the nanoseconds for each message that was sent, how many sends returned true, how many messages
// the receiver with the fewest got, and whether all came in order and unharmed.
#include <libipc/ipc.h>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr int most = 16;

// Shared by all processes of a run.
struct board {
    std::atomic<int> connected{0};
    std::atomic<bool> go{false};
    std::atomic<int> senders_done{0};
    std::atomic<std::uint64_t> sent{0};
    std::atomic<std::uint64_t> last_ns{0};
    std::atomic<std::uint64_t> received[most] = {};
    std::atomic<bool> harmed{false};
};

struct head {
    std::uint64_t sender, number;
};

std::uint64_t now_ns() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

template <class Chan>
int send_all(board& board, const std::string& name, int id, int receivers, std::size_t bytes, std::uint64_t count) {
    Chan chan(name.c_str(), ipc::sender);
    if (!chan.wait_for_recv(static_cast<std::size_t>(receivers))) return 1;
    std::vector<unsigned char> message(bytes, static_cast<unsigned char>(id));
    board.connected++;
    while (!board.go) usleep(100);
    for (std::uint64_t number = 0; number < count; number++) {
        const head head{static_cast<std::uint64_t>(id), number};
        std::memcpy(message.data(), &head, sizeof(head));
        if (chan.send(message.data(), message.size())) board.sent++;
    }
    board.senders_done++;
    // Until the receivers have everything: the end of a sender must not matter.
    while (board.senders_done >= 0) usleep(1000);
    return 0;
}

template <class Chan>
int receive_all(board& board, const std::string& name, int id, int senders, std::size_t bytes) {
    Chan chan(name.c_str(), ipc::receiver);
    std::uint64_t next[most] = {};
    for (;;) {
        const auto message = chan.recv(500);
        if (message.empty()) {
            // What has not come for half a second after the last send does not come any more.
            if (board.senders_done == senders) return 0;
            continue;
        }
        head head{};
        std::memcpy(&head, message.data(), sizeof(head));
        const auto* const data = static_cast<const unsigned char*>(message.data());
        const bool is_whole = message.size() == bytes && head.sender < most &&
                              (bytes == sizeof(head) || data[bytes - 1] == head.sender);
        if (!is_whole || head.number < next[head.sender]) board.harmed = true;
        else next[head.sender] = head.number + 1;
        board.received[id]++;
        board.last_ns = now_ns();
    }
}

template <class Chan>
int run(int senders, int receivers, std::size_t bytes, std::uint64_t count) {
    void* const memory = mmap(nullptr, sizeof(board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return 1;
    board& board = *new (memory) struct board;
    const std::string name = "routes-" + std::to_string(getpid());
    std::vector<pid_t> sending, receiving;
    for (int i = 0; i < receivers; i++) {
        const pid_t child = fork();
        if (child == 0) _exit(receive_all<Chan>(board, name, i, senders, bytes));
        receiving.push_back(child);
    }
    for (int i = 0; i < senders; i++) {
        const pid_t child = fork();
        if (child == 0) _exit(send_all<Chan>(board, name, i, receivers, bytes, count));
        sending.push_back(child);
    }
    while (board.connected < senders) usleep(100);
    const std::uint64_t begin = now_ns();
    board.go = true;
    int failed = 0;
    const auto join = [&](const std::vector<pid_t>& children) {
        for (const pid_t child : children) {
            int status = -1;
            if (waitpid(child, &status, 0) != child || status != 0) failed++;
        }
    };
    join(receiving);
    board.senders_done = -1;
    join(sending);
    Chan::clear_storage(name.c_str());
    std::uint64_t fewest = UINT64_MAX;
    for (int i = 0; i < receivers; i++)
        if (board.received[i] < fewest) fewest = board.received[i];
    const double all = static_cast<double>(count) * senders;
    std::printf("{\"ns\": %.1f, \"messages\": %.0f, \"sent\": %llu, \"fewest\": %llu, \"harmed\": %s}\n",
                static_cast<double>(board.last_ns - begin) / all, all,
                static_cast<unsigned long long>(board.sent.load()), static_cast<unsigned long long>(fewest),
                board.harmed ? "true" : "false");
    return failed == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 6) return 2;
    const int senders = std::atoi(argv[2]), receivers = std::atoi(argv[3]);
    const std::size_t bytes = std::strtoul(argv[4], nullptr, 10);
    const std::uint64_t count = std::strtoul(argv[5], nullptr, 10);
    if (senders < 1 || senders > most || receivers < 1 || receivers > most || bytes < sizeof(head)) return 2;
    if (std::strcmp(argv[1], "route") == 0) return run<ipc::route>(senders, receivers, bytes, count);
    return run<ipc::channel>(senders, receivers, bytes, count);
}
