// Several coroutines at once, until one has ended.
#ifndef BLITZ_WHEN_ANY_HPP
#define BLITZ_WHEN_ANY_HPP

#include <blitz/when_all.hpp>

#if BLITZ_COROUTINES

#include <atomic>
#include <blitz/error.hpp>
#include <blitz/event.hpp>
#include <cstddef>
#include <utility>
#include <vector>

namespace blitz {

namespace detail {

// The task that ends first.
class race {
public:
    void end(std::size_t index) noexcept {
        std::size_t none = nobody;
        if (winner_.compare_exchange_strong(none, index, std::memory_order_acq_rel)) ended_.set();
    }

    std::size_t wait() {
        ended_.wait();
        return winner_.load(std::memory_order_acquire);
    }

private:
    static constexpr std::size_t nobody = static_cast<std::size_t>(-1);
    std::atomic<std::size_t> winner_{nobody};
    event ended_;
};

// Starts the tasks, and waits for the first that ends.
template <class T>
std::size_t first_of(std::vector<task<T>>& tasks, std::vector<join_handle<T>>& running, race& race) {
    if (tasks.empty()) throw error(BLITZ_EINVAL, "no tasks");
    running.reserve(tasks.size());
    for (std::size_t i = 0; i < tasks.size(); i++)
        running.push_back(spawn([&race, i, each = std::move(tasks[i])]() mutable -> T {
            struct ends {
                class race& race;
                std::size_t index;
                ~ends() { race.end(index); }
            } const at_exit{race, i};
            return std::move(each).run();
        }));
    return race.wait();
}

}  // namespace detail

// Runs the tasks, each in a fiber, and returns the position and the result of the first that ends,
// or throws its exception. Cancels the others, and waits until they have ended. Throws `error` with
// `errc::invalid` without tasks.
template <class T>
task<std::pair<std::size_t, T>> when_any(std::vector<task<T>> tasks) {
    detail::race race;
    std::vector<join_handle<T>> running;
    const detail::cancels_at_exit exit(running);
    const std::size_t first = detail::first_of(tasks, running, race);
    co_return std::pair<std::size_t, T>(first, running[first].join());
}

// Runs tasks without results, and returns the position of the first that ends.
inline task<std::size_t> when_any(std::vector<task<void>> tasks) {
    detail::race race;
    std::vector<join_handle<void>> running;
    const detail::cancels_at_exit exit(running);
    const std::size_t first = detail::first_of(tasks, running, race);
    running[first].join();
    co_return first;
}

}  // namespace blitz

#endif
#endif
