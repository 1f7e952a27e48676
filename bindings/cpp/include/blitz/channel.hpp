// Channels of values.
#ifndef BLITZ_CHANNEL_HPP
#define BLITZ_CHANNEL_HPP

#include <blitz.h>

#include <blitz/detail/channel_core.hpp>
#include <blitz/detail/deadline.hpp>
#include <blitz/detail/operation.hpp>
#include <blitz/detail/waiting.hpp>
#include <iterator>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace blitz {

// How sending or receiving has ended.
enum class status {
    ok = BLITZ_OK,
    // Nothing can receive any more; or the channel is empty, and nothing can be sent any more.
    closed = BLITZ_ECLOSED,
    full = BLITZ_EFULL,
    empty = BLITZ_EEMPTY,
    timed_out = BLITZ_ETIMEDOUT,
    // The receiver was too slow and missed values. Only for receivers of `broadcast`.
    lagged = BLITZ_ELAGGED,
};

namespace detail {

// The statuses that are no exceptions.
inline status status_of(int result) {
    switch (result) {
        case BLITZ_ECLOSED:
        case BLITZ_EFULL:
        case BLITZ_EEMPTY:
        case BLITZ_ETIMEDOUT:
        case BLITZ_ELAGGED:
            break;
        default:
            check(result);
    }
    return static_cast<status>(result);
}

}  // namespace detail

// No limit of the values in a channel.
inline constexpr std::size_t unbounded = BLITZ_UNBOUNDED;

// A value that was received, or why there is none.
template <class T>
class received : public std::optional<T> {
public:
    explicit received(T&& value) : std::optional<T>(std::move(value)) {}
    explicit received(status why) noexcept : why_(why) {}

    [[nodiscard]] status why() const noexcept { return why_; }

private:
    status why_ = status::ok;
};

// The sending end of a channel. Copies are more senders; several threads and fibers may use one at
// once. A sender that was moved from is invalid: it sends nothing and throws `error`.
//
// A value is moved into the channel if the result is `status::ok`, and otherwise remains unchanged.
// A wait throws `canceled` in a fiber that is cancelled.
template <class T>
class sender {
public:
    sender(const sender& other) noexcept : core_(other.core_) {
        if (core_) core_->add_sender();
    }
    sender(sender&&) noexcept = default;
    sender& operator=(sender other) noexcept {
        std::swap(core_, other.core_);
        return *this;
    }
    ~sender() {
        if (core_) core_->drop_sender();
    }

    // Sends a value. Suspends the calling fiber, or blocks the calling thread, while the channel is
    // full.
    [[nodiscard]] status send(T&& value) {
        return send_with(value, [this](const void* bytes) {
            return detail::waiting([&] { return blitz_send(native_handle(), bytes); });
        });
    }

    // Sends a value unless `duration` passes before.
    template <class Rep, class Period>
    [[nodiscard]] status send_for(T&& value,
                                         const std::chrono::duration<Rep, Period>& duration) {
        return send_with(value, [&](const void* bytes) {
            return detail::waiting_for(duration, [&](auto deadline) {
                return blitz_send_until(native_handle(), bytes, deadline);
            });
        });
    }

    // Sends a value unless `time` comes before.
    template <class Clock, class Duration>
    [[nodiscard]] status send_until(T&& value,
                                           const std::chrono::time_point<Clock, Duration>& time) {
        return send_with(value, [&](const void* bytes) {
            return detail::waiting_until(time, [&](auto deadline) {
                return blitz_send_until(native_handle(), bytes, deadline);
            });
        });
    }

    // Sends a value if there is room.
    [[nodiscard]] status try_send(T&& value) {
        return send_with(value, [this](const void* bytes) {
            return blitz_try_send(native_handle(), bytes);
        });
    }

    // Sends a copy.
    [[nodiscard]] status send(const T& value) { return send(T(value)); }

    // Sends a copy if there is room.
    [[nodiscard]] status try_send(const T& value) { return try_send(T(value)); }

    // Returns `true` if no receiver is left.
    [[nodiscard]] bool is_closed() const noexcept { return blitz_sender_is_closed(native_handle()); }

    // Closes the channel for all its ends. What is in it can be received still.
    void close() noexcept {
        if (core_) core_->close();
    }

#if BLITZ_COROUTINES
    // `co_await` this to send a value in a coroutine. The value must live until then.
    [[nodiscard]] auto async_send(T&& value) {
        return detail::operation([this, &value] { return send(std::move(value)); });
    }
#endif

    [[nodiscard]] blitz_sender* native_handle() const noexcept {
        return core_ ? core_->sender() : nullptr;
    }

    // Made by `channel`.
    explicit sender(std::shared_ptr<detail::channel_core<T>> core) noexcept
        : core_(std::move(core)) {}

private:
    template <class Send>
    status send_with(T& value, Send&& send) {
        if constexpr (std::is_trivially_copyable_v<T>) {
            return detail::status_of(send(&value));
        } else {
            detail::element<T> element(std::move(value));
            const int result = send(element.bytes());
            // Not sent, so it goes back.
            if (result != BLITZ_OK) value = element.take();
            return detail::status_of(result);
        }
    }

