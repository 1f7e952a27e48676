// Functions that are called once.
#ifndef BLITZ_ONCE_HPP
#define BLITZ_ONCE_HPP

#include <blitz/detail/operation.hpp>
#include <blitz/mutex.hpp>

#include <atomic>
#include <functional>
#include <mutex>
#include <type_traits>
#include <utility>

namespace blitz {

// A flag for `call_once`, set when its function has been called.
class once_flag {
public:
    constexpr once_flag() noexcept = default;
    once_flag(const once_flag&) = delete;
    once_flag& operator=(const once_flag&) = delete;
    ~once_flag() = default;

    // Returns `true` if a call has ended without an exception. Its effects are then visible.
    [[nodiscard]] bool is_done() const noexcept { return done_.load(std::memory_order_acquire); }

private:
    template <class F, class... Args>
    friend void call_once(once_flag& flag, F&& function, Args&&... arguments);

    mutex mutex_;
    std::atomic<bool> done_{false};
};

// Calls `function(arguments...)`, unless a call with this flag has ended without an exception. If
// another call runs, waits until it has ended: suspends the calling fiber, or blocks the calling
// thread. After an exception the next call runs. A function that calls this with the same flag waits
// for ever.
template <class F, class... Args>
void call_once(once_flag& flag, F&& function, Args&&... arguments) {
    if (flag.is_done()) return;
    const std::lock_guard lock(flag.mutex_);
    if (flag.is_done()) return;
    std::invoke(std::forward<F>(function), std::forward<Args>(arguments)...);
    flag.done_.store(true, std::memory_order_release);
}

#if BLITZ_COROUTINES
// `co_await` this to call a function once in a coroutine.
template <class F>
[[nodiscard]] auto async_call_once(once_flag& flag, F function) {
    return detail::operation(
        [&flag, function = std::move(function)]() mutable { call_once(flag, function); });
}
#endif

}  // namespace blitz

#endif
