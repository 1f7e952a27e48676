// Files.
#ifndef BLITZ_FILE_HPP
#define BLITZ_FILE_HPP

#include <blitz.h>

#include <blitz/detail/handle.hpp>
#include <blitz/detail/operation.hpp>
#include <blitz/detail/waiting.hpp>
#include <blitz/error.hpp>
#include <string>
#include <string_view>

namespace blitz {

// How a file is opened; combine with `|`.
enum class open_mode : std::uint32_t {
    read = BLITZ_OPEN_READ,
    write = BLITZ_OPEN_WRITE,
    append = BLITZ_OPEN_APPEND,
    truncate = BLITZ_OPEN_TRUNCATE,
    create = BLITZ_OPEN_CREATE,
    create_new = BLITZ_OPEN_CREATE_NEW,
};

constexpr open_mode operator|(open_mode one, open_mode other) noexcept {
    return static_cast<open_mode>(static_cast<std::uint32_t>(one) |
                                  static_cast<std::uint32_t>(other));
}

// From where a position is counted.
enum class seek_from : std::uint32_t {
    begin = BLITZ_SEEK_SET,
    current = BLITZ_SEEK_CURRENT,
    end = BLITZ_SEEK_END,
};

// An open file, for one thread or fiber at a time; another gets `error` with `errc::busy`. Its
// functions suspend the calling fiber, or block the calling thread. They throw `canceled` in a fiber
// that is cancelled, and `error` for an error of the system.
class file {
public:
    // Opens a file. A new one gets the permissions, as far as the umask of the process allows.
    explicit file(const std::string& path, open_mode mode = open_mode::read,
                  std::uint32_t permissions = 0666) {
        blitz_file* made = nullptr;
        detail::check(detail::waiting([&] {
            return blitz_file_open(path.c_str(), static_cast<std::uint32_t>(mode), permissions, &made);
        }));
        file_.reset(made);
    }

    // Reads up to `len` bytes at the position, and returns their number; 0 is the end of the file.
    std::size_t read(void* buffer, std::size_t len) {
        std::size_t count = 0;
        detail::check(detail::waiting(
            [&] { return blitz_file_read(native_handle(), buffer, len, &count); }));
        return count;
    }

    // Writes all of `len` bytes at the position.
    void write(const void* buffer, std::size_t len) {
        detail::check(
            detail::waiting([&] { return blitz_file_write(native_handle(), buffer, len); }));
    }

    // Writes a text at the position.
    void write(std::string_view text) { write(text.data(), text.size()); }

    // Moves the position, and returns it from the begin.
    std::uint64_t seek(std::int64_t offset, seek_from whence = seek_from::begin) {
        std::uint64_t position = 0;
        detail::check(detail::waiting([&] {
            return blitz_file_seek(native_handle(), offset, static_cast<std::uint32_t>(whence),
                                   &position);
        }));
        return position;
    }

    // Waits until the written bytes are on the disk, with or without the metadata.
    void sync(bool metadata = true) {
        detail::check(detail::waiting([&] { return blitz_file_sync(native_handle(), metadata); }));
    }

    // Returns the length in bytes.
    [[nodiscard]] std::uint64_t size() {
        std::uint64_t len = 0;
        detail::check(detail::waiting([&] { return blitz_file_len(native_handle(), &len); }));
        return len;
    }

    // Makes the file shorter, or longer with zeros.
    void resize(std::uint64_t len) {
        detail::check(detail::waiting([&] { return blitz_file_set_len(native_handle(), len); }));
    }

    [[nodiscard]] blitz_file* native_handle() const noexcept { return file_.get(); }

#if BLITZ_COROUTINES
    // `co_await` these in a coroutine. The buffers must live until then.
    [[nodiscard]] auto async_read(void* buffer, std::size_t len) {
        return detail::operation([this, buffer, len] { return read(buffer, len); });
    }
    [[nodiscard]] auto async_write(const void* buffer, std::size_t len) {
        return detail::operation([this, buffer, len] { write(buffer, len); });
    }
#endif

private:
    detail::handle<blitz_file, blitz_file_free> file_;
};

}  // namespace blitz

#endif