    std::shared_ptr<detail::channel_core<T>> core_;
};

// The receiving end of a channel. Copies are more receivers, each value goes to one of them; several
// threads and fibers may use one at once. A receiver that was moved from is invalid: it throws
// `error`.
//
// A wait throws `canceled` in a fiber that is cancelled. `for (T& value : receiver)` receives until
// the channel is closed.
template <class T>
class receiver {
public:
    receiver(const receiver& other) noexcept : core_(other.core_) {
        if (core_) core_->add_receiver();
    }
    receiver(receiver&&) noexcept = default;
    receiver& operator=(receiver other) noexcept {
        std::swap(core_, other.core_);
        return *this;
    }
    ~receiver() {
        if (core_) core_->drop_receiver();
    }

    // Receives a value. Suspends the calling fiber, or blocks the calling thread, while the channel
    // is empty.
    [[nodiscard]] received<T> recv() {
        return recv_with([this](void* bytes) {
            return detail::waiting([&] { return blitz_recv(native_handle(), bytes); });
        });
    }

    // Receives a value unless `duration` passes before.
    template <class Rep, class Period>
    [[nodiscard]] received<T> recv_for(const std::chrono::duration<Rep, Period>& duration) {
        return recv_with([&](void* bytes) {
            return detail::waiting_for(duration, [&](auto deadline) {
                return blitz_recv_until(native_handle(), bytes, deadline);
            });
        });
    }

    // Receives a value unless `time` comes before.
    template <class Clock, class Duration>
    [[nodiscard]] received<T> recv_until(const std::chrono::time_point<Clock, Duration>& time) {
        return recv_with([&](void* bytes) {
            return detail::waiting_until(time, [&](auto deadline) {
                return blitz_recv_until(native_handle(), bytes, deadline);
            });
        });
    }

    // Receives a value if there is one.
    [[nodiscard]] received<T> try_recv() {
        return recv_with([this](void* bytes) { return blitz_try_recv(native_handle(), bytes); });
    }

    // Closes the channel for all its ends. What is in it can be received still.
    void close() noexcept {
        if (core_) core_->close();
    }

    // Returns the number of values in the channel, which other calls may change at once.
    [[nodiscard]] std::size_t size() const noexcept { return blitz_receiver_len(native_handle()); }

#if BLITZ_COROUTINES
    // `co_await` this to receive a value in a coroutine.
    [[nodiscard]] auto async_recv() {
        return detail::operation([this] { return recv(); });
    }
#endif

    // Receives the values of a receiver, until the channel is closed.
    class iterator {
    public:
        using iterator_category = std::input_iterator_tag;
        using value_type = T;
        using difference_type = std::ptrdiff_t;
        using pointer = T*;
        using reference = T&;

        iterator() = default;
        explicit iterator(receiver* from) : from_(from) { ++*this; }

        T& operator*() { return *value_; }
        T* operator->() { return &*value_; }
        iterator& operator++() {
            value_.reset();
            if (auto next = from_->recv())
                value_.emplace(std::move(*next));
            else
                from_ = nullptr;
            return *this;
        }
        void operator++(int) { ++*this; }
        friend bool operator==(const iterator& one, const iterator& other) {
            return one.from_ == other.from_;
        }
        friend bool operator!=(const iterator& one, const iterator& other) {
            return !(one == other);
        }

    private:
        receiver* from_ = nullptr;
        std::optional<T> value_;
    };

    [[nodiscard]] iterator begin() { return iterator(this); }
    [[nodiscard]] iterator end() { return {}; }

    [[nodiscard]] blitz_receiver* native_handle() const noexcept {
        return core_ ? core_->receiver() : nullptr;
    }

    // Made by `channel`.
    explicit receiver(std::shared_ptr<detail::channel_core<T>> core) noexcept
        : core_(std::move(core)) {}

private:
    template <class Receive>
    received<T> recv_with(Receive&& receive) {
        detail::element<T> element;
        const int result = receive(element.bytes());
        if (result == BLITZ_OK) return received<T>(element.take());
        return received<T>(detail::status_of(result));
    }

    std::shared_ptr<detail::channel_core<T>> core_;
};

// The two ends of a new channel for values that can be moved:
//
//     auto [tx, rx] = blitz::channel<std::string>(16);
//
// It is closed for sending when all receivers are destroyed, and ends for receivers when all senders
// are destroyed and it is empty.
template <class T>
struct channel {
    static_assert(std::is_object_v<T> && std::is_move_constructible_v<T> &&
                      std::is_move_assignable_v<T>,
                  "the values of a channel can be moved");

    // Makes a channel with room for `capacity` values (up to 16,777,216), or `unbounded`. With 0 a
    // sender waits until a receiver has taken its value. Throws `error` with `errc::invalid` for
    // another capacity.
    explicit channel(std::size_t capacity)
        : channel(std::make_shared<detail::channel_core<T>>(capacity)) {}

    blitz::sender<T> tx;
    blitz::receiver<T> rx;

private:
    explicit channel(std::shared_ptr<detail::channel_core<T>> core) : tx(core), rx(std::move(core)) {}
};

}  // namespace blitz

#endif
