// A connection to a segment, as a sender, a receiver, or both.
#ifndef BLITZ_COMPAT_LIBIPC_DETAIL_CONNECTION_H
#define BLITZ_COMPAT_LIBIPC_DETAIL_CONNECTION_H

#include <blitz/compat/libipc/detail/fragment.h>
#include <blitz/compat/libipc/detail/segment.h>
#include <blitz/detail/handle.hpp>
#include <blitz/mutex.hpp>

#include <atomic>
#include <memory>
#include <mutex>

namespace ipc::detail {

// A lock for the calls of one end, which allows only one call.
class turn {
public:
    turn(blitz_mutex& mutex, std::uint64_t deadline) noexcept
        : mutex_(mutex), mine_(blitz::detail::waiting([&] {
                                  return blitz_mutex_lock_until(&mutex, deadline);
                              }) == BLITZ_OK) {}
    turn(const turn&) = delete;
    turn& operator=(const turn&) = delete;
    ~turn() {
        if (mine_) (void)blitz_mutex_unlock(&mutex_);
    }

    explicit operator bool() const noexcept { return mine_; }

private:
    blitz_mutex& mutex_;
    bool mine_;
};

struct sending_end {
    blitz::detail::handle<blitz_ipc_sender, blitz_ipc_sender_free> native;
    blitz_mutex mutex BLITZ_MUTEX_INIT;
};

struct receiving_end {
    blitz::detail::handle<blitz_ipc_receiver, blitz_ipc_receiver_free> native;
    blitz_mutex mutex BLITZ_MUTEX_INIT;
    assembly messages;
    std::atomic<bool> closed{false};
};

class connection {
public:
    explicit connection(segment segment) : segment_(std::move(segment)) {}
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;
    ~connection() { disconnect(); }

    [[nodiscard]] const segment& of() const noexcept { return segment_; }

    // Becomes a receiver, and returns `true` if that was possible.
    bool connect_receiver() {
        const std::lock_guard lock(ends_);
        sender_.reset();
        disconnected_ = false;
        if (receiver_) return true;
        blitz_ipc_receiver* const native = segment_.open_receiver();
        if (native == nullptr) return false;
        receiver_ = std::make_shared<receiving_end>();
        receiver_->native.reset(native);
        changes().fetch_add(1, std::memory_order_release);
        return true;
    }

    // Becomes a sender only.
    bool connect_sender() {
        const std::lock_guard lock(ends_);
        drop_receiver();
        disconnected_ = false;
        return open_sender();
    }

    // Leaves the segment. A call that receives ends, and one that sends.
    void disconnect() noexcept {
        const std::lock_guard lock(ends_);
        drop_receiver();
        sender_.reset();
        disconnected_ = true;
    }

    // Sends a message. Without a receiver, or if the ring stays full, it was not sent.
    bool send(const void* data, std::size_t size, std::uint64_t timeout) {
        if (data == nullptr || size == 0) return false;
        const std::shared_ptr<sending_end> end = sending();
        if (!end || !has_receiver()) return false;
        const std::uint64_t deadline = deadline_of(timeout);
        const turn turn(end->mutex, deadline);
        if (!turn) return false;
        const auto* const bytes = static_cast<const byte_t*>(data);
        for (std::size_t sent = 0; sent < size;) {
            const std::size_t len = std::min(size - sent, fragment_bytes);
            if (!send_part(*end, {origin_, size, sent}, bytes + sent, len, deadline)) return false;
            sent += len;
        }
        return true;
    }

    // Receives a message of another connection; an empty one if none comes in time, or the
    // connection ends.
    buffer recv(std::uint64_t timeout) {
        const std::shared_ptr<receiving_end> end = receiving();
        if (!end) return {};
        const std::uint64_t deadline = deadline_of(timeout);
        const turn turn(end->mutex, deadline);
        if (!turn) return {};
        pause pause;
        for (;;) {
            if (end->closed.load(std::memory_order_acquire)) return {};
            const void* message = nullptr;
            std::size_t len = 0;
            const int result = blitz::detail::waiting([&] {
                return blitz_ipc_take(end->native.get(), timeout == 0 ? 0 : next_look(deadline),
                                      &message, &len);
            });
            if (result == BLITZ_OK) {
                buffer whole = is_own(message, len) ? buffer() : end->messages.add(message, len);
                (void)blitz_ipc_release(end->native.get());
                if (!whole.empty()) return whole;
                continue;
            }
            if (result == BLITZ_ELAGGED) continue;
            const bool none = result == BLITZ_EEMPTY || result == BLITZ_ETIMEDOUT;
            if ((!none && result != BLITZ_ECLOSED) || has_passed(deadline)) return {};
            // All senders have left, and others may join.
            if (result == BLITZ_ECLOSED && !pause.until(deadline)) return {};
        }
    }

