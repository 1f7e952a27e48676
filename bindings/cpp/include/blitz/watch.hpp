// Channels that keep the latest value.
#ifndef BLITZ_WATCH_HPP
#define BLITZ_WATCH_HPP

#include <blitz.h>

#include <blitz/detail/copies.hpp>
#include <utility>

namespace blitz {

// The receiving end of a watch channel, for one thread or fiber at a time. `recv` waits for a value
// that this receiver has not seen. A wait throws `canceled` in a fiber that is cancelled.
template <class T>
class watch_receiver : public detail::copying_receiver<watch_receiver<T>, T> {
public:
    // Returns the latest value, which then counts as seen.
    [[nodiscard]] T latest() {
        detail::element_of_bytes<T> element;
        detail::check(blitz_receiver_latest(this->native_handle(), element.bytes()));
        return element.take();
    }

    // Made by `watch` and `subscribe`.
    explicit watch_receiver(blitz_receiver* native) noexcept
        : detail::copying_receiver<watch_receiver<T>, T>(native) {}
};

// The sending end of a watch channel, whose values replace each other. Copies are more senders;
// several threads and fibers may use one at once.
template <class T>
class watch_sender : public detail::copying_sender<T> {
public:
    // Makes a receiver that waits for the values sent from now on.
    [[nodiscard]] watch_receiver<T> subscribe() const {
        return watch_receiver<T>(this->subscribed());
    }

    // Made by `watch`.
    explicit watch_sender(blitz_sender* native) noexcept : detail::copying_sender<T>(native) {}
};

// The two ends of a new watch channel, for trivially copyable values:
//
//     auto [tx, rx] = blitz::watch<double>(0.5);
template <class T>
struct watch {
    // Makes a channel that begins with a value.
    explicit watch(const T& initial) : watch(made(initial)) {}

    watch_sender<T> tx;
    watch_receiver<T> rx;

private:
    using ends = std::pair<blitz_sender*, blitz_receiver*>;

    static ends made(const T& initial) {
        ends both{};
        detail::check(blitz_watch_new(sizeof(T), &initial, &both.first, &both.second));
        return both;
    }

    explicit watch(ends both) : tx(both.first), rx(both.second) {}
};

}  // namespace blitz

#endif
