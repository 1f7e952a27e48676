// Messages between processes.
#ifndef BLITZ_IPC_HPP
#define BLITZ_IPC_HPP

#include <blitz.h>

#include <blitz/channel.hpp>
#include <blitz/detail/deadline.hpp>
#include <blitz/detail/handle.hpp>
#include <blitz/detail/operation.hpp>
#include <blitz/detail/waiting.hpp>
#include <blitz/error.hpp>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

namespace blitz::ipc {

// The behaviour of a sender when the ring is full.
enum class when_full : std::uint32_t {
    // Waits for the slowest receiver that is alive.
    block = BLITZ_IPC_BLOCK,
    // Overwrites the oldest message; a receiver that missed some gets `errc::lagged`.
    drop_oldest = BLITZ_IPC_DROP_OLDEST,
    // Returns `status::full`.
    fail = BLITZ_IPC_FAIL,
};

// Settings of a segment of shared memory. The participant that makes the segment decides.
struct options {
    ipc::when_full when_full = ipc::when_full::block;
    // The number of messages that the ring holds, rounded up to a power of two. 0: 1,024.
    std::size_t capacity = 0;
    // The most senders at once. 0: 64 (a route has one).
    std::size_t max_senders = 0;
    // The most receivers at once. 0: 64.
    std::size_t max_receivers = 0;
    // The permissions of the segment's file. 0: 0600.
    std::uint32_t mode = 0;
    // If true, a new receiver also gets the messages that are in the ring already.
    bool with_history = false;
    // If true, joining fails if there is no segment.
    bool must_exist = false;
    // The directory of the segment's file. Empty: one of the user.
    std::string directory;
};

namespace detail {

using blitz::detail::check;
using blitz::detail::check_unless;
using blitz::detail::waiting;
using blitz::detail::waiting_for;
using blitz::detail::waiting_until;

inline blitz_ipc_settings native(const options& options, std::uint32_t kind, std::size_t size) {
    blitz_ipc_settings settings = BLITZ_IPC_SETTINGS_INIT;
    settings.kind = kind;
    settings.when_full = static_cast<std::uint32_t>(options.when_full);
    settings.capacity = options.capacity;
    settings.max_len = size;
    settings.max_senders = options.max_senders;
    settings.max_receivers = options.max_receivers;
    settings.mode = options.mode;
    settings.with_history = options.with_history;
    settings.must_exist = options.must_exist;
    settings.directory = options.directory.empty() ? nullptr : options.directory.c_str();
    return settings;
}

inline status status_of(int result) {
    if (result != BLITZ_EFULL && result != BLITZ_ETIMEDOUT && result != BLITZ_ECLOSED &&
        result != BLITZ_EEMPTY)
        check(result);
    return static_cast<status>(result);
}

}  // namespace detail

// The sending end of a segment, for one thread or fiber at a time; another gets `error` with
// `errc::busy`. Waits throw `canceled` in a fiber that is cancelled.
template <class T, std::uint32_t Kind>
class basic_sender {
    static_assert(std::is_trivially_copyable_v<T>, "processes share bytes");

public:
    // Joins the segment `name`, and makes it if there is none. Throws `error` with
    // `errc::mismatch` if the segment has other settings, with `errc::full` if it has as many
    // senders as it allows, and for errors of the system.
    explicit basic_sender(const std::string& name, const options& options = {}) {
        const auto settings = detail::native(options, Kind, sizeof(T));
        blitz_ipc_sender* made = nullptr;
        detail::check(blitz_ipc_sender_open(name.c_str(), &settings, &made));
        sender_.reset(made);
    }

    // Sends a copy. Suspends the calling fiber, or blocks the calling thread, while the ring is
    // full. The result is `status::ok`, or `status::full` with `when_full::fail`.
    status send(const T& message) {
        return detail::status_of(detail::waiting(
            [&] { return blitz_ipc_send(native_handle(), &message, sizeof(T)); }));
    }

    // Sends a copy unless `duration` passes before.
    template <class Rep, class Period>
    [[nodiscard]] status send_for(const T& message,
                                  const std::chrono::duration<Rep, Period>& duration) {
        return detail::status_of(detail::waiting_for(duration, [&](auto deadline) {
            return blitz_ipc_send_until(native_handle(), &message, sizeof(T), deadline);
        }));
    }

