// Times of cpp-ipc, in milliseconds, as deadlines of blitz.h.
#ifndef BLITZ_COMPAT_LIBIPC_DETAIL_TIMEOUT_H
#define BLITZ_COMPAT_LIBIPC_DETAIL_TIMEOUT_H

#include <blitz.h>

#include <blitz/compat/libipc/def.h>
#include <blitz/detail/waiting.hpp>

#include <algorithm>

namespace ipc::detail {

inline constexpr std::uint64_t nanoseconds_of_millisecond = 1000000;

// 0 has passed, and `invalid_value` never comes.
inline std::uint64_t deadline_of(std::uint64_t timeout) noexcept {
    if (timeout == 0) return 0;
    const std::uint64_t now = blitz_now_ns();
    if (timeout == invalid_value ||
        timeout >= (BLITZ_NEVER - 1 - now) / nanoseconds_of_millisecond)
        return BLITZ_NEVER;
    return now + timeout * nanoseconds_of_millisecond;
}

inline bool has_passed(std::uint64_t deadline) noexcept {
    return deadline != BLITZ_NEVER && blitz_now_ns() >= deadline;
}

// Returns the time at which a wait looks again at what no other process announces: the death of a
// process between a change and its wake, or the end of the connection.
inline std::uint64_t next_look(std::uint64_t deadline) noexcept {
    constexpr std::uint64_t interval = 20 * nanoseconds_of_millisecond;
    return std::min(deadline, blitz_now_ns() + interval);
}

// Sleeps between two looks at a thing for which there is no wait, longer each time.
class pause {
public:
    // Returns false in a fiber that is cancelled.
    bool until(std::uint64_t deadline) noexcept {
        const std::uint64_t wake = std::min(deadline, blitz_now_ns() + length_);
        length_ = std::min(length_ * 2, nanoseconds_of_millisecond);
        return blitz::detail::waiting([&] { return blitz_sleep_until(wake); }) == BLITZ_OK;
    }

private:
    std::uint64_t length_ = nanoseconds_of_millisecond / 32;
};

}  // namespace ipc::detail

#endif
