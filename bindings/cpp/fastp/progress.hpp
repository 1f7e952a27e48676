// The waits of fastp on Highway's futex: a word that counts events, a mutex and a condition variable. C++11.
//
// A thread reads the count, then looks at what it waits for, and sleeps only while the count is the one that it
// read. A thread that changes something raises the count afterwards. So no change is missed between the look
// and the sleep, and no wait needs a time limit.
#ifndef BLITZ_FASTP_PROGRESS_HPP
#define BLITZ_FASTP_PROGRESS_HPP

#include <blitz/compat/hwy_futex.hpp>

#include <atomic>
#include <cstdint>
#include <mutex>

namespace progress {

inline std::atomic<std::uint32_t>& word() {
    static std::atomic<std::uint32_t> events(0);
    return events;
}

inline std::uint32_t seen() { return word().load(std::memory_order_seq_cst); }

// Something has changed for which another thread may wait.
inline void made() {
    word().fetch_add(1, std::memory_order_seq_cst);
    hwy::WakeAll(word());
}

// Sleeps until something changes after `seen`.
inline void wait(std::uint32_t seen) { hwy::BlockUntilDifferent(seen, word()); }

// Sleeps while the condition holds, and counts the sleeps.
template <class Condition>
void wait_while(Condition condition, int& slept) {
    for (;;) {
        const std::uint32_t before = seen();
        if (!condition()) return;
        slept++;
        wait(before);
    }
}

// 0 free, 1 locked, 2 locked and waited for.
class mutex {
public:
    mutex() : state_(0) {}
    mutex(const mutex&) = delete;
    mutex& operator=(const mutex&) = delete;

    void lock() {
        std::uint32_t free = 0;
        if (state_.compare_exchange_strong(free, 1, std::memory_order_acquire)) return;
        while (state_.exchange(2, std::memory_order_acquire) != 0) hwy::BlockUntilDifferent(2, state_);
    }
    void unlock() {
        if (state_.exchange(0, std::memory_order_release) == 2) hwy::WakeAll(state_);
    }

private:
    std::atomic<std::uint32_t> state_;
};

// The condition is changed by a thread that has the mutex.
class condition_variable {
public:
    condition_variable() : events_(0) {}
    condition_variable(const condition_variable&) = delete;
    condition_variable& operator=(const condition_variable&) = delete;

    template <class Condition>
    void wait(std::unique_lock<mutex>& lock, Condition condition) {
        while (!condition()) {
            const std::uint32_t before = events_.load(std::memory_order_relaxed);
            lock.unlock();
            hwy::BlockUntilDifferent(before, events_);
            lock.lock();
        }
    }
    void notify_one() { notify_all(); }
    void notify_all() {
        events_.fetch_add(1, std::memory_order_release);
        hwy::WakeAll(events_);
    }

private:
    std::atomic<std::uint32_t> events_;
};

}  // namespace progress

#endif
