// Addresses of the internet.
#ifndef BLITZ_ADDRESS_HPP
#define BLITZ_ADDRESS_HPP

#include <blitz.h>

#include <blitz/detail/deadline.hpp>
#include <blitz/detail/waiting.hpp>
#include <blitz/error.hpp>
#include <string>
#include <vector>

namespace blitz {

// An address of the internet with a port.
class address {
public:
    address() noexcept : address_{} {}
    explicit address(const blitz_address& from) noexcept : address_(from) {}

    // Reads "127.0.0.1:80" or "[::1]:80". Throws `error` with `errc::invalid` for another text.
    explicit address(const std::string& text) : address_{} {
        detail::check(blitz_address_parse(text.c_str(), &address_));
    }

    [[nodiscard]] std::uint16_t port() const noexcept { return address_.port; }

    // Returns the text that the constructor reads.
    [[nodiscard]] std::string to_string() const {
        char text[64];
        detail::check(blitz_address_format(&address_, text, sizeof text));
        return text;
    }

    [[nodiscard]] blitz_address* native() noexcept { return &address_; }
    [[nodiscard]] const blitz_address* native() const noexcept { return &address_; }

private:
    blitz_address address_;
};

// Looks up the addresses of a host with a port, such as "example.org:443". Suspends the calling
// fiber, or blocks the calling thread. Throws `error` if the name is not known.
inline std::vector<address> resolve(const std::string& host) {
    std::vector<blitz_address> found(8);
    for (;;) {
        std::size_t count = 0;
        detail::check(detail::waiting([&] {
            return blitz_dns_lookup(host.c_str(), BLITZ_NEVER, found.data(), found.size(), &count);
        }));
        const bool all = count <= found.size();
        found.resize(count);
        if (all) return {found.begin(), found.end()};
    }
}

}  // namespace blitz

#endif
