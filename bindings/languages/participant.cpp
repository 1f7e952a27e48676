// A participant in a segment that programs in four languages share, in C++, with the interface of
// cpp-ipc. README.md has the protocol. The headers form the name of the segment and the parts of messages.
#include <libipc/ipc.h>

#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t max_padding = 300;
constexpr std::uint64_t fnv_start = 0xcbf29ce484222325U;

struct numbered {
    std::uint64_t sender, number, is_last, checksum;
};

std::uint64_t fnv(std::uint64_t hash, const void* bytes, std::size_t len) {
    for (std::size_t i = 0; i < len; i++)
        hash = (hash ^ static_cast<const unsigned char*>(bytes)[i]) * 0x100000001b3U;
    return hash;
}

[[noreturn]] void fail(const char* what) {
    std::fprintf(stderr, "%s\n", what);
    std::exit(1);
}

void say(const std::string& line) {
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
}

void wait_for_line() {
    for (int each = std::getchar(); each != '\n' && each != EOF;) each = std::getchar();
}

std::size_t padding_of(const numbered& head) {
    return static_cast<std::size_t>((head.sender * 31 + head.number * 7) % max_padding);
}

std::uint64_t checksum(const numbered& head, const unsigned char* padding, std::size_t len) {
    return fnv(fnv(fnv_start, &head.sender, 3 * sizeof(std::uint64_t)), padding, len);
}

// Connects, again while the sender before still holds the only place.
template <class Chan>
void connect(Chan& chan, const char* name, unsigned mode) {
    while (!chan.connect(name, mode)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    say("joined");
}

template <class Chan>
void send_one(Chan& chan, std::uint64_t id, std::uint64_t number, bool is_last) {
    numbered head{id, number, is_last ? 1U : 0U, 0};
    std::vector<unsigned char> message(sizeof(head) + padding_of(head));
    unsigned char* const padding = message.data() + sizeof(head);
    const std::size_t len = message.size() - sizeof(head);
    for (std::size_t i = 0; i < len; i++) padding[i] = static_cast<unsigned char>(number + i);
    head.checksum = checksum(head, padding, len);
    std::memcpy(message.data(), &head, sizeof(head));
    if (!chan.send(message.data(), message.size(), ipc::invalid_value)) fail("send");
}

template <class Chan>
void send_all(const char* name, std::uint64_t id, const std::vector<std::uint64_t>& phases) {
    Chan chan;
    connect(chan, name, ipc::sender);
    std::uint64_t number = 0;
    for (std::size_t phase = 0; phase < phases.size(); phase++) {
        wait_for_line();
        const std::uint64_t end = phases[phase] == 0 ? UINT64_MAX : number + phases[phase];
        while (number < end) {
            send_one(chan, id, number, phase + 1 == phases.size() && number + 1 == end);
            if (++number % 64 == 0) say("at " + std::to_string(number));
        }
        say("sent " + std::to_string(number));
    }
}

numbered decode(const ipc::buff_t& message) {
    numbered head{};
    if (message.size() < sizeof(head)) fail("a short message");
    std::memcpy(&head, message.data(), sizeof(head));
    const unsigned char* const padding = static_cast<const unsigned char*>(message.data()) + sizeof(head);
    const std::size_t len = message.size() - sizeof(head);
    if (len != padding_of(head) || head.checksum != checksum(head, padding, len)) fail("a torn message");
    return head;
}

template <class Chan>
void receive_all(const char* name, std::uint64_t lasts, std::uint64_t stall) {
    Chan chan;
    connect(chan, name, ipc::receiver);
    std::map<std::uint64_t, std::uint64_t> next;
    std::uint64_t ended = 0, total = 0, order = fnv_start;
    while (ended < lasts) {
        const ipc::buff_t message = chan.recv();
        if (message.empty()) fail("recv");
        const numbered head = decode(message);
        if (head.number != next[head.sender]++) fail("a gap");
        order = fnv(order, &head.sender, 2 * sizeof(std::uint64_t));
        ended += head.is_last;
        total++;
        if (total % 64 == 0) say("at " + std::to_string(total));
        if (total == stall) {
            say("stalled");
            wait_for_line();
        }
    }
    std::printf("end %016" PRIx64, order);
    for (const auto& [id, count] : next) std::printf(" %" PRIu64 ":%" PRIu64, id, count);
    say("");
}

template <class Chan>
void run(const char* name, bool sends, std::uint64_t first, const std::vector<std::uint64_t>& rest) {
    if (sends) send_all<Chan>(name, first, rest);
    else receive_all<Chan>(name, first, rest.at(0));
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 6) fail("usage: participant route|channel NAME send ID COUNT... | receive SENDERS STALL");
    std::vector<std::uint64_t> rest;
    for (int i = 5; i < argc; i++) rest.push_back(std::strtoull(argv[i], nullptr, 10));
    const bool sends = std::strcmp(argv[3], "send") == 0;
    const std::uint64_t first = std::strtoull(argv[4], nullptr, 10);
    if (std::strcmp(argv[1], "route") == 0) run<ipc::route>(argv[2], sends, first, rest);
    else run<ipc::channel>(argv[2], sends, first, rest);
}
