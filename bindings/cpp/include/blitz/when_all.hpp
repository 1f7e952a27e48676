// Several coroutines at once, until all have ended.
#ifndef BLITZ_WHEN_ALL_HPP
#define BLITZ_WHEN_ALL_HPP

#include <blitz/async_call.hpp>
#include <blitz/task.hpp>

#if BLITZ_COROUTINES

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace blitz {

namespace detail {

// Gives each task to `call`.
template <class R, class Call>
void for_each_task(std::vector<join_handle<R>>& tasks, const Call& call) {
    for (auto& task : tasks) call(task);
}
template <class... R, class Call>
void for_each_task(std::tuple<join_handle<R>...>& tasks, const Call& call) {
    std::apply([&](auto&... task) { (call(task), ...); }, tasks);
}

// Cancels the tasks that have not been joined, and waits until they have ended.
template <class Tasks>
void cancel_and_wait(Tasks& tasks) {
    const this_fiber::cancel_mask mask;
    for_each_task(tasks, [](auto& task) {
        if (task.joinable()) task.cancel();
    });
    for_each_task(tasks, [](auto& task) {
        if (task.joinable()) task.wait();
    });
}

template <class Tasks>
class cancels_at_exit {
public:
    explicit cancels_at_exit(Tasks& tasks) : tasks_(tasks) {}
    cancels_at_exit(const cancels_at_exit&) = delete;
    cancels_at_exit& operator=(const cancels_at_exit&) = delete;
    ~cancels_at_exit() { cancel_and_wait(tasks_); }

private:
    Tasks& tasks_;
};

// A result in a tuple.
template <class T>
using in_tuple = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

template <class T>
in_tuple<T> join_for_tuple(join_handle<T>& task) {
    if constexpr (std::is_void_v<T>) {
        task.join();
        return {};
    } else {
        return task.join();
    }
}

template <class... T, std::size_t... I>
void start_all(std::tuple<join_handle<T>...>& running, std::index_sequence<I...>, task<T>&... tasks) {
    ((std::get<I>(running) = spawn(std::move(tasks))), ...);
}

}  // namespace detail

// Runs the tasks, each in a fiber, and returns their results in their order when all have ended. If
// one throws, or the caller is cancelled, it cancels the others, waits until they have ended, and
// throws the exception of the first in their order.
template <class T>
task<std::vector<T>> when_all(std::vector<task<T>> tasks) {
    std::vector<join_handle<T>> running;
    const detail::cancels_at_exit exit(running);
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
    const detail::cancels_at_exit exit(running);
    running.reserve(tasks.size());
    for (auto& each : tasks) running.push_back(spawn(std::move(each)));
    for (auto& each : running) co_await each.async_join();
}

// Runs tasks of different types, as the other `when_all` does, and returns a tuple of their results. That of a
// task without a result is a `std::monostate`.
template <class... T>
task<std::tuple<detail::in_tuple<T>...>> when_all(task<T>... tasks) {
    std::tuple<join_handle<T>...> running;
    const detail::cancels_at_exit exit(running);
    detail::start_all(running, std::index_sequence_for<T...>(), tasks...);
    co_return co_await async_call([&running] {
        return std::apply(
            [](auto&... each) {
                // Joins in this order.
                return std::tuple<detail::in_tuple<T>...>{detail::join_for_tuple(each)...};
            },
            running);
    });
}

}  // namespace blitz

#endif
#endif
