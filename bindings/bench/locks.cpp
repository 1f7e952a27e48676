// Locks, semaphores and barriers.
#include <pthread.h>

#include <barrier>
#include <blitz/barrier.hpp>
#include <blitz/mutex.hpp>
#include <blitz/semaphore.hpp>
#include <blitz/shared_mutex.hpp>
#include <memory>
#include <mutex>
#include <semaphore>
#include <shared_mutex>

#include "measure.hpp"

namespace {

// A value under a lock.
struct guarded {
    volatile long value = 0;
};

class pthread_lock {
public:
    void lock() { pthread_mutex_lock(&mutex_); }
    void unlock() { pthread_mutex_unlock(&mutex_); }

private:
    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

class pthread_meeting {
public:
    explicit pthread_meeting(unsigned count) { pthread_barrier_init(&barrier_, nullptr, count); }
    pthread_meeting(const pthread_meeting&) = delete;
    pthread_meeting& operator=(const pthread_meeting&) = delete;
    ~pthread_meeting() { pthread_barrier_destroy(&barrier_); }
    void arrive_and_wait() { pthread_barrier_wait(&barrier_); }

private:
    pthread_barrier_t barrier_;
};

template <class Mutex>
bench::work locks(std::size_t threads) {
    return [threads, mutex = std::make_shared<Mutex>(), guarded = std::make_shared<struct guarded>()](
               std::size_t n) {
        const auto work = [&](std::size_t) {
            for (std::size_t i = 0; i < n; i += threads) {
                const std::lock_guard<Mutex> lock(*mutex);
                guarded->value = guarded->value + 1;
            }
        };
        if (threads == 1) return work(0);
        bench::in_threads(threads, work);
    };
}

template <class Mutex>
bench::work reads(std::size_t threads) {
    return [threads, mutex = std::make_shared<Mutex>(), guarded = std::make_shared<struct guarded>()](
               std::size_t n) {
        const auto work = [&](std::size_t) {
            for (std::size_t i = 0; i < n; i += threads) {
                const std::shared_lock<Mutex> lock(*mutex);
                (void)guarded->value;
            }
        };
        if (threads == 1) return work(0);
        bench::in_threads(threads, work);
    };
}

template <class Semaphore>
bench::work permits() {
    return [semaphore = std::make_shared<Semaphore>(1)](std::size_t n) {
        for (std::size_t i = 0; i < n; i++) {
            semaphore->acquire();
            semaphore->release();
        }
    };
}

template <class Barrier>
bench::work meets(unsigned threads) {
    return [threads, barrier = std::make_shared<Barrier>(threads)](std::size_t n) {
        bench::in_threads(threads, [&](std::size_t) {
            for (std::size_t i = 0; i < n; i++) barrier->arrive_and_wait();
        });
    };
}

}  // namespace

std::vector<bench::row> bench::lock_rows() {
    std::vector<row> rows;
    for (const std::size_t threads : {1, 2, 4}) {
        const std::string suffix = threads == 1 ? "" : ", " + std::to_string(threads) + " threads";
        rows.push_back({"mutex" + suffix,
                        {{"blitz", locks<blitz::mutex>(threads)},
                         {"std::mutex", locks<std::mutex>(threads)},
                         {"pthread", locks<pthread_lock>(threads)}}});
    }
    for (const std::size_t threads : {1, 2})
        rows.push_back({threads == 1 ? "read lock" : "read lock, 2 threads",
                        {{"blitz", reads<blitz::shared_mutex>(threads)},
                         {"std::shared_mutex", reads<std::shared_mutex>(threads)}}});
    rows.push_back({"semaphore",
                    {{"blitz", permits<blitz::counting_semaphore<>>()},
                     {"std::counting_semaphore", permits<std::counting_semaphore<>>()}}});
    for (const unsigned threads : {2U, 4U})
        rows.push_back({"barrier, " + std::to_string(threads) + " threads",
                        {{"blitz", meets<blitz::barrier<>>(threads)},
                         {"std::barrier", meets<std::barrier<>>(threads)},
                         {"pthread", meets<pthread_meeting>(threads)}}});
    return rows;
}
