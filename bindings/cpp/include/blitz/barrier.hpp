// A barrier with phases.
//
// `pending_` counts the arrivals that the phase lacks, and `phase_` numbers the phases
// (detail/phase.hpp).
//
// 1. A participant reads the phase before it lowers `pending_`. The phase lacks its arrival, so the
//    number cannot change in between: it is that of the phase in which it arrives.
// 2. The participant that lowers `pending_` to 0 sees the effects of the others before they arrived. It
//    alone runs the completion function and sets `pending_` for the next phase.
// 3. It then advances `phase_`, which wakes the sleeping participants.
// 4. An arrival in the next phase comes after step 3, because its participant has waited, or was
//    told by one that has. So it sees the new `pending_`.
// 5. `phase_` is not used after it has advanced, except by waits. So a participant may destroy the
//    barrier when all have returned from their last wait, or only arrived.
#ifndef BLITZ_BARRIER_HPP
#define BLITZ_BARRIER_HPP

#include <atomic>
#include <blitz/detail/operation.hpp>
#include <blitz/detail/phase.hpp>
#include <blitz/error.hpp>
#include <cstddef>
#include <limits>
#include <type_traits>
#include <utility>

namespace blitz {

namespace detail {

struct no_completion {
    void operator()() const noexcept {}
};

}  // namespace detail

// A barrier for threads and fibers, with the members of std::barrier. The last participant to
// arrive runs the completion function, which must not throw. A wait throws `canceled` in a fiber
// that is cancelled; it has arrived nevertheless.
template <class Completion = detail::no_completion>
class barrier {
    static_assert(std::is_nothrow_invocable_v<Completion&>, "a completion function is noexcept");

public:
    // The phase of an arrival.
    class arrival_token {
        friend barrier;
        explicit arrival_token(std::uint32_t phase) noexcept : phase_(phase) {}
        std::uint32_t phase_;

    public:
        arrival_token(arrival_token&&) noexcept = default;
        arrival_token& operator=(arrival_token&&) noexcept = default;
    };

    // The most participants.
    static constexpr std::ptrdiff_t max() noexcept {
        return std::numeric_limits<std::int32_t>::max();
    }

    // Throws `error` with `errc::invalid` for a number of participants that is negative or more
    // than `max()`.
    constexpr explicit barrier(std::ptrdiff_t expected, Completion completion = Completion())
        : expected_(checked(expected)), pending_(expected), completion_(std::move(completion)) {}
    barrier(const barrier&) = delete;
    barrier& operator=(const barrier&) = delete;
    ~barrier() = default;

    // Arrives, and does not wait. Throws `error` with `errc::invalid` for an `n` that is not
    // positive.
    [[nodiscard]] arrival_token arrive(std::ptrdiff_t n = 1) {
        if (n <= 0) throw error(BLITZ_EINVAL, "arrivals at a barrier");
        const std::uint32_t phase = phase_.number(std::memory_order_relaxed);
        if (pending_.fetch_sub(n, std::memory_order_acq_rel) == n) complete(phase);
        return arrival_token(phase);
    }

    // Waits until the phase of an arrival has ended. Suspends the calling fiber, or blocks the
    // calling thread.
    void wait(arrival_token&& arrival) const {
        const auto threads = static_cast<std::size_t>(expected_.load(std::memory_order_relaxed));
        detail::check(phase_.wait_while(arrival.phase_, threads, BLITZ_NEVER));
    }

    // Arrives, and waits until the phase has ended.
    void arrive_and_wait() { wait(arrive()); }

    // Arrives, and lowers the number of participants of the phases that follow.
    void arrive_and_drop() {
        expected_.fetch_sub(1, std::memory_order_relaxed);
        (void)arrive();
    }

#if BLITZ_COROUTINES
    // `co_await` this to arrive and wait in a coroutine.
    [[nodiscard]] auto async_arrive_and_wait() {
        return detail::operation([this] { arrive_and_wait(); });
    }
#endif

private:
    static constexpr std::ptrdiff_t checked(std::ptrdiff_t expected) {
        if (expected < 0 || expected > max()) throw error(BLITZ_EINVAL, "number of participants");
        return expected;
    }

    void complete(std::uint32_t phase) noexcept {
        completion_();
        pending_.store(expected_.load(std::memory_order_relaxed), std::memory_order_relaxed);
        phase_.advance(phase);
    }

    detail::phase phase_;
    std::atomic<std::ptrdiff_t> expected_;
    std::atomic<std::ptrdiff_t> pending_;
    Completion completion_;
};

}  // namespace blitz

#endif
