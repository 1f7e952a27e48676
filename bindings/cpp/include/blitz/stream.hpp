// Streams of bytes.
#ifndef BLITZ_STREAM_HPP
#define BLITZ_STREAM_HPP

#include <blitz.h>

#include <blitz/address.hpp>
#include <blitz/detail/deadline.hpp>
#include <blitz/detail/handle.hpp>
#include <blitz/detail/operation.hpp>
#include <blitz/detail/waiting.hpp>
#include <blitz/error.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace blitz {

// The directions of a stream.
enum class direction : std::uint32_t {
    read = BLITZ_SHUTDOWN_READ,
    write = BLITZ_SHUTDOWN_WRITE,
    both = BLITZ_SHUTDOWN_READ | BLITZ_SHUTDOWN_WRITE,
};

// A connection of TCP or of a Unix socket, or a pipe to a child process. One thread or fiber may
// read while another writes. Waits suspend the calling fiber, or block the calling thread; they
// throw `canceled` in a fiber that is cancelled, and `error` for an error of the system.
class stream {
public:
    explicit stream(blitz_stream* native) noexcept : stream_(native) {}

    // Receives up to `len` bytes, and returns their number; 0 is the end of the stream.
    std::size_t read(void* buffer, std::size_t len) {
        std::size_t count = 0;
        detail::check(detail::waiting(
            [&] { return blitz_stream_read(native_handle(), buffer, len, &count); }));
        return count;
    }

    // Receives up to `len` bytes unless `duration` passes before. Then it returns no number.
    template <class Rep, class Period>
    std::optional<std::size_t> read_for(void* buffer, std::size_t len,
                                        const std::chrono::duration<Rep, Period>& duration) {
        std::size_t count = 0;
        const int result = detail::waiting_for(duration, [&](auto deadline) {
            return blitz_stream_read_until(native_handle(), buffer, len, deadline, &count);
        });
        if (!detail::check_unless(BLITZ_ETIMEDOUT, result)) return std::nullopt;
        return count;
    }

    // Receives up to `len` bytes unless `time` comes before. Then it returns no number.
    template <class Clock, class Duration>
    std::optional<std::size_t> read_until(void* buffer, std::size_t len,
                                          const std::chrono::time_point<Clock, Duration>& time) {
        std::size_t count = 0;
        const int result = detail::waiting_until(time, [&](auto deadline) {
            return blitz_stream_read_until(native_handle(), buffer, len, deadline, &count);
        });
        if (!detail::check_unless(BLITZ_ETIMEDOUT, result)) return std::nullopt;
        return count;
    }

    // Receives bytes that have arrived. Returns no number if there is nothing.
    std::optional<std::size_t> try_read(void* buffer, std::size_t len) {
        std::size_t count = 0;
        const int result = blitz_stream_try_read(native_handle(), buffer, len, &count);
        if (!detail::check_unless(BLITZ_EAGAIN, result)) return std::nullopt;
        return count;
    }

    // Receives exactly `len` bytes. Throws `error` with `errc::eof` if the stream ends before.
    void read_exact(void* buffer, std::size_t len) {
        detail::check(detail::waiting([&] {
            return blitz_stream_read_exact(native_handle(), buffer, len, BLITZ_NEVER, nullptr);
        }));
    }

    // Sends up to `len` bytes, and returns their number.
    std::size_t write(const void* buffer, std::size_t len) {
        std::size_t count = 0;
        detail::check(detail::waiting(
            [&] { return blitz_stream_write(native_handle(), buffer, len, &count); }));
        return count;
    }

    // Sends all of `len` bytes.
    void write_all(const void* buffer, std::size_t len) {
        detail::check(detail::waiting([&] {
            return blitz_stream_write_all(native_handle(), buffer, len, BLITZ_NEVER, nullptr);
        }));
    }

    // Sends a text.
    void write_all(std::string_view text) { write_all(text.data(), text.size()); }

    // Sends all of `len` bytes unless `duration` passes before. Returns the number of sent bytes.
    template <class Rep, class Period>
    std::size_t write_all_for(const void* buffer, std::size_t len,
                              const std::chrono::duration<Rep, Period>& duration) {
        std::size_t count = 0;
        const int result = detail::waiting_for(duration, [&](auto deadline) {
            return blitz_stream_write_all(native_handle(), buffer, len, deadline, &count);
        });
        (void)detail::check_unless(BLITZ_ETIMEDOUT, result);
        return count;
    }

