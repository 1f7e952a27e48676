// A message.
#ifndef BLITZ_COMPAT_LIBIPC_BUFFER_H
#define BLITZ_COMPAT_LIBIPC_BUFFER_H

#include <blitz/compat/libipc/def.h>

#include <cstring>
#include <tuple>
#include <utility>
#include <vector>

namespace ipc {

// Bytes, and how they are freed.
class buffer {
public:
    using destructor_t = void (*)(void*, std::size_t);

    buffer() noexcept = default;

    // Bytes that `free(data, size)` frees; or `free(to_free, size)`, if that is not NULL.
    buffer(void* data, std::size_t size, destructor_t free, void* to_free = nullptr) noexcept
        : data_(data), size_(size), free_(free), to_free_(to_free != nullptr ? to_free : data) {}

    // Bytes of the caller.
    buffer(void* data, std::size_t size) noexcept : buffer(data, size, nullptr) {}
    template <std::size_t N>
    explicit buffer(byte_t (&data)[N]) noexcept : buffer(data, sizeof(data)) {}
    explicit buffer(char& byte) noexcept : buffer(&byte, 1) {}

    buffer(buffer&& other) noexcept { swap(other); }
    buffer& operator=(buffer other) noexcept {
        swap(other);
        return *this;
    }
    ~buffer() {
        if (free_ != nullptr && to_free_ != nullptr) free_(to_free_, size_);
    }

    void swap(buffer& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        std::swap(free_, other.free_);
        std::swap(to_free_, other.to_free_);
    }

    [[nodiscard]] bool empty() const noexcept { return data_ == nullptr || size_ == 0; }
    [[nodiscard]] void* data() noexcept { return data_; }
    [[nodiscard]] const void* data() const noexcept { return data_; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }

    // Returns the address of the bytes as a `T`, a pointer.
    template <typename T>
    [[nodiscard]] T get() const {
        return static_cast<T>(data_);
    }

    std::tuple<void*, std::size_t> to_tuple() { return {data_, size_}; }
    [[nodiscard]] std::tuple<const void*, std::size_t> to_tuple() const { return {data_, size_}; }
    [[nodiscard]] std::vector<byte_t> to_vector() const {
        if (empty()) return {};
        const auto* const first = static_cast<const byte_t*>(data_);
        return {first, first + size_};
    }

    friend bool operator==(const buffer& one, const buffer& other) {
        return one.size_ == other.size_ &&
               (one.size_ == 0 || std::memcmp(one.data_, other.data_, one.size_) == 0);
    }
    friend bool operator!=(const buffer& one, const buffer& other) { return !(one == other); }

private:
    void* data_ = nullptr;
    std::size_t size_ = 0;
    destructor_t free_ = nullptr;
    void* to_free_ = nullptr;
};

}  // namespace ipc

#endif