    // Sends a copy unless `time` comes before.
    template <class Clock, class Duration>
    [[nodiscard]] status send_until(const T& message,
                                    const std::chrono::time_point<Clock, Duration>& time) {
        return detail::status_of(detail::waiting_until(time, [&](auto deadline) {
            return blitz_ipc_send_until(native_handle(), &message, sizeof(T), deadline);
        }));
    }

    // Sends a copy if there is room.
    [[nodiscard]] status try_send(const T& message) {
        return detail::status_of(blitz_ipc_try_send(native_handle(), &message, sizeof(T)));
    }

    // Waits until the receivers of a queue have released every message that was sent before; throws in
    // a route or channel. What is left is lost when the last participant leaves, so a sender that may
    // be the last one calls this before its destructor.
    void drained() {
        detail::check(
            detail::waiting([&] { return blitz_ipc_drained(native_handle(), BLITZ_NEVER); }));
    }

    // Waits as `drained` does unless `duration` passes before, which is `status::timed_out`.
    template <class Rep, class Period>
    [[nodiscard]] status drained_for(const std::chrono::duration<Rep, Period>& duration) {
        return detail::status_of(detail::waiting_for(duration, [&](auto deadline) {
            return blitz_ipc_drained(native_handle(), deadline);
        }));
    }

    // Waits as `drained` does unless `time` comes before, which is `status::timed_out`.
    template <class Clock, class Duration>
    [[nodiscard]] status drained_until(const std::chrono::time_point<Clock, Duration>& time) {
        return detail::status_of(detail::waiting_until(time, [&](auto deadline) {
            return blitz_ipc_drained(native_handle(), deadline);
        }));
    }

    // Room for a message in shared memory. Without `send` nothing is sent.
    class loan {
    public:
        loan(loan&& other) noexcept
            : sender_(std::exchange(other.sender_, nullptr)), message_(other.message_) {}
        loan& operator=(loan&&) = delete;
        ~loan() {
            if (sender_ != nullptr) (void)blitz_ipc_loan_drop(sender_);
        }

        T& operator*() const noexcept { return *message_; }
        T* operator->() const noexcept { return message_; }

        // Sends the message, and ends the loan.
        void send() {
            detail::check(blitz_ipc_loan_send(std::exchange(sender_, nullptr), sizeof(T)));
        }

    private:
        friend basic_sender;
        loan(blitz_ipc_sender* sender, void* room) : sender_(sender), message_(new (room) T()) {}

        blitz_ipc_sender* sender_;
        T* message_;
    };

    // Borrows room for a message, which begins as `T()`. The sender must not be moved, nor send
    // anything else, until the loan ends. Suspends the calling fiber, or blocks the calling thread,
    // while the ring is full.
    [[nodiscard]] loan borrow() {
        static_assert(std::is_default_constructible_v<T>);
        static_assert(alignof(T) <= alignof(std::uint64_t), "a message is aligned to 8 bytes");
        void* room = nullptr;
        detail::check(detail::waiting([&] {
            return blitz_ipc_loan(native_handle(), sizeof(T), BLITZ_NEVER, &room);
        }));
        return loan(native_handle(), room);
    }

    [[nodiscard]] blitz_ipc_sender* native_handle() const noexcept { return sender_.get(); }

#if BLITZ_COROUTINES
    // `co_await` this to send a copy in a coroutine.
    [[nodiscard]] auto async_send(const T& message) {
        return blitz::detail::operation([this, message] { return send(message); });
    }
#endif

private:
    blitz::detail::handle<blitz_ipc_sender, blitz_ipc_sender_free> sender_;
};

// The receiving end of a segment, for one thread or fiber at a time; another gets `error` with
// `errc::busy`. Waits throw `canceled` in a fiber that is cancelled, `error` with `errc::lagged` if
// messages were dropped before, and with `errc::size` for a message of another size.
template <class T, std::uint32_t Kind>
class basic_receiver {
    static_assert(std::is_trivially_copyable_v<T>, "processes share bytes");

public:
    // Joins the segment `name`, and makes it if there is none. Throws as a sender does.
    explicit basic_receiver(const std::string& name, const options& options = {}) {
        const auto settings = detail::native(options, Kind, sizeof(T));
        blitz_ipc_receiver* made = nullptr;
        detail::check(blitz_ipc_receiver_open(name.c_str(), &settings, &made));
        receiver_.reset(made);
    }

