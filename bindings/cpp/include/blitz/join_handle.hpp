// The handle of a task.
#ifndef BLITZ_JOIN_HANDLE_HPP
#define BLITZ_JOIN_HANDLE_HPP

#include <blitz.h>

#include <blitz/detail/deadline.hpp>
#include <blitz/detail/handle.hpp>
#include <blitz/detail/operation.hpp>
#include <blitz/detail/task_state.hpp>
#include <blitz/this_fiber.hpp>
#include <functional>
#include <memory>
#include <optional>
#if __has_include(<stop_token>) && __cplusplus >= 202002L
#include <stop_token>
#endif

namespace blitz {

// A fiber or a blocking function that returns an `R`. Destroying the handle detaches the task: it
// keeps running, and its result or exception is dropped.
template <class R>
class [[nodiscard]] join_handle {
public:
    // A handle of no task.
    join_handle() noexcept = default;
    join_handle(join_handle&&) noexcept = default;
    join_handle& operator=(join_handle other) noexcept {
        // So the old members are destroyed in their order.
        swap(other);
        return *this;
    }
    ~join_handle() = default;

    void swap(join_handle& other) noexcept {
        std::swap(state_, other.state_);
        std::swap(task_, other.task_);
#ifdef __cpp_lib_jthread
        std::swap(stops_, other.stops_);
#endif
    }

    // Returns `true` if there is a task that was not joined.
    [[nodiscard]] bool joinable() const noexcept { return state_ != nullptr; }

    // Waits until the task has ended. Returns its result, or throws its exception. Suspends the
    // calling fiber, or blocks the calling thread.
    //
    // Throws `canceled` if the calling fiber is cancelled, and then the handle stays as it is; or if
    // the task did not begin because its runtime has ended. Throws `error` with `errc::invalid` for
    // a handle of no task.
    R join() {
        (void)finish(BLITZ_NEVER);
        const auto state = std::move(state_);
        return state->result.take();
    }

    // Waits until the task has ended, for `duration` at most. Returns `true` if it has.
    template <class Rep, class Period>
    [[nodiscard]] bool wait_for(const std::chrono::duration<Rep, Period>& duration) {
        return finish(detail::deadline_after(duration));
    }

    // Waits until the task has ended, until `time` at most. Returns `true` if it has.
    template <class Clock, class Duration>
    [[nodiscard]] bool wait_until(const std::chrono::time_point<Clock, Duration>& time) {
        while (!finish(detail::deadline_at(time)))
            if (Clock::is_steady || Clock::now() >= time) return false;
        return true;
    }

    // Waits until the task has ended. Does not throw its exception.
    void wait() { (void)finish(BLITZ_NEVER); }

    // Cancels a fiber: its waits, except those for mutexes, throw `canceled`. No effect on a fiber
    // that has ended. Throws `error` with `errc::invalid` for a blocking function.
    void cancel() {
        if (task_) detail::check(blitz_task_cancel(task_.get()));
    }

    // Returns `true` if the task has ended.
    [[nodiscard]] bool is_done() const noexcept { return blitz_task_is_done(task_.get()); }

    // Lets the task go on without a handle.
    void detach() noexcept { *this = join_handle(); }

    // Made by `spawn`.
    join_handle(detail::task_state<R>* state, blitz_task* task) noexcept
        : state_(state), task_(task) {}

#ifdef __cpp_lib_jthread
    // Made by `spawn`: a request to stop cancels the fiber.
    join_handle(detail::task_state<R>* state, blitz_task* task, const std::stop_token& stop)
        : join_handle(state, task) {
        stops_ = std::make_unique<stop_callback>(stop, cancels{task});
    }
#endif

#if BLITZ_COROUTINES
    // `co_await` this to join the task in a coroutine.
    [[nodiscard]] auto async_join() {
        return detail::operation([this]() -> R { return join(); });
    }
#endif

private:
    struct releases {
        void operator()(detail::task_state<R>* state) const noexcept { state->release(); }
    };

    bool finish(std::uint64_t deadline) {
        if (!state_) throw error(BLITZ_EINVAL, "the handle has no task: it was joined, detached or moved from");
        if (!task_) return true;
#ifdef __cpp_lib_jthread
        if (stops_ && !stop_watching(deadline)) return false;
#endif
        const int result = detail::waiting(
            [&] { return blitz_task_join(task_.get(), deadline, nullptr); });
        if (result == BLITZ_ETIMEDOUT) return false;
        if (result == BLITZ_OK || result == BLITZ_EPANIC) (void)task_.release();
        // It may be the calling fiber that is cancelled, or the task that did not begin.
        if (result == BLITZ_ECANCELED && blitz_task_is_done(task_.get())) {
            task_.reset();
            return true;
        }
        detail::check(result);
        return true;
    }

    std::unique_ptr<detail::task_state<R>, releases> state_;
    detail::handle<blitz_task, blitz_task_detach> task_;

#ifdef __cpp_lib_jthread
    struct cancels {
        blitz_task* task;
        void operator()() const noexcept { (void)blitz_task_cancel(task); }
    };
    using stop_callback = std::stop_callback<cancels>;

    // The callback uses the task, so it goes before the join, which frees the task. Therefore this
    // waits in another way until the task has ended.
    bool stop_watching(std::uint64_t deadline) {
        const int result = state_->ended.wait_while(0, 2, deadline);
        if (result == BLITZ_ETIMEDOUT) return false;
        detail::check(result);
        stops_.reset();
        return true;
    }

    // Declared last, so destroyed first.
    std::unique_ptr<stop_callback> stops_;
#endif
};

}  // namespace blitz

#endif