    // Waits until the segment has as many receivers.
    [[nodiscard]] bool wait_for_receivers(std::size_t count, std::uint64_t timeout) const {
        const std::uint64_t deadline = deadline_of(timeout);
        pause pause;
        while (segment_.count_receivers() < count) {
            if (has_passed(deadline) || is_disconnected() || !pause.until(deadline)) return false;
        }
        return true;
    }

private:
    // Counts the arrivals and departures of receivers in this process.
    static std::atomic<std::uint64_t>& changes() noexcept {
        static std::atomic<std::uint64_t> of_process{1};
        return of_process;
    }

    bool open_sender() {
        if (sender_) return true;
        blitz_ipc_sender* const native = segment_.open_sender();
        if (native == nullptr) return false;
        sender_ = std::make_shared<sending_end>();
        sender_->native.reset(native);
        return true;
    }

    void drop_receiver() noexcept {
        if (!receiver_) return;
        // The last call that uses it frees it.
        receiver_->closed.store(true, std::memory_order_release);
        receiver_.reset();
        changes().fetch_add(1, std::memory_order_release);
    }

    // A receiver may send too, and a route's second sender when the first has left.
    std::shared_ptr<sending_end> sending() {
        const std::lock_guard lock(ends_);
        if (!disconnected_) (void)open_sender();
        return sender_;
    }

    std::shared_ptr<receiving_end> receiving() const {
        const std::lock_guard lock(ends_);
        return receiver_;
    }

    [[nodiscard]] bool is_disconnected() const {
        const std::lock_guard lock(ends_);
        return disconnected_;
    }

    // To count receivers takes longer than to send. So the answer "there is one" holds for a
    // millisecond, unless a receiver of this process has joined or left.
    bool has_receiver() {
        const std::uint64_t change = changes().load(std::memory_order_acquire);
        const std::uint64_t now = blitz_now_ns();
        if (seen_change_.load(std::memory_order_relaxed) == change &&
            now < seen_until_.load(std::memory_order_relaxed))
            return true;
        if (segment_.count_receivers() == 0) return false;
        seen_until_.store(now + nanoseconds_of_millisecond, std::memory_order_relaxed);
        seen_change_.store(change, std::memory_order_relaxed);
        return true;
    }

    static bool send_part(sending_end& end, const fragment_header& header, const byte_t* bytes,
                          std::size_t len, std::uint64_t deadline) {
        void* room = nullptr;
        const int result = blitz::detail::waiting([&] {
            return blitz_ipc_loan(end.native.get(), sizeof(header) + len, deadline, &room);
        });
        if (result != BLITZ_OK) return false;
        std::memcpy(room, &header, sizeof(header));
        std::memcpy(static_cast<byte_t*>(room) + sizeof(header), bytes, len);
        return blitz_ipc_loan_send(end.native.get(), sizeof(header) + len) == BLITZ_OK;
    }

    [[nodiscard]] bool is_own(const void* message, std::size_t len) const noexcept {
        fragment_header header{};
        if (len < sizeof(header)) return false;
        std::memcpy(&header, message, sizeof(header));
        return header.origin == origin_;
    }

    segment segment_;
    std::uint64_t origin_ = new_origin();
    std::atomic<std::uint64_t> seen_change_{0};
    std::atomic<std::uint64_t> seen_until_{0};

    // Never held in a wait for a message. A fiber sleeps with it while the segment is busy, so the others of
    // its thread must not block the thread.
    mutable blitz::mutex ends_;
    std::shared_ptr<sending_end> sender_;
    std::shared_ptr<receiving_end> receiver_;
    bool disconnected_ = false;
};

}  // namespace ipc::detail

#endif