    // Receives a message. Suspends the calling fiber, or blocks the calling thread, until there is
    // one. `status::closed` means that there is neither a message nor a sender, in a queue also if
    // all senders left before this receiver joined.
    [[nodiscard]] received<T> recv() {
        return recv_with([this](void* bytes, std::size_t* count) {
            return detail::waiting(
                [&] { return blitz_ipc_recv(native_handle(), bytes, sizeof(T), count); });
        });
    }

    // Receives a message unless `duration` passes before.
    template <class Rep, class Period>
    [[nodiscard]] received<T> recv_for(const std::chrono::duration<Rep, Period>& duration) {
        return recv_with([&](void* bytes, std::size_t* count) {
            return detail::waiting_for(duration, [&](auto deadline) {
                return blitz_ipc_recv_until(native_handle(), bytes, sizeof(T), deadline, count);
            });
        });
    }

    // Receives a message unless `time` comes before.
    template <class Clock, class Duration>
    [[nodiscard]] received<T> recv_until(const std::chrono::time_point<Clock, Duration>& time) {
        return recv_with([&](void* bytes, std::size_t* count) {
            return detail::waiting_until(time, [&](auto deadline) {
                return blitz_ipc_recv_until(native_handle(), bytes, sizeof(T), deadline, count);
            });
        });
    }

    // Receives a message if there is one.
    [[nodiscard]] received<T> try_recv() {
        return recv_with([this](void* bytes, std::size_t* count) {
            return blitz_ipc_try_recv(native_handle(), bytes, sizeof(T), count);
        });
    }

    // Returns a descriptor that becomes readable after `try_recv_or_arm` has returned
    // `status::empty`. The receiver keeps it.
    [[nodiscard]] int doorbell() {
        int fd = -1;
        detail::check(blitz_ipc_receiver_doorbell(native_handle(), &fd));
        return fd;
    }

    // Receives a message if there is one; otherwise the doorbell rings when there may be one.
    [[nodiscard]] received<T> try_recv_or_arm() {
        return recv_with([this](void* bytes, std::size_t* count) {
            return blitz_ipc_try_recv_or_arm(native_handle(), bytes, sizeof(T), count);
        });
    }

    [[nodiscard]] blitz_ipc_receiver* native_handle() const noexcept { return receiver_.get(); }

#if BLITZ_COROUTINES
    // `co_await` this to receive a message in a coroutine.
    [[nodiscard]] auto async_recv() {
        return blitz::detail::operation([this] { return recv(); });
    }
#endif

private:
    template <class Receive>
    received<T> recv_with(Receive&& receive) {
        blitz::detail::element_of_bytes<T> message;
        std::size_t count = 0;
        const int result = receive(message.bytes(), &count);
        if (result != BLITZ_OK) return received<T>(detail::status_of(result));
        if (count != sizeof(T)) throw error(BLITZ_ESIZE, "a message has the size of another type");
        return received<T>(message.take());
    }

    blitz::detail::handle<blitz_ipc_receiver, blitz_ipc_receiver_free> receiver_;
};

// One sender; every receiver gets every message.
template <class T>
struct route {
    using sender = basic_sender<T, BLITZ_IPC_ROUTE>;
    using receiver = basic_receiver<T, BLITZ_IPC_ROUTE>;
};

// Many senders; every receiver gets every message, all in one order.
template <class T>
struct channel {
    using sender = basic_sender<T, BLITZ_IPC_CHANNEL>;
    using receiver = basic_receiver<T, BLITZ_IPC_CHANNEL>;
};

// Many senders; each message goes to one receiver.
template <class T>
struct queue {
    using sender = basic_sender<T, BLITZ_IPC_QUEUE>;
    using receiver = basic_receiver<T, BLITZ_IPC_QUEUE>;
};

// Removes the segments of this user that no living process uses, and returns their number.
inline std::size_t clean() {
    std::size_t count = 0;
    detail::check(blitz_ipc_clean(&count));
    return count;
}

}  // namespace blitz::ipc

#endif
