// Messages between processes.
#ifndef BLITZ_COMPAT_LIBIPC_IPC_H
#define BLITZ_COMPAT_LIBIPC_IPC_H

#include <blitz/compat/libipc/buffer.h>
#include <blitz/compat/libipc/def.h>
#include <blitz/compat/libipc/detail/connection.h>
#include <blitz/compat/libipc/export.h>
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

// The functions of a connection, by its handle. NULL is one that has no name.
template <typename Flag>
struct chan_impl {
    static handle_t inited() { return nullptr; }

    // Makes a connection to a name. The caller ends it with `destroy`, also if it is not connected: a
    // route has one sender at a time, and 64 receivers.
    static bool connect(handle_t* handle, const char* name, unsigned mode) {
        return connect(handle, prefix{nullptr}, name, mode);
    }
    static bool connect(handle_t* handle, prefix prefix, const char* name, unsigned mode) {
        if (handle == nullptr || name == nullptr || name[0] == '\0') return false;
        // The name may be that of the old connection.
        auto made = std::make_unique<detail::connection>(segment_of(prefix, name));
        destroy(std::exchange(*handle, made.release()));
        return reconnect(handle, mode);
    }

    // Connects again, with another mode.
    static bool reconnect(handle_t* handle, unsigned mode) {
        if (handle == nullptr || *handle == nullptr) return false;
        return (mode & ipc::receiver) != 0 ? of(*handle)->connect_receiver()
                                           : of(*handle)->connect_sender();
    }

    static void disconnect(handle_t handle) {
        if (handle != nullptr) of(handle)->disconnect();
    }
    static void destroy(handle_t handle) { delete of(handle); }

    // The name without the prefix, or NULL.
    static const char* name(handle_t handle) {
        return handle == nullptr ? nullptr : of(handle)->of().name();
    }

    static std::size_t recv_count(handle_t handle) {
        constexpr std::size_t none = invalid_value;
        return handle == nullptr ? none : of(handle)->of().count_receivers();
    }
    static bool wait_for_recv(handle_t handle, std::size_t count, std::uint64_t timeout) {
        return handle != nullptr && of(handle)->wait_for_receivers(count, timeout);
    }

    static bool send(handle_t handle, const void* data, std::size_t size, std::uint64_t timeout) {
        return handle != nullptr && of(handle)->send(data, size, timeout);
    }
    static bool try_send(handle_t handle, const void* data, std::size_t size,
                         std::uint64_t timeout) {
        return send(handle, data, size, timeout);
    }
    static buff_t recv(handle_t handle, std::uint64_t timeout) {
        return handle == nullptr ? buff_t() : of(handle)->recv(timeout);
    }
    static buff_t try_recv(handle_t handle) { return recv(handle, 0); }

private:
    using relation = relat_trait<Flag>;

    template <typename>
    friend class chan_wrapper;

    static detail::connection* of(handle_t handle) noexcept {
        return static_cast<detail::connection*>(handle);
    }

    static detail::segment segment_of(prefix prefix, const char* name) {
        constexpr std::uint32_t broadcast =
            relation::is_multi_producer ? BLITZ_IPC_CHANNEL : BLITZ_IPC_ROUTE;
        constexpr std::size_t many = 0;
        // Senders are not limited there. A segment has 512 places, and 64 of them for receivers.
        constexpr std::size_t senders = 448;
        return {prefix, name, relation::is_broadcast ? broadcast : BLITZ_IPC_QUEUE,
                relation::is_multi_producer ? senders : 1, relation::is_multi_consumer ? many : 1};
    }
};

template <typename Flag>
class chan_wrapper {
    using impl = chan_impl<Flag>;

public:
    chan_wrapper() noexcept = default;
    explicit chan_wrapper(const char* name, unsigned mode = ipc::sender) : chan_wrapper() {
        (void)connect(name, mode);
    }
    chan_wrapper(prefix prefix, const char* name, unsigned mode = ipc::sender) : chan_wrapper() {
        (void)connect(prefix, name, mode);
    }
    chan_wrapper(chan_wrapper&& other) noexcept { swap(other); }
    chan_wrapper& operator=(chan_wrapper other) noexcept {
        swap(other);
        return *this;
    }
    ~chan_wrapper() { impl::destroy(handle_); }

    void swap(chan_wrapper& other) noexcept {
        std::swap(handle_, other.handle_);
        std::swap(mode_, other.mode_);
        std::swap(connected_, other.connected_);
    }

    // The name without the prefix, or NULL.
    [[nodiscard]] const char* name() const noexcept { return impl::name(handle_); }
    [[nodiscard]] handle_t handle() const noexcept { return handle_; }
    // Returns `true` if this has a name, even if it is not connected.
    [[nodiscard]] bool valid() const noexcept { return handle_ != nullptr; }
    [[nodiscard]] unsigned mode() const noexcept { return mode_; }

    // Returns another connection of the same name and mode.
    [[nodiscard]] chan_wrapper clone() const {
        if (!valid()) return {};
        return chan_wrapper(prefix{impl::of(handle_)->of().prefix_text()}, name(), mode_);
    }

    // Connects to a name, instead of that before. Returns `true` if that was possible: a route has
    // one sender at a time, and 64 receivers.
    bool connect(const char* name, unsigned mode = ipc::sender | ipc::receiver) {
        return connect(prefix{nullptr}, name, mode);
    }
    bool connect(prefix prefix, const char* name, unsigned mode = ipc::sender | ipc::receiver) {
        if (name == nullptr || name[0] == '\0') return false;
        mode_ = mode;
        return connected_ = impl::connect(&handle_, prefix, name, mode);
    }

    // Connects again, with another mode.
    bool reconnect(unsigned mode) {
        if (!valid()) return false;
        if (connected_ && mode_ == mode) return true;
        mode_ = mode;
        return connected_ = impl::reconnect(&handle_, mode);
    }

    // Ends the connection. A call of another thread that receives returns an empty message.
    void disconnect() {
        impl::disconnect(handle_);
        connected_ = false;
    }

    // Ends the connection, and forgets the name.
    void release() noexcept {
        impl::destroy(std::exchange(handle_, nullptr));
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

    // Returns the number of receivers, those of other processes included.
    [[nodiscard]] std::size_t recv_count() const { return impl::recv_count(handle_); }

    // Waits for receivers, `timeout` milliseconds at most. Returns `true` if there are as many.
    bool wait_for_recv(std::size_t count, std::uint64_t timeout = invalid_value) const {
        return impl::wait_for_recv(handle_, count, timeout);
    }
    static bool wait_for_recv(const char* name, std::size_t count,
                              std::uint64_t timeout = invalid_value) {
        if (name == nullptr || name[0] == '\0') return false;
        return detail::connection(impl::segment_of({nullptr}, name)).wait_for_receivers(count, timeout);
    }

    // Sends a message to all receivers. Waits for the slowest, `timeout` milliseconds at most.
    // Returns false if it was not sent, also without receivers.
    bool send(const void* data, std::size_t size, std::uint64_t timeout = default_timeout) {
        return impl::send(handle_, data, size, timeout);
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
        return impl::recv(handle_, timeout);
    }
    // Receives a message without waiting.
    buff_t try_recv() { return recv(0); }

private:
    handle_t handle_ = impl::inited();
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
