// Types and numbers of cpp-ipc.
#ifndef BLITZ_COMPAT_LIBIPC_DEF_H
#define BLITZ_COMPAT_LIBIPC_DEF_H

#include <cstddef>
#include <cstdint>
#include <limits>

namespace ipc {

using byte_t = std::uint8_t;

template <std::size_t N>
struct uint;
template <>
struct uint<8> {
    using type = std::uint8_t;
};
template <>
struct uint<16> {
    using type = std::uint16_t;
};
template <>
struct uint<32> {
    using type = std::uint32_t;
};
template <>
struct uint<64> {
    using type = std::uint64_t;
};
template <std::size_t N>
using uint_t = typename uint<N>::type;

enum : std::uint32_t {
    // A time without a limit, or a count of receivers without a connection.
    invalid_value = std::numeric_limits<std::uint32_t>::max(),
    // The time for sending, in milliseconds.
    default_timeout = 100,
};

enum : std::size_t {
    // Not used here.
    central_cache_default_size = 1024 * 1024,
    data_length = 64,
    large_msg_limit = data_length,
    large_msg_align = 1024,
    large_msg_cache = 32,
};

enum class relat { single, multi };
enum class trans { unicast, broadcast };

// The numbers of senders and receivers, and the way in which receivers get messages.
template <relat Rp, relat Rc, trans Ts>
struct wr {};

template <typename Wr>
struct relat_trait;

template <relat Rp, relat Rc, trans Ts>
struct relat_trait<wr<Rp, Rc, Ts>> {
    static constexpr bool is_multi_producer = Rp == relat::multi;
    static constexpr bool is_multi_consumer = Rc == relat::multi;
    static constexpr bool is_broadcast = Ts == trans::broadcast;
};

template <template <typename> class Policy, typename Flag>
struct relat_trait<Policy<Flag>> : relat_trait<Flag> {};

// A part of a name that separates programs from each other.
struct prefix {
    const char* str;
};

}  // namespace ipc

#endif
