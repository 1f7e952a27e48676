// Coroutines.
//
// A `task` runs in a fiber, and awaiting an object of this library suspends the fiber. So there is one
// way to wait, and a coroutine allocates its frame only. Awaitable objects of other libraries suspend
// the coroutine itself.
//
// A task that was started from outside, and the tasks that it awaits, and those that they await, are a
// *chain*. One of them runs at a time. The thread or fiber that starts the first task *drives* the
// chain: it resumes a task, and when that call returns it resumes the next one. So the depth of the
// chain takes no stack. (The compiler's own symmetric transfer would do the same, but gcc needs
// optimisation for it.) `phase` belongs to the chain:
//
// 1. It is `running` when the driver resumes a task. When that call returns, the driver exchanges
//    `running` with `left`, and goes.
// 2. A task that awaits another one, or that ends, stores which task is `next`, and exchanges
//    `phase` with `ready`. At its end the first task exchanges it with `ended`.
// 3. The second of these two exchanges sees the value of the first. If the driver is second, it stores
//    `running` and resumes the next task, or the chain has ended and it returns. If the task is second,
//    then an object of another library has resumed it, and nothing drives the chain: so it stores
//    `running` and drives the chain itself, in the call that has resumed it.
// 4. Only the driver, or the task of step 3, uses the chain after `ended`. If it did not start the
//    chain, it resumes the coroutine of another library that awaits the first task, or stores `done`
//    and wakes the fiber that sleeps on `phase`. It uses no part of the chain afterwards, as the
//    frames may be destroyed then.
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
#include <type_traits>
#include <utility>

namespace blitz {

template <class T>
class task;

namespace detail {

// The tasks of a chain, from the first one to that which runs.
class task_chain {
public:
    // Resumes the first task, and those that follow. Returns `true` if the chain has ended.
    bool drive(std::coroutine_handle<> task) {
        for (;;) {
            task.resume();
            std::uint32_t phase = phase_.load(std::memory_order_acquire);
            if (phase == running) phase = phase_.exchange(left, std::memory_order_acq_rel);
            // It may go on, and end, in another thread.
            if (phase == running) return false;
            if (phase == ended) return true;
            task = next_;
            phase_.store(running, std::memory_order_relaxed);
        }
    }

    // The running task, which is suspended already, lets another one run.
    void go_to(std::coroutine_handle<> task) {
        next_ = task;
        if (phase_.exchange(ready, std::memory_order_acq_rel) != left) return;
        phase_.store(running, std::memory_order_relaxed);
        if (drive(task)) end();
    }

    // The first task, which is suspended already, has ended.
    void finish() {
        if (phase_.exchange(ended, std::memory_order_acq_rel) == left) end();
    }

    // Waits until the chain has ended, after `drive` has returned false. The frames are in use until
    // then, so the wait cannot be cancelled.
    void wait() const {
        const this_fiber::cancel_mask mask;
        for (;;) {
            const std::uint32_t phase = phase_.load(std::memory_order_acquire);
            if (phase == done) return;
            (void)sleep_while(phase_, phase, BLITZ_NEVER);
        }
    }

    // A coroutine of another library awaits the first task.
    void resumes_at_end(std::coroutine_handle<> coroutine) noexcept { awaiting_ = coroutine; }

private:
    enum : std::uint32_t { running, left, ready, ended, done };

    void end() {
        if (const std::coroutine_handle<> awaiting = awaiting_) {
            awaiting.resume();
        } else {
            phase_.store(done, std::memory_order_release);
            wake_all(phase_);
        }
    }

    word phase_{running};
    std::coroutine_handle<> next_;
    std::coroutine_handle<> awaiting_;
};

class task_promise_base {
public:
    static constexpr bool owns_fiber = true;

    [[nodiscard]] std::suspend_always initial_suspend() const noexcept { return {}; }

    struct ends {
        [[nodiscard]] bool await_ready() const noexcept { return false; }
        template <class Promise>
        void await_suspend(std::coroutine_handle<Promise> coroutine) const noexcept {
            const task_promise_base& promise = coroutine.promise();
            if (promise.awaiting_)
                promise.chain_->go_to(promise.awaiting_);
            else
                promise.chain_->finish();
        }
        void await_resume() const noexcept {}
    };
    [[nodiscard]] ends final_suspend() const noexcept { return {}; }

    // Runs the task as the first of a chain, and waits until it has ended.
    void run(std::coroutine_handle<> task) {
        task_chain chain;
        chain_ = &chain;
        if (!chain.drive(task)) chain.wait();
    }

    // Runs the task as the first of a chain. Returns `true` if it has ended; otherwise `awaiting`
    // is resumed at its end.
    bool start(task_chain& chain, std::coroutine_handle<> task, std::coroutine_handle<> awaiting) {
        chain.resumes_at_end(awaiting);
        chain_ = &chain;
        return chain.drive(task);
    }

    // Runs the task in the chain of the awaiting task.
    void join_chain(std::coroutine_handle<> task, task_promise_base& of, std::coroutine_handle<> awaiting) {
        awaiting_ = awaiting;
        chain_ = of.chain_;
        chain_->go_to(task);
    }

private:
    task_chain* chain_ = nullptr;
    // The task that awaits this one; none if this is the first of its chain.
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
    auto operator co_await() && noexcept { return awaits{coroutine_, {}}; }

private:
    friend promise_type;

    struct awaits {
        std::coroutine_handle<promise_type> coroutine;
        // Used if a coroutine of another library awaits the task.
        detail::task_chain chain;

        [[nodiscard]] bool await_ready() const noexcept { return false; }
        template <class Promise>
        bool await_suspend(std::coroutine_handle<Promise> awaiting) {
            promise_type& promise = coroutine.promise();
            if constexpr (std::is_base_of_v<detail::task_promise_base, Promise>) {
                promise.join_chain(coroutine, awaiting.promise(), awaiting);
                return true;
            } else {
                return !promise.start(chain, coroutine, awaiting);
            }
        }
        T await_resume() const { return coroutine.promise().result.take(); }
    };

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

#else

namespace blitz {

// Names the missing standard where a program uses it.
template <class T = void>
class task {
    static_assert(sizeof(T*) == 0, "blitz::task needs coroutines: compile with -std=c++20");
};

}  // namespace blitz

#endif
#endif
