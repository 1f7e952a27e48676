// Waits for descriptors of other libraries.
#ifndef BLITZ_FD_HPP
#define BLITZ_FD_HPP

#include <blitz.h>

#include <blitz/detail/deadline.hpp>
#include <blitz/detail/handle.hpp>
#include <blitz/detail/operation.hpp>
#include <blitz/detail/waiting.hpp>
#include <blitz/error.hpp>
#include <cstdint>
#include <optional>

namespace blitz {

// The events of a descriptor: a set, of which `read` and `write` can be waited for. The two
// others are only reported.
enum class fd_events : std::uint32_t {
    none = 0,
    // Reading does not wait: there are bytes, a connection, or the end of the stream.
    read = BLITZ_FD_READ,
    // Writing does not wait.
    write = BLITZ_FD_WRITE,
    // There is an error, which the next operation reports.
    error = BLITZ_FD_ERROR,
    // The other side has hung up.
    hangup = BLITZ_FD_HANGUP,
};

constexpr fd_events operator|(fd_events one, fd_events other) noexcept {
    return static_cast<fd_events>(static_cast<std::uint32_t>(one) |
                                  static_cast<std::uint32_t>(other));
}

constexpr fd_events operator&(fd_events one, fd_events other) noexcept {
    return static_cast<fd_events>(static_cast<std::uint32_t>(one) &
                                  static_cast<std::uint32_t>(other));
}

namespace detail {

inline int fd_wait(int fd, fd_events events, std::uint64_t deadline, fd_events& ready) {
    std::uint32_t found = 0;
    const int result = blitz_fd_wait(fd, static_cast<std::uint32_t>(events), deadline, &found);
    ready = static_cast<fd_events>(found);
    return result;
}

}  // namespace detail

// Waits until a descriptor is ready for one of `events`, or has an error, and returns its
// events. Suspends the calling fiber, or blocks the calling thread. The caller keeps the descriptor, and
// must not close it during the call.
//
// Throws `canceled` in a fiber that is cancelled, and `error` for no or unknown events and for an error
// of the system, such as std::errc::bad_file_descriptor.
inline fd_events wait_fd(int fd, fd_events events) {
    fd_events ready{};
    detail::check(detail::waiting([&] { return detail::fd_wait(fd, events, BLITZ_NEVER, ready); }));
    return ready;
}

// Waits as `wait_fd` does, for `duration` at most. Returns nothing if that passes before.
template <class Rep, class Period>
[[nodiscard]] std::optional<fd_events> wait_fd_for(
    int fd, fd_events events, const std::chrono::duration<Rep, Period>& duration) {
    fd_events ready{};
    const int result = detail::waiting_for(
        duration, [&](auto deadline) { return detail::fd_wait(fd, events, deadline, ready); });
    if (!detail::check_unless(BLITZ_ETIMEDOUT, result)) return std::nullopt;
    return ready;
}

// Waits as `wait_fd` does, until `time` at most. Returns nothing if that comes before.
template <class Clock, class Duration>
[[nodiscard]] std::optional<fd_events> wait_fd_until(
    int fd, fd_events events, const std::chrono::time_point<Clock, Duration>& time) {
    fd_events ready{};
    const int result = detail::waiting_until(
        time, [&](auto deadline) { return detail::fd_wait(fd, events, deadline, ready); });
    if (!detail::check_unless(BLITZ_ETIMEDOUT, result)) return std::nullopt;
    return ready;
}

#if BLITZ_COROUTINES
// `co_await` this to wait for a descriptor in a coroutine.
[[nodiscard]] inline auto async_wait_fd(int fd, fd_events events) {
    return detail::operation([fd, events] { return wait_fd(fd, events); });
}
#endif

// A descriptor that its owner waits for more than once: a wait costs less than one with `wait_fd`.
// Several threads and fibers may use it at once. The caller keeps the descriptor open longer than
// this.
//
// Wait after an operation has reported EAGAIN, then repeat the operation: it may report EAGAIN again.
class fd_watch {
public:
    // Throws `error` with std::errc::bad_file_descriptor for a negative number.
    explicit fd_watch(int fd) {
        blitz_fd_watch* made = nullptr;
        detail::check(blitz_fd_watch_new(fd, &made));
        watch_.reset(made);
    }

    // Waits until the descriptor can be ready for one of `events`. Throws as `wait_fd` does.
    void wait(fd_events events) {
        detail::check(detail::waiting([&] { return wait_native(events, BLITZ_NEVER); }));
    }

    // Waits as `wait` does, for `duration` at most. Returns `true` if it can be ready.
    template <class Rep, class Period>
    [[nodiscard]] bool wait_for(fd_events events,
                                const std::chrono::duration<Rep, Period>& duration) {
        return detail::check_unless(
            BLITZ_ETIMEDOUT, detail::waiting_for(duration, [&](auto deadline) {
                return wait_native(events, deadline);
            }));
    }

    // Waits as `wait` does, until `time` at most. Returns `true` if it can be ready.
    template <class Clock, class Duration>
    [[nodiscard]] bool wait_until(fd_events events,
                                  const std::chrono::time_point<Clock, Duration>& time) {
        return detail::check_unless(
            BLITZ_ETIMEDOUT, detail::waiting_until(time, [&](auto deadline) {
                return wait_native(events, deadline);
            }));
    }

#if BLITZ_COROUTINES
    // `co_await` this to wait in a coroutine.
    [[nodiscard]] auto async_wait(fd_events events) {
        return detail::operation([this, events] { wait(events); });
    }
#endif

    [[nodiscard]] blitz_fd_watch* native_handle() const noexcept { return watch_.get(); }

private:
    int wait_native(fd_events events, std::uint64_t deadline) {
        return blitz_fd_watch_wait(native_handle(), static_cast<std::uint32_t>(events), deadline);
    }

    detail::handle<blitz_fd_watch, blitz_fd_watch_free> watch_;
};

}  // namespace blitz

#endif
