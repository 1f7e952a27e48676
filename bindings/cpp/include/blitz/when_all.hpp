// Several coroutines at once, until all have ended.
#ifndef BLITZ_WHEN_ALL_HPP
#define BLITZ_WHEN_ALL_HPP

#include <blitz/task.hpp>

#if BLITZ_COROUTINES

#include <exception>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace blitz {

namespace detail {

// Cancels the tasks that have not been joined, and waits until they have ended.
template <class R>
void cancel_and_wait(std::vector<join_handle<R>>& tasks) {
    const this_fiber::cancel_mask mask;
    for (auto& task : tasks)
        if (task.joinable()) task.cancel();
    for (auto& task : tasks)
        if (task.joinable()) task.wait();
}

template <class R>
class cancels_at_exit {
public:
    explicit cancels_at_exit(std::vector<join_handle<R>>& tasks) : tasks_(tasks) {}
    cancels_at_exit(const cancels_at_exit&) = delete;
    cancels_at_exit& operator=(const cancels_at_exit&) = delete;
    ~cancels_at_exit() { cancel_and_wait(tasks_); }

private:
    std::vector<join_handle<R>>& tasks_;
};

}  // namespace detail

// Runs the tasks, each in a fiber, and returns their results in their order when all have ended. If
// one throws, or the caller is cancelled, it cancels the others, waits until they have ended, and
// throws the exception of the first in their order.
template <class T>
task<std::vector<T>> when_all(std::vector<task<T>> tasks) {
    std::vector<join_handle<T>> running;
    const detail::cancels_at_exit<T> exit(running);
    running.reserve(tasks.size());
    for (auto& each : tasks) running.push_back(spawn(std::move(each)));
    std::vector<T> results;
    results.reserve(running.size());
    for (auto& each : running) results.push_back(co_await each.async_join());
    co_return results;
}

// Runs the tasks without results, as the other `when_all` does.
inline task<void> when_all(std::vector<task<void>> tasks) {
    std::vector<join_handle<void>> running;
    const detail::cancels_at_exit<void> exit(running);
    running.reserve(tasks.size());
    for (auto& each : tasks) running.push_back(spawn(std::move(each)));
    for (auto& each : running) co_await each.async_join();
}

}  // namespace blitz

#endif
#endif
