// Coroutines.
//
// A `task` runs in a fiber, and what it awaits of this library suspends the fiber. So there is one
// way to wait, and a coroutine allocates its frame only. Awaitable objects of other libraries suspend
// the coroutine itself; then the fiber, or the awaiting task, waits for its end as follows.
//
// 1. `phase` is `running` when the awaiting side resumes the task. It resumes it once.
// 2. When that call returns, the awaiting side exchanges `phase` with `left`. At its end the task
//    exchanges it with `done`. The second of the two exchanges sees the value of the first.
// 3. If the awaiting side is second, it goes on without having been suspended. If the task is
//    second, it resumes the awaiting coroutine, or wakes the fiber that sleeps on `phase`.
// 4. The task reads who waits for it before it exchanges: afterwards its frame may be destroyed.
#ifndef BLITZ_TASK_HPP
#define BLITZ_TASK_HPP

#include <blitz/detail/operation.hpp>

#if BLITZ_COROUTINES

#include <blitz/detail/outcome.hpp>
#include <blitz/detail/word.hpp>
#include <blitz/spawn.hpp>
#include <blitz/this_fiber.hpp>
#include <coroutine>
#include <exception>
#include <utility>

namespace blitz {

template <class T>
class task;

namespace detail {

class task_promise_base {
public:
    static constexpr bool owns_fiber = true;

    [[nodiscard]] std::suspend_always initial_suspend() const noexcept { return {}; }

    struct ends {
        [[nodiscard]] bool await_ready() const noexcept { return false; }
        template <class Promise>
        void await_suspend(std::coroutine_handle<Promise> coroutine) const noexcept {
            task_promise_base& promise = coroutine.promise();
            const std::coroutine_handle<> awaiting = promise.awaiting_;
            word& phase = promise.phase_;
            if (phase.exchange(done, std::memory_order_acq_rel) != left) return;
            if (awaiting)
                awaiting.resume();
            else
                wake_all(phase);
        }
        void await_resume() const noexcept {}
    };
    [[nodiscard]] ends final_suspend() const noexcept { return {}; }

    // Resumes the task for the first time. Returns whether it has ended already; otherwise it
    // resumes `awaiting` at its end.
    bool start(std::coroutine_handle<> task, std::coroutine_handle<> awaiting) {
        awaiting_ = awaiting;
        task.resume();
        return phase_.exchange(left, std::memory_order_acq_rel) == done;
    }

    // Resumes the task for the first time, and waits until it has ended. The frame is in use until
    // then, so the wait cannot be cancelled.
    void run(std::coroutine_handle<> task) {
        if (start(task, nullptr)) return;
        const this_fiber::cancel_mask mask;
        while (phase_.load(std::memory_order_acquire) != done)
            (void)sleep_while(phase_, left, BLITZ_NEVER);
    }

private:
    enum : std::uint32_t { running, left, done };

    word phase_{running};
    std::coroutine_handle<> awaiting_;
};

template <class T>
class task_promise final : public task_promise_base {
public:
    task<T> get_return_object() noexcept;
    void unhandled_exception() noexcept { result.fail(std::current_exception()); }
    template <class U>
    void return_value(U&& value) {
        result.run([&]() -> T { return std::forward<U>(value); });
    }

    outcome<T> result;
};

template <>
class task_promise<void> final : public task_promise_base {
public:
    task<void> get_return_object() noexcept;
    void unhandled_exception() noexcept { result.fail(std::current_exception()); }
    void return_void() noexcept {
        result.run([] {});
    }

    outcome<void> result;
};

}  // namespace detail

// A coroutine that returns a `T`. It begins when it is awaited, or given to `spawn` or `sync_wait`.
// It must not be destroyed between its begin and its end.
template <class T = void>
class [[nodiscard]] task {
public:
    using promise_type = detail::task_promise<T>;

    task(task&& other) noexcept : coroutine_(std::exchange(other.coroutine_, nullptr)) {}
    task& operator=(task other) noexcept {
        std::swap(coroutine_, other.coroutine_);
        return *this;
    }
    ~task() {
        if (coroutine_) coroutine_.destroy();
    }

    // Runs the task in the calling fiber or thread, and returns its result or throws its exception.
    T run() && {
        promise().run(coroutine_);
        return promise().result.take();
    }

    // In a coroutine: runs the task, and returns its result or throws its exception.
    auto operator co_await() && noexcept {
        struct awaits {
            std::coroutine_handle<promise_type> coroutine;
            [[nodiscard]] bool await_ready() const noexcept { return false; }
            bool await_suspend(std::coroutine_handle<> awaiting) const {
                return !coroutine.promise().start(coroutine, awaiting);
            }
            T await_resume() const { return coroutine.promise().result.take(); }
        };
        return awaits{coroutine_};
    }

private:
    friend promise_type;
    explicit task(std::coroutine_handle<promise_type> coroutine) noexcept : coroutine_(coroutine) {}

    [[nodiscard]] promise_type& promise() const noexcept { return coroutine_.promise(); }

    std::coroutine_handle<promise_type> coroutine_;
};

template <class T>
task<T> detail::task_promise<T>::get_return_object() noexcept {
    return task<T>(std::coroutine_handle<task_promise>::from_promise(*this));
}

inline task<void> detail::task_promise<void>::get_return_object() noexcept {
    return task<void>(std::coroutine_handle<task_promise>::from_promise(*this));
}

// Runs a task in a new fiber.
template <class T>
join_handle<T> spawn(task<T> coroutine) {
    return spawn([coroutine = std::move(coroutine)]() mutable -> T {
        return std::move(coroutine).run();
    });
}

// Runs a task in a new fiber, which a request to stop cancels.
template <class T>
join_handle<T> spawn(const std::stop_token& stop, task<T> coroutine) {
    return spawn(stop, [coroutine = std::move(coroutine)]() mutable -> T {
        return std::move(coroutine).run();
    });
}

// Runs a task and waits for it: in the calling fiber, or in a new one for a thread.
template <class T>
T sync_wait(task<T> coroutine) {
    if (this_fiber::is_fiber()) return std::move(coroutine).run();
    return spawn(std::move(coroutine)).join();
}

}  // namespace blitz

#endif
#endif
