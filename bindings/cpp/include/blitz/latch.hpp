// A latch.
#ifndef BLITZ_LATCH_HPP
#define BLITZ_LATCH_HPP

#include <blitz.h>

#include <blitz/detail/deadline.hpp>
#include <blitz/detail/operation.hpp>
#include <blitz/detail/waiting.hpp>
#include <blitz/error.hpp>
#include <cstddef>
#include <limits>

namespace blitz {

// A count that goes down to 0 once, and releases those that wait, with the members of std::latch. A
// wait throws `canceled` in a fiber that is cancelled.
class latch {
public:
    // The largest count.
    static constexpr std::ptrdiff_t max() noexcept {
        return std::numeric_limits<std::int32_t>::max();
    }

    // Throws `error` with `errc::invalid` for a count that is negative or more than `max()`.
    constexpr explicit latch(std::ptrdiff_t count) : latch_ BLITZ_LATCH_INIT(checked(count)) {}
    latch(const latch&) = delete;
    latch& operator=(const latch&) = delete;
    ~latch() = default;

    // Lowers the count. Throws `error` with `errc::invalid` if the count is less than `n`.
    void count_down(std::ptrdiff_t n = 1) {
        detail::check(blitz_latch_count_down(&latch_, checked(n)));
    }

    // Returns `true` if the count is 0.
    [[nodiscard]] bool try_wait() const noexcept {
        return blitz_latch_try_wait(&latch_) == BLITZ_OK;
    }

    // Waits until the count is 0. Suspends the calling fiber, or blocks the calling thread.
    void wait() const {
        detail::check(detail::waiting([this] { return blitz_latch_wait(&latch_); }));
    }

    // Waits until the count is 0, for `duration` at most. Returns `true` if it is.
    template <class Rep, class Period>
    [[nodiscard]] bool wait_for(const std::chrono::duration<Rep, Period>& duration) const {
        return detail::check_unless(
            BLITZ_ETIMEDOUT, detail::waiting_for(duration, [this](auto deadline) {
                return blitz_latch_wait_until(&latch_, deadline);
            }));
    }

    // Waits until the count is 0, until `time` at most. Returns `true` if it is.
    template <class Clock, class Duration>
    [[nodiscard]] bool wait_until(const std::chrono::time_point<Clock, Duration>& time) const {
        return detail::check_unless(
            BLITZ_ETIMEDOUT, detail::waiting_until(time, [this](auto deadline) {
                return blitz_latch_wait_until(&latch_, deadline);
            }));
    }

    // Lowers the count, and waits until it is 0.
    void arrive_and_wait(std::ptrdiff_t n = 1) {
        count_down(n);
        wait();
    }

#if BLITZ_COROUTINES
    // `co_await` this to wait until the count is 0 in a coroutine.
    [[nodiscard]] auto async_wait() const {
        return detail::operation([this] { wait(); });
    }
#endif

private:
    static constexpr std::uint32_t checked(std::ptrdiff_t count) {
        if (count < 0 || count > max()) throw error(BLITZ_EINVAL, "count of a latch");
        return static_cast<std::uint32_t>(count);
    }

    mutable blitz_latch latch_;
};

}  // namespace blitz

#endif
