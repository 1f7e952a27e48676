// Queues between threads.
#include <blitz/channel.hpp>
#include <memory>
#include <tbb/concurrent_queue.h>
#include <concurrentqueue/blockingconcurrentqueue.h>

#include "measure.hpp"

namespace {

constexpr std::size_t capacity = 1024;

class blitz_queue {
public:
    void push(std::size_t value) { (void)ends_.tx.send(std::size_t{value}); }
    std::size_t pop() { return *ends_.rx.recv(); }

private:
    blitz::channel<std::size_t> ends_{capacity};
};

class tbb_queue {
public:
    tbb_queue() { queue_.set_capacity(capacity); }
    void push(std::size_t value) { queue_.push(value); }
    std::size_t pop() {
        std::size_t value = 0;
        queue_.pop(value);
        return value;
    }

private:
    tbb::concurrent_bounded_queue<std::size_t> queue_;
};

// Not bounded.
class moodycamel_queue {
public:
    void push(std::size_t value) { queue_.enqueue(value); }
    std::size_t pop() {
        std::size_t value = 0;
        queue_.wait_dequeue(value);
        return value;
    }

private:
    moodycamel::BlockingConcurrentQueue<std::size_t> queue_;
};

// Sends ones. Their sum is how many have arrived.
template <class Queue>
bench::work passes(std::size_t pairs) {
    return [pairs](std::size_t n) {
        Queue queue;
        return bench::in_threads(2 * pairs, [&](std::size_t thread) {
            std::size_t sum = 0;
            for (std::size_t i = bench::share(n, pairs, thread / 2); i > 0; i--) {
                if (thread % 2 == 0)
                    queue.push(1);
                else
                    sum += queue.pop();
            }
            return sum;
        });
    };
}

template <class Queue>
bench::work alternates() {
    return [](std::size_t n) {
        Queue queue;
        return bench::alone([&] {
            std::size_t sum = 0;
            for (std::size_t i = 0; i < n; i++) {
                queue.push(1);
                sum += queue.pop();
            }
            return sum;
        });
    };
}

template <class Make>
std::vector<bench::contender> all(Make make) {
    std::vector<bench::contender> contenders;
    contenders.push_back({"blitz-io", make.template operator()<blitz_queue>()});
    contenders.push_back({"oneTBB", make.template operator()<tbb_queue>()});
    contenders.push_back({"moodycamel", make.template operator()<moodycamel_queue>()});
    return contenders;
}

template <std::size_t Pairs>
bench::row passing() {
    return {"cpp_queue_" + std::to_string(Pairs) + "_" + std::to_string(Pairs),
            "Bounded queue, " + std::to_string(Pairs) + " to " + std::to_string(Pairs),
            2 * Pairs,
            100'000,
            all([]<class Queue>() { return passes<Queue>(Pairs); })};
}

}  // namespace

std::vector<bench::row> bench::queue_rows() {
    row alternating{"cpp_queue", "Bounded queue, push and pop", 1, 100'000,
                    all([]<class Queue>() { return alternates<Queue>(); })};
    return {std::move(alternating), passing<1>(), passing<2>()};
}
