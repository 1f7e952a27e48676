// Fibers, and functions that block, as tasks.
#ifndef BLITZ_SPAWN_HPP
#define BLITZ_SPAWN_HPP

#include <blitz.h>

#include <blitz/join_handle.hpp>
#include <tuple>
#include <type_traits>
#include <utility>

namespace blitz {

// Settings of a fiber.
struct fiber_options {
    // The size of the stack in bytes, BLITZ_STACK_MIN to BLITZ_STACK_MAX. 0: the default.
    std::size_t stack_size = 0;
    // The name, in UTF-8, which the message about an overflow of the stack has. It is copied.
    const char* name = nullptr;
};

namespace detail {

template <class F, class... Args>
using result_of = std::invoke_result_t<std::decay_t<F>, std::decay_t<Args>...>;

template <class F, class... Args>
inline constexpr bool can_run = std::is_invocable_v<std::decay_t<F>, std::decay_t<Args>...>;

// A function with its arguments, for one call.
template <class F, class... Args>
auto bound(F&& function, Args&&... arguments) {
    return [function = std::decay_t<F>(std::forward<F>(function)),
            arguments = std::tuple<std::decay_t<Args>...>(
                std::forward<Args>(arguments)...)]() mutable -> decltype(auto) {
        return std::apply(std::move(function), std::move(arguments));
    };
}

template <class R>
struct started {
    task_state<R>* state;
    blitz_task* task;
};

// Makes the block of a task, and starts it with `start(run, abandon, block, &task)`, which takes
// one of the two ownerships of the block over, also if it fails.
template <class Call, class Start>
auto start_task(Call call, Start&& start) {
    using result = std::invoke_result_t<Call>;
    using block = task_block<result, Call>;
    auto* const made = new block(std::move(call));
    blitz_task* task = nullptr;
    const int status = start(&block::run, &block::abandon, static_cast<void*>(made), &task);
    if (status < 0) {
        made->release();
        throw_error(status);
    }
    return started<result>{made, task};
}

template <class Call>
auto start_fiber(blitz_runtime* runtime, const fiber_options& options, Call call) {
    blitz_fiber_settings settings = BLITZ_FIBER_SETTINGS_INIT;
    settings.stack_size = options.stack_size;
    settings.name = options.name;
    return start_task(std::move(call), [&](auto run, auto abandon, void* block, blitz_task** task) {
        return blitz_spawn_owned(runtime, &settings, run, abandon, block, task);
    });
}

template <class Call>
auto start_blocking(blitz_runtime* runtime, Call call) {
    return start_task(std::move(call), [&](auto run, auto abandon, void* block, blitz_task** task) {
        return blitz_spawn_blocking_owned(runtime, run, abandon, block, task);
    });
}

template <class R>
join_handle<R> handle_of(started<R> task) noexcept {
    return join_handle<R>(task.state, task.task);
}

#ifdef __cpp_lib_jthread
// The function gets the token first, if it takes one.
template <class F, class... Args>
auto bound_to_stop(const std::stop_token& stop, F&& function, Args&&... arguments) {
    if constexpr (can_run<F, std::stop_token, Args...>) {
        return bound(std::forward<F>(function), stop, std::forward<Args>(arguments)...);
    } else {
        return bound(std::forward<F>(function), std::forward<Args>(arguments)...);
    }
}

template <class R>
join_handle<R> handle_of(started<R> task, const std::stop_token& stop) {
    return join_handle<R>(task.state, task.task, stop);
}
#endif

}  // namespace detail

// Starts a fiber that calls a copy of `function` with copies of `arguments`, in the runtime that
// runs the caller, or else in that of the process. Throws `error` if it cannot.
template <class F, class... Args, std::enable_if_t<detail::can_run<F, Args...>, int> = 0>
auto spawn(F&& function, Args&&... arguments) {
    return detail::handle_of(detail::start_fiber(
        nullptr, {}, detail::bound(std::forward<F>(function), std::forward<Args>(arguments)...)));
}

// Starts a fiber with settings.
template <class F, class... Args, std::enable_if_t<detail::can_run<F, Args...>, int> = 0>
auto spawn(const fiber_options& options, F&& function, Args&&... arguments) {
    return detail::handle_of(detail::start_fiber(
        nullptr, options,
        detail::bound(std::forward<F>(function), std::forward<Args>(arguments)...)));
}

#ifdef __cpp_lib_jthread
// Starts a fiber that a request to stop cancels, until its handle is destroyed. The function gets
// the token as its first argument, if it takes one.
template <class F, class... Args,
          std::enable_if_t<detail::can_run<F, Args...> || detail::can_run<F, std::stop_token, Args...>,
                           int> = 0>
auto spawn(const std::stop_token& stop, F&& function, Args&&... arguments) {
    return detail::handle_of(
        detail::start_fiber(nullptr, {},
                            detail::bound_to_stop(stop, std::forward<F>(function),
                                                  std::forward<Args>(arguments)...)),
        stop);
}
#endif

// Calls a copy of `function` with copies of `arguments` in a thread that may block.
template <class F, class... Args, std::enable_if_t<detail::can_run<F, Args...>, int> = 0>
auto spawn_blocking(F&& function, Args&&... arguments) {
    return detail::handle_of(detail::start_blocking(
        nullptr, detail::bound(std::forward<F>(function), std::forward<Args>(arguments)...)));
}

}  // namespace blitz

#endif
