// Semaphores.
#ifndef BLITZ_SEMAPHORE_HPP
#define BLITZ_SEMAPHORE_HPP

#include <blitz.h>

#include <blitz/detail/deadline.hpp>
#include <blitz/detail/operation.hpp>
#include <blitz/detail/waiting.hpp>
#include <blitz/error.hpp>
#include <cstddef>

namespace blitz {

// A semaphore for threads and fibers, with the members of std::counting_semaphore. It is fair. A
// wait throws `canceled` in a fiber that is cancelled.
template <std::ptrdiff_t LeastMax = BLITZ_SEMAPHORE_MAX>
class counting_semaphore {
    static_assert(LeastMax >= 0 && LeastMax <= BLITZ_SEMAPHORE_MAX,
                  "the maximum is at most BLITZ_SEMAPHORE_MAX");

public:
    // The most permits that it can have.
    static constexpr std::ptrdiff_t max() noexcept { return BLITZ_SEMAPHORE_MAX; }

    // Throws `error` with `errc::invalid` for a number that is negative or more than `max()`.
    constexpr explicit counting_semaphore(std::ptrdiff_t permits)
        : semaphore_ BLITZ_SEMAPHORE_INIT(checked(permits)) {}
    counting_semaphore(const counting_semaphore&) = delete;
    counting_semaphore& operator=(const counting_semaphore&) = delete;
    ~counting_semaphore() = default;

    // Adds permits. Throws `error` with `errc::invalid` if there would be more than `max()`; then
    // it adds none.
    void release(std::ptrdiff_t permits = 1) {
        detail::check(blitz_semaphore_release(&semaphore_, checked(permits)));
    }

    // Takes a permit. Suspends the calling fiber, or blocks the calling thread, until there is one.
    void acquire() {
        detail::check(detail::waiting([this] { return blitz_semaphore_acquire(&semaphore_, 1); }));
    }

    // Takes a permit if there is one, and no other waits for it.
    [[nodiscard]] bool try_acquire() noexcept {
        return blitz_semaphore_try_acquire(&semaphore_, 1) == BLITZ_OK;
    }

    // Takes a permit unless `duration` passes before.
    template <class Rep, class Period>
    [[nodiscard]] bool try_acquire_for(const std::chrono::duration<Rep, Period>& duration) {
        return detail::check_unless(
            BLITZ_ETIMEDOUT, detail::waiting_for(duration, [this](auto deadline) {
                return blitz_semaphore_acquire_until(&semaphore_, 1, deadline);
            }));
    }

    // Takes a permit unless `time` comes before.
    template <class Clock, class Duration>
    [[nodiscard]] bool try_acquire_until(const std::chrono::time_point<Clock, Duration>& time) {
        return detail::check_unless(
            BLITZ_ETIMEDOUT, detail::waiting_until(time, [this](auto deadline) {
                return blitz_semaphore_acquire_until(&semaphore_, 1, deadline);
            }));
    }

#if BLITZ_COROUTINES
    // `co_await` this to take a permit in a coroutine.
    [[nodiscard]] auto async_acquire() {
        return detail::operation([this] { acquire(); });
    }
#endif

private:
    static constexpr std::uint32_t checked(std::ptrdiff_t permits) {
        if (permits < 0 || permits > max()) throw error(BLITZ_EINVAL, "number of permits");
        return static_cast<std::uint32_t>(permits);
    }

    blitz_semaphore semaphore_;
};

using binary_semaphore = counting_semaphore<1>;

}  // namespace blitz

#endif
