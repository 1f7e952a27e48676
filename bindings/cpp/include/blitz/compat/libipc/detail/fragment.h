// Messages in parts that fit in a ring. Each part begins with a header.
#ifndef BLITZ_COMPAT_LIBIPC_DETAIL_FRAGMENT_H
#define BLITZ_COMPAT_LIBIPC_DETAIL_FRAGMENT_H

#include <blitz/compat/libipc/buffer.h>
#include <blitz/compat/libipc/detail/segment.h>

#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <new>
#include <random>
#include <utility>

namespace ipc::detail {

struct fragment_header {
    // The connection that sends.
    std::uint64_t origin;
    // The bytes of the whole message, and of the parts before this one.
    std::uint64_t size;
    std::uint64_t before;
};

inline constexpr std::size_t fragment_bytes = segment::fragment_size - sizeof(fragment_header);

// Returns a number that no other connection has.
inline std::uint64_t new_origin() {
    std::random_device random;
    return (static_cast<std::uint64_t>(random()) << 32) | random();
}

// The messages of which parts have arrived. The parts of one sender arrive in their order.
class assembly {
public:
    // Adds a part, and returns the message if it is whole now. A part that does not fit to those
    // before, because a sender gave up or is not one of this library, ends their message.
    buffer add(const void* fragment, std::size_t len) {
        fragment_header header{};
        if (len < sizeof(header)) return {};
        std::memcpy(&header, fragment, sizeof(header));
        const auto* const bytes = static_cast<const byte_t*>(fragment) + sizeof(header);
        len -= sizeof(header);
        if (header.before == 0 && header.size == len) {
            unfinished_.erase(header.origin);
            return copy_of(bytes, len);
        }
        if (header.before == 0) begin(header);
        const auto found = unfinished_.find(header.origin);
        if (found == unfinished_.end()) return {};
        message& parts = found->second;
        if (header.size != parts.size || header.before != parts.filled || len > parts.size - parts.filled) {
            unfinished_.erase(found);
            return {};
        }
        std::memcpy(parts.bytes.get() + parts.filled, bytes, len);
        parts.filled += len;
        if (parts.filled < parts.size) return {};
        buffer whole = owned(parts.bytes.release(), parts.filled);
        unfinished_.erase(found);
        return whole;
    }

private:
    // Bounds the unfinished messages of senders that died.
    static constexpr std::size_t most_unfinished = 256;

    // Each part is copied to its place, and the receiver gets this memory.
    struct message {
        std::unique_ptr<byte_t[]> bytes;
        std::uint64_t size;
        std::size_t filled;
    };

    // Begins a message, instead of the last one of this sender. Without memory for it there is none.
    void begin(const fragment_header& header) {
        unfinished_.erase(header.origin);
        if (header.size > std::numeric_limits<std::size_t>::max() / 2) return;
        if (unfinished_.size() >= most_unfinished) unfinished_.erase(unfinished_.begin());
        std::unique_ptr<byte_t[]> bytes(new (std::nothrow) byte_t[static_cast<std::size_t>(header.size)]);
        if (bytes) unfinished_.emplace(header.origin, message{std::move(bytes), header.size, 0});
    }

    static buffer copy_of(const byte_t* bytes, std::size_t len) {
        if (len == 0) return {};
        auto* const copy = new byte_t[len];
        std::memcpy(copy, bytes, len);
        return owned(copy, len);
    }

    static buffer owned(byte_t* bytes, std::size_t len) {
        return {bytes, len, [](void* data, std::size_t) { delete[] static_cast<byte_t*>(data); }};
    }

    std::map<std::uint64_t, message> unfinished_;
};

}  // namespace ipc::detail

#endif
