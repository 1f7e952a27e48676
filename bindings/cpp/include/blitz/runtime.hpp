// A runtime of one's own.
#ifndef BLITZ_RUNTIME_HPP
#define BLITZ_RUNTIME_HPP

#include <blitz.h>

#include <blitz/detail/deadline.hpp>
#include <blitz/detail/handle.hpp>
#include <blitz/error.hpp>
#include <blitz/spawn.hpp>
#include <utility>

namespace blitz {

// Settings of a runtime.
struct runtime_options {
    // The number of worker threads, up to BLITZ_WORKERS_MAX. 0: one for each processor.
    std::size_t workers = 0;
    // The most threads for blocking functions. 0: 512.
    std::size_t blocking_threads = 0;
    // The name of the threads, in UTF-8. It is copied.
    const char* thread_name = nullptr;
};

// Threads that run fibers. Destroying it cancels its fibers and waits until they have ended; a fiber
// must not destroy the runtime that runs it.
class runtime {
public:
    // Throws `error` if a setting is out of range, or the system lacks resources.
    explicit runtime(const runtime_options& options = {}) {
        blitz_runtime_settings settings = BLITZ_RUNTIME_SETTINGS_INIT;
        settings.workers = options.workers;
        settings.blocking_threads = options.blocking_threads;
        settings.thread_name = options.thread_name;
        blitz_runtime* made = nullptr;
        detail::check(blitz_runtime_new(&settings, &made));
        runtime_.reset(made);
    }

    // Starts a fiber that calls a copy of `function` with copies of `arguments`.
    template <class F, class... Args, std::enable_if_t<detail::can_run<F, Args...>, int> = 0>
    auto spawn(F&& function, Args&&... arguments) {
        return detail::handle_of(detail::start_fiber(
            native_handle(), {},
            detail::bound(std::forward<F>(function), std::forward<Args>(arguments)...)));
    }

    // Starts a fiber with settings.
    template <class F, class... Args, std::enable_if_t<detail::can_run<F, Args...>, int> = 0>
    auto spawn(const fiber_options& options, F&& function, Args&&... arguments) {
        return detail::handle_of(detail::start_fiber(
            native_handle(), options,
            detail::bound(std::forward<F>(function), std::forward<Args>(arguments)...)));
    }

#ifdef __cpp_lib_jthread
    // Starts a fiber that a request to stop cancels, until its handle is destroyed.
    template <class F, class... Args,
              std::enable_if_t<
                  detail::can_run<F, Args...> || detail::can_run<F, std::stop_token, Args...>, int> = 0>
    auto spawn(const std::stop_token& stop, F&& function, Args&&... arguments) {
        return detail::handle_of(
            detail::start_fiber(native_handle(), {},
                                detail::bound_to_stop(stop, std::forward<F>(function),
                                                      std::forward<Args>(arguments)...)),
            stop);
    }
#endif

    // Calls a copy of `function` with copies of `arguments` in a thread that may block.
    template <class F, class... Args, std::enable_if_t<detail::can_run<F, Args...>, int> = 0>
    auto spawn_blocking(F&& function, Args&&... arguments) {
        return detail::handle_of(detail::start_blocking(
            native_handle(),
            detail::bound(std::forward<F>(function), std::forward<Args>(arguments)...)));
    }

    // Shuts the runtime down: no more fibers begin, and the waits of its fibers throw `canceled`.
    // Waits until all have ended.
    void shutdown() { (void)shut_down(BLITZ_NEVER); }

    // Shuts the runtime down, and waits for `duration` at most. Returns `true` if all have ended.
    template <class Rep, class Period>
    [[nodiscard]] bool shutdown_for(const std::chrono::duration<Rep, Period>& duration) {
        return shut_down(detail::deadline_after(duration));
    }

    // Shuts the runtime down, and waits until `time` at most. Returns `true` if all have ended.
    template <class Clock, class Duration>
    [[nodiscard]] bool shutdown_until(const std::chrono::time_point<Clock, Duration>& time) {
        return detail::check_unless(
            BLITZ_ETIMEDOUT, detail::waiting_until(time, [this](auto deadline) {
                return blitz_runtime_shutdown(native_handle(), deadline);
            }));
    }

    // Returns the number of fibers and other tasks that have not ended.
    [[nodiscard]] std::size_t tasks() const noexcept { return blitz_runtime_tasks(runtime_.get()); }

    [[nodiscard]] blitz_runtime* native_handle() const noexcept { return runtime_.get(); }

private:
    bool shut_down(std::uint64_t deadline) {
        return detail::check_unless(
            BLITZ_ETIMEDOUT,
            detail::waiting([&] { return blitz_runtime_shutdown(native_handle(), deadline); }));
    }

    static void free(blitz_runtime* runtime) noexcept {
        detail::waiting([&] { return blitz_runtime_free(runtime); });
    }

    detail::handle<blitz_runtime, free> runtime_;
};

}  // namespace blitz

#endif
