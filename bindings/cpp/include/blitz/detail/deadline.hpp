// Durations and points in time as deadlines of blitz.h.
#ifndef BLITZ_DETAIL_DEADLINE_HPP
#define BLITZ_DETAIL_DEADLINE_HPP

#include <blitz.h>

#include <blitz/detail/waiting.hpp>
#include <chrono>
#include <cstdint>

namespace blitz::detail {

// Returns the deadline in this many nanoseconds. Values that are too large never come; negative
// ones and NaN have passed.
inline std::uint64_t deadline_in(long double nanoseconds) noexcept {
    if (!(nanoseconds > 0)) return 0;
    const std::uint64_t now = blitz_now_ns();
    if (nanoseconds >= static_cast<long double>(BLITZ_NEVER - 1 - now)) return BLITZ_NEVER;
    const auto whole = static_cast<std::uint64_t>(nanoseconds);
    return now + whole + (static_cast<long double>(whole) < nanoseconds ? 1 : 0);
}

// Floating point, because the largest duration of one unit is not one of another.
template <class Rep, class Period>
long double nanoseconds_of(const std::chrono::duration<Rep, Period>& duration) {
    return std::chrono::duration<long double, std::nano>(duration).count();
}

template <class Rep, class Period>
std::uint64_t deadline_after(const std::chrono::duration<Rep, Period>& duration) {
    return deadline_in(nanoseconds_of(duration));
}

template <class Clock, class Duration>
std::uint64_t deadline_at(const std::chrono::time_point<Clock, Duration>& time) {
    return deadline_in(nanoseconds_of(time.time_since_epoch()) -
                       nanoseconds_of(Clock::now().time_since_epoch()));
}

// Calls `call(deadline)`, which may wait.
template <class Rep, class Period, class Call>
auto waiting_for(const std::chrono::duration<Rep, Period>& duration, Call&& call) {
    const std::uint64_t deadline = deadline_after(duration);
    return waiting([&] { return call(deadline); });
}

// Calls `call(deadline)`, which may wait. Repeats the call if the clock was set back in that time.
template <class Clock, class Duration, class Call>
int waiting_until(const std::chrono::time_point<Clock, Duration>& time, Call&& call) {
    for (;;) {
        const std::uint64_t deadline = deadline_at(time);
        const int result = waiting([&] { return call(deadline); });
        if (result != BLITZ_ETIMEDOUT || Clock::is_steady || Clock::now() >= time) return result;
    }
}

}  // namespace blitz::detail

#endif
