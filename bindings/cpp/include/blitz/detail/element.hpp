// How a value goes through a channel of bytes.
#ifndef BLITZ_DETAIL_ELEMENT_HPP
#define BLITZ_DETAIL_ELEMENT_HPP

#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace blitz {

// True if copying the bytes of a `T` to another place moves the value there. This holds for trivially
// copyable types. A program may add its own types, if their objects hold no pointers into themselves.
// All others go through a channel in a box on the heap.
template <class T>
inline constexpr bool is_relocatable = std::is_trivially_copyable_v<T>;

template <class T>
inline constexpr bool is_relocatable<std::unique_ptr<T>> = true;

template <class T>
inline constexpr bool is_relocatable<std::shared_ptr<T>> = true;

namespace detail {

// The bytes of the value itself.
template <class T>
class element_of_bytes {
public:
    element_of_bytes() = default;
    explicit element_of_bytes(T&& value) { new (bytes_) T(std::move(value)); }

    [[nodiscard]] void* bytes() noexcept { return bytes_; }
    static constexpr std::size_t size = sizeof(T);

    // Takes the value out. Only for an element that has one.
    T take() {
        struct destroys {
            T* value;
            ~destroys() { value->~T(); }
        } const inside{std::launder(reinterpret_cast<T*>(bytes_))};
        return std::move(*inside.value);
    }

private:
    alignas(T) unsigned char bytes_[sizeof(T)];
};

// A pointer to a box with the value.
template <class T>
class element_in_box {
public:
    element_in_box() = default;
    explicit element_in_box(T&& value) : box_(new T(std::move(value))) {}

    [[nodiscard]] void* bytes() noexcept { return &box_; }
    static constexpr std::size_t size = sizeof(T*);

    // Takes the value out. Only for an element that has one.
    T take() {
        const std::unique_ptr<T> box(box_);
        return std::move(*box);
    }

private:
    T* box_ = nullptr;
};

template <class T>
using element = std::conditional_t<is_relocatable<T>, element_of_bytes<T>, element_in_box<T>>;

}  // namespace detail
}  // namespace blitz

#endif
