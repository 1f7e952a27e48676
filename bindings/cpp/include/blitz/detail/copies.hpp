// The ends of channels that hand the same value to many receivers, as copies of its bytes.
#ifndef BLITZ_DETAIL_COPIES_HPP
#define BLITZ_DETAIL_COPIES_HPP

#include <blitz.h>

#include <blitz/detail/handle.hpp>
#include <blitz/detail/receiving.hpp>
#include <type_traits>
#include <utility>

namespace blitz::detail {

using sender_handle = handle<blitz_sender, blitz_sender_free>;
using receiver_handle = handle<blitz_receiver, blitz_receiver_free>;

template <class T>
class copying_sender {
    static_assert(std::is_trivially_copyable_v<T>, "each receiver gets a copy of the bytes");

public:
    copying_sender(const copying_sender& other) : sender_(other.clone()) {}
    copying_sender(copying_sender&&) noexcept = default;
    copying_sender& operator=(copying_sender other) noexcept {
        std::swap(sender_, other.sender_);
        return *this;
    }
    ~copying_sender() = default;

    // Sends a copy to all receivers, without waiting. `status::closed` means that there are none.
    status send(const T& value) { return status_of(blitz_try_send(native_handle(), &value)); }

    // Returns `true` if there are no receivers.
    [[nodiscard]] bool is_closed() const noexcept { return blitz_sender_is_closed(native_handle()); }

    // Waits until there are no receivers.
    void wait_closed() {
        check(waiting([this] { return blitz_sender_wait_closed(native_handle(), BLITZ_NEVER); }));
    }

#if BLITZ_COROUTINES
    // `co_await` this to wait in a coroutine until there are no receivers.
    [[nodiscard]] auto async_wait_closed() {
        return operation([this] { wait_closed(); });
    }
#endif

    [[nodiscard]] blitz_sender* native_handle() const noexcept { return sender_.get(); }

protected:
    explicit copying_sender(blitz_sender* native) noexcept : sender_(native) {}

    [[nodiscard]] blitz_receiver* subscribed() const {
        blitz_receiver* made = nullptr;
        check(blitz_sender_subscribe(native_handle(), &made));
        return made;
    }

private:
    [[nodiscard]] blitz_sender* clone() const {
        blitz_sender* made = nullptr;
        check(blitz_sender_clone(native_handle(), &made));
        return made;
    }

    sender_handle sender_;
};

template <class Receiver, class T>
class copying_receiver : public receiving<Receiver, T> {
public:
    copying_receiver(const copying_receiver& other)
        : receiving<Receiver, T>(), receiver_(other.clone()) {}
    copying_receiver(copying_receiver&&) noexcept = default;
    copying_receiver& operator=(copying_receiver other) noexcept {
        std::swap(receiver_, other.receiver_);
        return *this;
    }
    ~copying_receiver() = default;

    [[nodiscard]] blitz_receiver* native_handle() const noexcept { return receiver_.get(); }

protected:
    explicit copying_receiver(blitz_receiver* native) noexcept : receiver_(native) {}

private:
    [[nodiscard]] blitz_receiver* clone() const {
        blitz_receiver* made = nullptr;
        check(blitz_receiver_clone(native_handle(), &made));
        return made;
    }

    receiver_handle receiver_;
};

}  // namespace blitz::detail

#endif
