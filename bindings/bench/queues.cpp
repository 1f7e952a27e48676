// Queues between threads.
#include <blitz/channel.hpp>
#include <memory>
#ifdef HAS_TBB
#include <tbb/concurrent_queue.h>
#endif
#ifdef HAS_MOODYCAMEL
#include <blockingconcurrentqueue.h>
#endif

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

#ifdef HAS_TBB
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
#endif

#ifdef HAS_MOODYCAMEL
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
#endif

template <class Queue>
bench::work passes(std::size_t pairs) {
    return [pairs, queue = std::make_shared<Queue>()](std::size_t n) {
        const std::size_t each = n / pairs + 1;
        bench::in_threads(2 * pairs, [&](std::size_t thread) {
            for (std::size_t i = 0; i < each; i++) {
                if (thread % 2 == 0)
                    queue->push(i);
                else
                    (void)queue->pop();
            }
        });
    };
}

template <class Queue>
bench::work alternates() {
    return [queue = std::make_shared<Queue>()](std::size_t n) {
        for (std::size_t i = 0; i < n; i++) {
            queue->push(i);
            (void)queue->pop();
        }
    };
}

template <class Make>
std::vector<bench::contender> all(Make make) {
    std::vector<bench::contender> contenders;
    contenders.push_back({"blitz", make.template operator()<blitz_queue>()});
#ifdef HAS_TBB
    contenders.push_back({"tbb::concurrent_bounded_queue", make.template operator()<tbb_queue>()});
#endif
#ifdef HAS_MOODYCAMEL
    contenders.push_back(
        {"moodycamel (unbounded)", make.template operator()<moodycamel_queue>()});
#endif
    return contenders;
}

}  // namespace

std::vector<bench::row> bench::queue_rows() {
    return {
        {"bounded queue, push and pop", all([]<class Queue>() { return alternates<Queue>(); })},
        {"bounded queue, 1 to 1 threads", all([]<class Queue>() { return passes<Queue>(1); })},
        {"bounded queue, 2 to 2 threads", all([]<class Queue>() { return passes<Queue>(2); })},
    };
}
