// Channels for a single value.
#ifndef BLITZ_ONESHOT_HPP
#define BLITZ_ONESHOT_HPP

#include <blitz.h>

#include <blitz/detail/element.hpp>
#include <blitz/detail/handle.hpp>
#include <blitz/detail/receiving.hpp>
#include <memory>
#include <type_traits>
#include <utility>

namespace blitz {

namespace detail {

// The two ends share it. The channel of the library calls no destructors, so a value that is
// left is destroyed here: when the receiver is destroyed, and when both are, in case the sender had
// begun to send before.
template <class T>
class oneshot_core {
public:
    oneshot_core() {
        blitz_sender* sender = nullptr;
        blitz_receiver* receiver = nullptr;
        check(blitz_oneshot_new(element<T>::size, &sender, &receiver));
        sender_.reset(sender);
        receiver_.reset(receiver);
    }
    oneshot_core(const oneshot_core&) = delete;
    oneshot_core& operator=(const oneshot_core&) = delete;
    ~oneshot_core() {
        sender_.reset();
        drain();
    }

    [[nodiscard]] blitz_sender* sender() const noexcept { return sender_.get(); }
    [[nodiscard]] blitz_receiver* receiver() const noexcept { return receiver_.get(); }

    void drop_sender() noexcept { sender_.reset(); }
    void drop_receiver() noexcept {
        close();
        drain();
    }
    void close() noexcept { (void)blitz_receiver_close(receiver_.get()); }

private:
    void drain() noexcept {
        element<T> left;
        if (blitz_try_recv(receiver_.get(), left.bytes()) == BLITZ_OK) (void)left.take();
    }

    handle<blitz_sender, blitz_sender_free> sender_;
    handle<blitz_receiver, blitz_receiver_free> receiver_;
};

}  // namespace detail

// The sending end of a channel for a single value. One that was moved from is invalid: it throws `error`.
template <class T>
class oneshot_sender {
public:
    oneshot_sender(oneshot_sender&&) noexcept = default;
    oneshot_sender& operator=(oneshot_sender other) noexcept {
        std::swap(core_, other.core_);
        return *this;
    }
    ~oneshot_sender() {
        if (core_) core_->drop_sender();
    }

    // Sends the value, without waiting. It is moved into the channel if the result is `status::ok`.
    // Otherwise it remains unchanged: the receiver was destroyed, or a value was sent before.
    [[nodiscard]] status send(T&& value) {
        detail::element<T> element(std::move(value));
        const int result = blitz_try_send(native_handle(), element.bytes());
        if (result != BLITZ_OK) value = element.take();
        return detail::status_of(result);
    }

    // Sends a copy.
    [[nodiscard]] status send(const T& value) { return send(T(value)); }

    // Returns `true` if the receiver is destroyed.
    [[nodiscard]] bool is_closed() const noexcept { return blitz_sender_is_closed(native_handle()); }

    // Waits until the receiver is destroyed, for example to stop working for it.
    void wait_closed() {
        detail::check(detail::waiting(
            [this] { return blitz_sender_wait_closed(native_handle(), BLITZ_NEVER); }));
    }

    // Waits until the receiver is destroyed, for `duration` at most. Returns `true` if it is.
    template <class Rep, class Period>
    [[nodiscard]] bool wait_closed_for(const std::chrono::duration<Rep, Period>& duration) {
        return detail::check_unless(
            BLITZ_ETIMEDOUT, detail::waiting_for(duration, [this](auto deadline) {
                return blitz_sender_wait_closed(native_handle(), deadline);
            }));
    }

    // Waits until the receiver is destroyed, until `time` at most. Returns `true` if it is.
    template <class Clock, class Duration>
    [[nodiscard]] bool wait_closed_until(const std::chrono::time_point<Clock, Duration>& time) {
        return detail::check_unless(
            BLITZ_ETIMEDOUT, detail::waiting_until(time, [this](auto deadline) {
                return blitz_sender_wait_closed(native_handle(), deadline);
            }));
    }

#if BLITZ_COROUTINES
    // `co_await` this to wait in a coroutine until the receiver is destroyed.
    [[nodiscard]] auto async_wait_closed() {
        return detail::operation([this] { wait_closed(); });
    }
#endif

    [[nodiscard]] blitz_sender* native_handle() const noexcept {
        return core_ ? core_->sender() : nullptr;
    }

    // Made by `oneshot`.
    explicit oneshot_sender(std::shared_ptr<detail::oneshot_core<T>> core) noexcept
        : core_(std::move(core)) {}

private:
    std::shared_ptr<detail::oneshot_core<T>> core_;
};

// The receiving end of a channel for a single value, for one thread or fiber at a time. One that was
// moved from is invalid: it throws `error`. A wait throws `canceled` in a fiber that is
// cancelled.
template <class T>
class oneshot_receiver : public detail::receiving<oneshot_receiver<T>, T> {
public:
    oneshot_receiver(oneshot_receiver&&) noexcept = default;
    oneshot_receiver& operator=(oneshot_receiver other) noexcept {
        std::swap(core_, other.core_);
        return *this;
    }
    ~oneshot_receiver() {
        if (core_) core_->drop_receiver();
    }

    // Makes the sender's value come back to it, unless it was sent before.
    void close() noexcept {
        if (core_) core_->close();
    }

    [[nodiscard]] blitz_receiver* native_handle() const noexcept {
        return core_ ? core_->receiver() : nullptr;
    }

    // Made by `oneshot`.
    explicit oneshot_receiver(std::shared_ptr<detail::oneshot_core<T>> core) noexcept
        : core_(std::move(core)) {}

private:
    std::shared_ptr<detail::oneshot_core<T>> core_;
};

// The two ends of a new channel for a single value that can be moved:
//
//     auto [tx, rx] = blitz::oneshot<std::string>();
template <class T>
struct oneshot {
    static_assert(std::is_object_v<T> && std::is_move_constructible_v<T> &&
                      std::is_move_assignable_v<T>,
                  "the values of a channel can be moved");

    oneshot() : oneshot(std::make_shared<detail::oneshot_core<T>>()) {}

    oneshot_sender<T> tx;
    oneshot_receiver<T> rx;

private:
    explicit oneshot(std::shared_ptr<detail::oneshot_core<T>> core) : tx(core), rx(std::move(core)) {}
};

}  // namespace blitz

#endif
