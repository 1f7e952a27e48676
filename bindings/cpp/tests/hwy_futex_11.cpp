// A program for Highway's futex in C++11, with neither exceptions nor run-time type information.
#include <blitz/compat/hwy_futex.hpp>

#include <cstdio>
#include <cstdlib>
#include <thread>

#define CHECK(condition)                                                       \
    do {                                                                       \
        if (!(condition)) {                                                    \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            std::abort();                                                      \
        }                                                                      \
    } while (0)

namespace {

std::atomic<std::uint32_t> current{0};

// Waits for each even number, and answers with the odd one after it.
void answer() {
    for (std::uint32_t i = 0; i < 2000; i += 2) {
        CHECK(hwy::BlockUntilDifferent(i, current) == i + 1);
        current.store(i + 2, std::memory_order_release);
        hwy::WakeAll(current);
    }
}

void ask() {
    for (std::uint32_t i = 0; i < 2000; i += 2) {
        current.store(i + 1, std::memory_order_release);
        hwy::WakeAll(current);
        CHECK(hwy::BlockUntilDifferent(i + 1, current) == i + 2);
    }
    current.store(0);
}

std::atomic<bool> begun{false};

extern "C" void* answer_in_a_fiber(void*) {
    answer();
    return nullptr;
}

extern "C" void* sleep_until_cancelled(void*) {
    begun = true;
    CHECK(!hwy::NanoSleep(BLITZ_NEVER));
    CHECK(!hwy::NanoSleep(1));
    return nullptr;
}

}  // namespace

int main() {
    std::thread thread(answer);
    ask();
    thread.join();

    blitz_task* task = nullptr;
    CHECK(blitz_spawn(nullptr, nullptr, answer_in_a_fiber, nullptr, &task) == BLITZ_OK);
    ask();
    CHECK(blitz_task_join(task, BLITZ_NEVER, nullptr) == BLITZ_OK);

    const std::uint64_t before = blitz_now_ns();
    CHECK(hwy::NanoSleep(1000000));
    CHECK(blitz_now_ns() - before >= 1000000);
    CHECK(blitz_spawn(nullptr, nullptr, sleep_until_cancelled, nullptr, &task) == BLITZ_OK);
    while (!begun) CHECK(hwy::NanoSleep(1000));
    CHECK(blitz_task_cancel(task) == BLITZ_OK);
    CHECK(blitz_task_join(task, BLITZ_NEVER, nullptr) == BLITZ_OK);
}
