// The channel that all senders and receivers share.
//
// The channel of the library knows no destructors, so values that are left in it are destroyed here:
//
// 1. The last receiver closes the channel and then takes out its elements. A sender that has begun
//    before may still add its value.
// 2. When no sender and no receiver is left, nothing is added any more, and the core takes the rest
//    out.
#ifndef BLITZ_DETAIL_CHANNEL_CORE_HPP
#define BLITZ_DETAIL_CHANNEL_CORE_HPP

#include <blitz.h>

#include <atomic>
#include <blitz/detail/element.hpp>
#include <blitz/detail/handle.hpp>
#include <blitz/error.hpp>

namespace blitz::detail {

template <class T>
class channel_core {
public:
    explicit channel_core(std::size_t capacity) {
        blitz_sender* sender = nullptr;
        blitz_receiver* receiver = nullptr;
        check(blitz_mpmc_new(element<T>::size, capacity, &sender, &receiver));
        sender_.reset(sender);
        receiver_.reset(receiver);
    }
    channel_core(const channel_core&) = delete;
    channel_core& operator=(const channel_core&) = delete;
    ~channel_core() { drain(); }

    [[nodiscard]] blitz_sender* sender() const noexcept { return sender_.get(); }
    [[nodiscard]] blitz_receiver* receiver() const noexcept { return receiver_.get(); }

    void add_sender() noexcept { senders_.fetch_add(1, std::memory_order_relaxed); }
    void add_receiver() noexcept { receivers_.fetch_add(1, std::memory_order_relaxed); }

    void drop_sender() noexcept {
        if (senders_.fetch_sub(1, std::memory_order_acq_rel) == 1) close();
    }

    void drop_receiver() noexcept {
        if (receivers_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
        close();
        drain();
    }

    void close() noexcept { (void)blitz_sender_close(sender_.get()); }

private:
    void drain() noexcept {
        element<T> left;
        while (blitz_try_recv(receiver_.get(), left.bytes()) == BLITZ_OK) (void)left.take();
    }

    handle<blitz_sender, blitz_sender_free> sender_;
    handle<blitz_receiver, blitz_receiver_free> receiver_;
    std::atomic<std::size_t> senders_{1};
    std::atomic<std::size_t> receivers_{1};
};

}  // namespace blitz::detail

#endif
