// Channels whose receivers all get every value.
#ifndef BLITZ_BROADCAST_HPP
#define BLITZ_BROADCAST_HPP

#include <blitz.h>

#include <blitz/detail/copies.hpp>
#include <cstddef>
#include <utility>

namespace blitz {

// The receiving end of a broadcast channel, for one thread or fiber at a time. A copy gets the
// values sent from then on. `status::lagged` means that values were missed; the next call returns the
// oldest value that is left. A wait throws `canceled` in a fiber that is cancelled.
template <class T>
class broadcast_receiver : public detail::copying_receiver<broadcast_receiver<T>, T> {
public:
    // Returns the number of values that wait for this receiver, which other calls may change at once.
    [[nodiscard]] std::size_t size() const noexcept {
        return blitz_receiver_len(this->native_handle());
    }

    // Made by `broadcast` and `subscribe`.
    explicit broadcast_receiver(blitz_receiver* native) noexcept
        : detail::copying_receiver<broadcast_receiver<T>, T>(native) {}
};

// The sending end of a broadcast channel. Copies are more senders; several threads and fibers may
// use one at once.
template <class T>
class broadcast_sender : public detail::copying_sender<T> {
public:
    // Makes a receiver that gets the values sent from now on.
    [[nodiscard]] broadcast_receiver<T> subscribe() const {
        return broadcast_receiver<T>(this->subscribed());
    }

    // Made by `broadcast`.
    explicit broadcast_sender(blitz_sender* native) noexcept : detail::copying_sender<T>(native) {}
};

// The two ends of a new broadcast channel, for trivially copyable values:
//
//     auto [tx, rx] = blitz::broadcast<int>(64);
template <class T>
struct broadcast {
    // Makes a channel that keeps at least `capacity` values (1 to 16,777,216). Throws `error` with
    // `errc::invalid` for another capacity.
    explicit broadcast(std::size_t capacity) : broadcast(made(capacity)) {}

    broadcast_sender<T> tx;
    broadcast_receiver<T> rx;

private:
    using ends = std::pair<blitz_sender*, blitz_receiver*>;

    static ends made(std::size_t capacity) {
        ends both{};
        detail::check(blitz_broadcast_new(sizeof(T), capacity, &both.first, &both.second));
        return both;
    }

    explicit broadcast(ends both) : tx(both.first), rx(both.second) {}
};

}  // namespace blitz

#endif
