// Messages in parts that fit in a ring. Each part begins with a header.
#ifndef BLITZ_COMPAT_LIBIPC_DETAIL_FRAGMENT_H
#define BLITZ_COMPAT_LIBIPC_DETAIL_FRAGMENT_H

#include <blitz/compat/libipc/buffer.h>
#include <blitz/compat/libipc/detail/segment.h>

#include <cstring>
#include <map>
#include <random>
#include <vector>

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

// The messages of which parts have come. The parts of one sender come in their order.
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
        std::vector<byte_t>& parts = part_of(header);
        if (header.before != parts.size() || header.size < header.before ||
            len > header.size - header.before) {
            unfinished_.erase(header.origin);
            return {};
        }
        parts.insert(parts.end(), bytes, bytes + len);
        if (parts.size() < header.size) return {};
        buffer whole = copy_of(parts.data(), parts.size());
        unfinished_.erase(header.origin);
        return whole;
    }

private:
    // Senders that died in the middle of a message do not add up.
    static constexpr std::size_t most_unfinished = 256;

    std::vector<byte_t>& part_of(const fragment_header& header) {
        if (header.before == 0) {
            if (unfinished_.size() >= most_unfinished) unfinished_.erase(unfinished_.begin());
            unfinished_[header.origin].clear();
        }
        return unfinished_[header.origin];
    }

    static buffer copy_of(const byte_t* bytes, std::size_t len) {
        if (len == 0) return {};
        auto* const copy = new byte_t[len];
        std::memcpy(copy, bytes, len);
        return {copy, len, [](void* data, std::size_t) { delete[] static_cast<byte_t*>(data); }};
    }

    std::map<std::uint64_t, std::vector<byte_t>> unfinished_;
};

}  // namespace ipc::detail

#endif
