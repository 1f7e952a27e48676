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

// A value under a lock. Each has cache lines of its own.
template <class Mutex>
struct alignas(128) guarded {
    Mutex mutex;
    volatile std::size_t value = 0;
};

// Adds to a value under a lock. The sum shows if two threads have done so in parallel.
template <class Mutex>
bench::work locks(std::size_t threads) {
    return [threads](std::size_t n) {
        guarded<Mutex> shared;
        const auto work = [&](std::size_t thread) {
            for (std::size_t i = bench::share(n, threads, thread); i > 0; i--) {
                const std::lock_guard<Mutex> lock(shared.mutex);
                shared.value = shared.value + 1;
            }
            return 0;
        };
        bench::result result = threads == 1 ? bench::alone([&] { return work(0); })
                                            : bench::in_threads(threads, work);
        result.done = shared.value;
        return result;
    };
}

template <class Mutex>
bench::work reads(std::size_t threads) {
    return [threads](std::size_t n) {
        guarded<Mutex> shared;
        shared.value = 1;
        const auto work = [&](std::size_t thread) {
            std::size_t sum = 0;
            for (std::size_t i = bench::share(n, threads, thread); i > 0; i--) {
                const std::shared_lock<Mutex> lock(shared.mutex);
                sum += shared.value;
            }
            return sum;
        };
        return threads == 1 ? bench::alone([&] { return work(0); })
                            : bench::in_threads(threads, work);
    };
}

template <class Semaphore>
bench::work permits() {
    return [](std::size_t n) {
        Semaphore semaphore(1);
        return bench::alone([&] {
            for (std::size_t i = 0; i < n; i++) {
                semaphore.acquire();
                semaphore.release();
            }
            // The permit is still free.
            return semaphore.try_acquire() && !semaphore.try_acquire() ? n : 0;
        });
    };
}

// Counts a round if all threads have arrived in it, and none is a round ahead.
template <class Barrier>
bench::work meets(unsigned threads) {
    return [threads](std::size_t n) {
        Barrier barrier(threads);
        alignas(128) std::atomic<std::size_t> arrivals{0};
        bench::result result = bench::in_threads(threads, [&](std::size_t) {
            std::size_t good = 0;
            for (std::size_t i = 1; i <= n; i++) {
                arrivals.fetch_add(1, std::memory_order_relaxed);
                barrier.arrive_and_wait();
                const std::size_t arrived = arrivals.load(std::memory_order_relaxed);
                good += arrived >= i * threads && arrived < (i + 1) * threads ? 1 : 0;
            }
            return good;
        });
        result.done /= threads;
        return result;
    };
}

}  // namespace

std::vector<bench::row> bench::lock_rows() {
    std::vector<row> rows;
    for (const std::size_t threads : {1, 2, 4})
        rows.push_back({"cpp_mutex_" + std::to_string(threads),
                        "Mutex",
                        threads,
                        1'000'000,
                        {{"blitz-io", locks<blitz::mutex>(threads)},
                         {"std::mutex", locks<std::mutex>(threads)},
                         {"pthread", locks<pthread_lock>(threads)}}});
    for (const std::size_t threads : {1, 2})
        rows.push_back({"cpp_shared_mutex_" + std::to_string(threads),
                        "Read lock",
                        threads,
                        1'000'000,
                        {{"blitz-io", reads<blitz::shared_mutex>(threads)},
                         {"std::shared_mutex", reads<std::shared_mutex>(threads)}}});
    rows.push_back({"cpp_semaphore",
                    "Semaphore, a permit there and back",
                    1,
                    100'000,
                    {{"blitz-io", permits<blitz::counting_semaphore<>>()},
                     {"std::counting_semaphore", permits<std::counting_semaphore<>>()}}});
    for (const unsigned threads : {2U, 4U})
        rows.push_back({"cpp_barrier_" + std::to_string(threads),
                        "Barrier round",
                        threads,
                        threads == 2 ? 10'000U : 4'000U,
                        {{"blitz-io", meets<blitz::barrier<>>(threads)},
                         {"std::barrier", meets<std::barrier<>>(threads)},
                         {"pthread", meets<pthread_meeting>(threads)}}});
    return rows;
}