    // Sends all of `len` bytes unless `time` comes before. Returns the number of sent bytes.
    template <class Clock, class Duration>
    std::size_t write_all_until(const void* buffer, std::size_t len,
                                const std::chrono::time_point<Clock, Duration>& time) {
        std::size_t sent = 0;
        // A clock that is set back makes another call, for the rest.
        const int result = detail::waiting_until(time, [&](auto deadline) {
            std::size_t count = 0;
            const int written = blitz_stream_write_all(
                native_handle(), static_cast<const char*>(buffer) + sent, len - sent, deadline,
                &count);
            sent += count;
            return written;
        });
        (void)detail::check_unless(BLITZ_ETIMEDOUT, result);
        return sent;
    }

    // Ends a direction. Those that wait for the stream return.
    void shutdown(direction how) {
        detail::check(blitz_stream_shutdown(native_handle(), static_cast<std::uint32_t>(how)));
    }

    // Lets a connection of TCP send small parts at once, or collect them.
    void set_nodelay(bool nodelay) {
        detail::check(blitz_stream_set_nodelay(native_handle(), nodelay));
    }

    // Returns the address of this side of a connection of TCP.
    [[nodiscard]] address local_address() const {
        address result;
        detail::check(blitz_stream_addresses(native_handle(), result.native(), nullptr));
        return result;
    }

    // Returns the address of the other side of a connection of TCP.
    [[nodiscard]] address peer_address() const {
        address result;
        detail::check(blitz_stream_addresses(native_handle(), nullptr, result.native()));
        return result;
    }

    // Returns the descriptor, for options of the system. The stream keeps it.
    [[nodiscard]] int fd() const noexcept { return blitz_stream_fd(native_handle()); }

    [[nodiscard]] blitz_stream* native_handle() const noexcept { return stream_.get(); }

#if BLITZ_COROUTINES
    // `co_await` these in a coroutine. The buffers must live until then.
    [[nodiscard]] auto async_read(void* buffer, std::size_t len) {
        return detail::operation([this, buffer, len] { return read(buffer, len); });
    }
    [[nodiscard]] auto async_read_exact(void* buffer, std::size_t len) {
        return detail::operation([this, buffer, len] { read_exact(buffer, len); });
    }
    [[nodiscard]] auto async_write_all(const void* buffer, std::size_t len) {
        return detail::operation([this, buffer, len] { write_all(buffer, len); });
    }
    [[nodiscard]] auto async_write_all(std::string_view text) {
        return async_write_all(text.data(), text.size());
    }
#endif

private:
    detail::handle<blitz_stream, blitz_stream_free> stream_;
};

namespace detail {

template <class Connect>
stream connected(Connect&& connect) {
    blitz_stream* made = nullptr;
    check(waiting([&] { return connect(&made); }));
    return stream(made);
}

}  // namespace detail

// Connects to a host with a port, such as "example.org:80" or "[::1]:80". Throws `error` if none of
// its addresses can be reached.
inline stream connect_tcp(const std::string& host) {
    return detail::connected([&](blitz_stream** made) {
        return blitz_tcp_connect(host.c_str(), BLITZ_NEVER, made);
    });
}

// Connects to a host; throws `error` with `errc::timed_out` when `duration` has passed.
template <class Rep, class Period>
stream connect_tcp(const std::string& host, const std::chrono::duration<Rep, Period>& duration) {
    const std::uint64_t deadline = detail::deadline_after(duration);
    return detail::connected([&](blitz_stream** made) {
        return blitz_tcp_connect(host.c_str(), deadline, made);
    });
}

// Connects to an address.
inline stream connect_tcp(const address& to) {
    return detail::connected([&](blitz_stream** made) {
        return blitz_tcp_connect_address(to.native(), BLITZ_NEVER, made);
    });
}

// Connects to a Unix socket at a path.
inline stream connect_unix(const std::string& path) {
    return detail::connected([&](blitz_stream** made) {
        return blitz_unix_connect(path.c_str(), BLITZ_NEVER, made);
    });
}

// Makes two streams that are connected to each other.
inline std::pair<stream, stream> unix_pair() {
    blitz_stream* one = nullptr;
    blitz_stream* other = nullptr;
    detail::check(blitz_unix_pair(&one, &other));
    return {stream(one), stream(other)};
}

}  // namespace blitz

#endif
