// The segment of a connection: its name and settings.
#ifndef BLITZ_COMPAT_LIBIPC_DETAIL_SEGMENT_H
#define BLITZ_COMPAT_LIBIPC_DETAIL_SEGMENT_H

#include <blitz.h>

#include <blitz/compat/libipc/def.h>
#include <blitz/compat/libipc/detail/timeout.h>

#include <cctype>
#include <string>

namespace ipc::detail {

class segment {
public:
    // The most bytes of a fragment, and the number of fragments in the ring: 1 MiB of shared memory.
    static constexpr std::size_t fragment_size = 4096;
    static constexpr std::size_t capacity = 256;

    segment(prefix prefix, const char* name, std::uint32_t kind, std::size_t senders,
            std::size_t receivers)
        : prefix_(prefix.str == nullptr ? "" : prefix.str), name_(name) {
        settings_.kind = kind;
        settings_.capacity = capacity;
        settings_.max_len = fragment_size;
        settings_.max_senders = senders;
        settings_.max_receivers = receivers;
        path_ = "libipc-" + allowed(prefix_) + ".." + allowed(name_);
        constexpr std::size_t longest = 200;
        if (path_.size() > longest) {
            const std::string hash = std::to_string(std::hash<std::string>()(path_));
            path_.resize(longest - hash.size());
            path_ += hash;
        }
    }

    [[nodiscard]] const char* prefix_text() const noexcept { return prefix_.c_str(); }
    [[nodiscard]] const char* name() const noexcept { return name_.c_str(); }

    [[nodiscard]] blitz_ipc_sender* open_sender() const noexcept {
        return joined<blitz_ipc_sender>(blitz_ipc_sender_open);
    }
    [[nodiscard]] blitz_ipc_receiver* open_receiver() const noexcept {
        return joined<blitz_ipc_receiver>(blitz_ipc_receiver_open);
    }

    [[nodiscard]] std::size_t count_receivers() const noexcept {
        std::size_t receivers = 0;
        (void)blitz_ipc_participants(path_.c_str(), &settings_, nullptr, &receivers);
        return receivers;
    }

private:
    // Another process that joins keeps the segment busy for a moment.
    template <class End, class Open>
    [[nodiscard]] End* joined(Open open) const noexcept {
        const std::uint64_t deadline = deadline_of(default_timeout);
        pause pause;
        End* end = nullptr;
        while (open(path_.c_str(), &settings_, &end) == BLITZ_EBUSY && !has_passed(deadline))
            if (!pause.until(deadline)) break;
        return end;
    }

    // Writes bytes that a name of a segment cannot have as a dot and two digits.
    static std::string allowed(const std::string& text) {
        static constexpr char digits[] = "0123456789abcdef";
        std::string result;
        for (const char each : text) {
            const auto byte = static_cast<unsigned char>(each);
            const bool letter = byte < 128 && std::isalnum(byte) != 0;
            if (letter || each == '-' || each == '_') {
                result += each;
            } else {
                result += '.';
                result += digits[byte / 16];
                result += digits[byte % 16];
            }
        }
        return result;
    }

    std::string prefix_;
    std::string name_;
    std::string path_;
    blitz_ipc_settings settings_ = BLITZ_IPC_SETTINGS_INIT;
};

}  // namespace ipc::detail

#endif
