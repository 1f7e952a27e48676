// Messages between processes.
#ifndef BLITZ_COMPAT_LIBIPC_IPC_H
#define BLITZ_COMPAT_LIBIPC_IPC_H

#include <blitz/compat/libipc/buffer.h>
#include <blitz/compat/libipc/def.h>
#include <blitz/compat/libipc/detail/connection.h>
#include <blitz/compat/libipc/shm.h>

#include <memory>
#include <string>
#include <utility>

namespace ipc {

using handle_t = void*;
using buff_t = buffer;

// Modes of a connection; `sender | receiver` is a receiver, which may also send.
enum : unsigned {
    sender,
    receiver,
};

template <typename Flag>
class chan_wrapper {
    using relation = relat_trait<Flag>;

public:
    chan_wrapper() noexcept = default;
    explicit chan_wrapper(const char* name, unsigned mode = ipc::sender) {
        (void)connect(name, mode);
    }
    chan_wrapper(prefix prefix, const char* name, unsigned mode = ipc::sender) {
        (void)connect(prefix, name, mode);
    }
    chan_wrapper(chan_wrapper&& other) noexcept { swap(other); }
    chan_wrapper& operator=(chan_wrapper other) noexcept {
        swap(other);
        return *this;
    }
    ~chan_wrapper() = default;

    void swap(chan_wrapper& other) noexcept {
        std::swap(connection_, other.connection_);
        std::swap(mode_, other.mode_);
        std::swap(connected_, other.connected_);
    }

    // The name without the prefix, or NULL.
    [[nodiscard]] const char* name() const noexcept {
        return valid() ? connection_->of().name() : nullptr;
    }
    [[nodiscard]] handle_t handle() const noexcept { return connection_.get(); }
    // Whether it has a name; it may not be connected.
    [[nodiscard]] bool valid() const noexcept { return connection_ != nullptr; }
    [[nodiscard]] unsigned mode() const noexcept { return mode_; }

    // Returns another connection of the same name and mode.
    [[nodiscard]] chan_wrapper clone() const {
        if (!valid()) return {};
        return chan_wrapper(prefix{connection_->of().prefix_text()}, name(), mode_);
    }

    // Connects to a name, instead of that before. Returns whether that was possible: a route has
    // one sender at a time, and 64 receivers.
    bool connect(const char* name, unsigned mode = ipc::sender | ipc::receiver) {
        return connect(prefix{nullptr}, name, mode);
    }
    bool connect(prefix prefix, const char* name, unsigned mode = ipc::sender | ipc::receiver) {
        if (name == nullptr || name[0] == '\0') return false;
        disconnect();
        connection_ = std::make_unique<detail::connection>(segment_of(prefix, name));
        mode_ = mode;
        return connected_ = join();
    }

    // Connects again, with another mode.
    bool reconnect(unsigned mode) {
        if (!valid()) return false;
        if (connected_ && mode_ == mode) return true;
        mode_ = mode;
        return connected_ = join();
    }

    // Ends the connection. A call of another thread that receives returns an empty message.
    void disconnect() {
        if (!valid()) return;
        connection_->disconnect();
        connected_ = false;
    }

    // Ends the connection, and forgets the name.
    void release() noexcept {
        connection_.reset();
        connected_ = false;
    }
    // Does the same, and removes the memory of dead processes.
    void clear() noexcept {
        release();
        (void)blitz_ipc_clean(nullptr);
    }
    // Removes the memory of dead processes. That of others lives as long as they use it.
    static void clear_storage(const char* /*name*/) noexcept { (void)blitz_ipc_clean(nullptr); }
    static void clear_storage(prefix /*prefix*/, const char* /*name*/) noexcept {
        (void)blitz_ipc_clean(nullptr);
    }

    // Returns how many receivers there are, those of other processes too.
    [[nodiscard]] std::size_t recv_count() const {
        constexpr std::size_t none = invalid_value;
        return valid() ? connection_->of().count_receivers() : none;
    }

    // Waits for receivers, `timeout` milliseconds at most. Returns whether there are as many.
    bool wait_for_recv(std::size_t count, std::uint64_t timeout = invalid_value) const {
        return valid() && connection_->wait_for_receivers(count, timeout);
    }
    static bool wait_for_recv(const char* name, std::size_t count,
                              std::uint64_t timeout = invalid_value) {
        if (name == nullptr || name[0] == '\0') return false;
        return detail::connection(segment_of({nullptr}, name)).wait_for_receivers(count, timeout);
    }

    // Sends a message to all receivers. Waits for the slowest, `timeout` milliseconds at most.
    // Returns false if it was not sent, also without receivers.
    bool send(const void* data, std::size_t size, std::uint64_t timeout = default_timeout) {
        return valid() && connection_->send(data, size, timeout);
    }
    bool send(const buff_t& message, std::uint64_t timeout = default_timeout) {
        return send(message.data(), message.size(), timeout);
    }
    // Sends a text with its final zero.
    bool send(const std::string& text, std::uint64_t timeout = default_timeout) {
        return send(text.c_str(), text.size() + 1, timeout);
    }

    // Does the same.
    bool try_send(const void* data, std::size_t size, std::uint64_t timeout = default_timeout) {
        return send(data, size, timeout);
    }
    bool try_send(const buff_t& message, std::uint64_t timeout = default_timeout) {
        return send(message, timeout);
    }
    bool try_send(const std::string& text, std::uint64_t timeout = default_timeout) {
        return send(text, timeout);
    }

    // Receives a message that another connection has sent, within `timeout` milliseconds. It is
    // empty if none came, or this is no receiver.
    buff_t recv(std::uint64_t timeout = invalid_value) {
        return valid() ? connection_->recv(timeout) : buff_t();
    }
    // Receives a message without waiting.
    buff_t try_recv() { return recv(0); }

private:
    static detail::segment segment_of(prefix prefix, const char* name) {
        constexpr std::uint32_t broadcast =
            relation::is_multi_producer ? BLITZ_IPC_CHANNEL : BLITZ_IPC_ROUTE;
        constexpr std::size_t many = 0;
        // Senders are not limited there. A segment has 512 places, and 64 of them for receivers.
        constexpr std::size_t senders = 448;
        return {prefix, name, relation::is_broadcast ? broadcast : BLITZ_IPC_QUEUE,
                relation::is_multi_producer ? senders : 1, relation::is_multi_consumer ? many : 1};
    }

    bool join() {
        return (mode_ & ipc::receiver) != 0 ? connection_->connect_receiver()
                                            : connection_->connect_sender();
    }

    std::unique_ptr<detail::connection> connection_;
    unsigned mode_ = ipc::sender;
    bool connected_ = false;
};

template <relat Rp, relat Rc, trans Ts>
using chan = chan_wrapper<wr<Rp, Rc, Ts>>;

// One sender; every receiver gets every message.
using route = chan<relat::single, relat::multi, trans::broadcast>;

// Many senders; every receiver gets every message.
using channel = chan<relat::multi, relat::multi, trans::broadcast>;

}  // namespace ipc

#endif
