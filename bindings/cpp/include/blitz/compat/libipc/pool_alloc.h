// Memory of the process. The allocator of the program has it: there is no pool of its own.
#ifndef BLITZ_COMPAT_LIBIPC_POOL_ALLOC_H
#define BLITZ_COMPAT_LIBIPC_POOL_ALLOC_H

#include <blitz/compat/libipc/export.h>

#include <cstddef>
#include <iterator>
#include <new>
#include <type_traits>
#include <utility>

namespace ipc::mem {

class pool_alloc {
public:
    // Returns NULL without memory.
    static void* alloc(std::size_t size) noexcept { return ::operator new(size, std::nothrow); }
    static void free(void* memory, std::size_t /*size*/) noexcept { ::operator delete(memory); }
};

// Makes an object, or each element of an array, in existing memory.
template <typename T, typename... Args>
T* construct(T* memory, Args&&... arguments) {
    if constexpr (std::is_array_v<T>) {
        for (auto& element : *memory) construct(&element, arguments...);
    } else {
        ::new (static_cast<void*>(memory)) T(std::forward<Args>(arguments)...);
    }
    return memory;
}
template <typename T, typename... Args>
T* construct(void* memory, Args&&... arguments) {
    return construct(static_cast<T*>(memory), std::forward<Args>(arguments)...);
}

template <typename T>
void destruct(T* object) {
    if constexpr (std::is_array_v<T>) {
        for (auto& element : *object) destruct(&element);
    } else {
        object->~T();
    }
}
template <typename T>
void destruct(void* object) {
    destruct(static_cast<T*>(object));
}

inline void* alloc(std::size_t size) { return pool_alloc::alloc(size); }
// Throws std::bad_alloc without memory.
template <typename T, typename... Args>
T* alloc(Args&&... arguments) {
    void* const memory = pool_alloc::alloc(sizeof(T));
    if (memory == nullptr) throw std::bad_alloc();
    return construct<T>(memory, std::forward<Args>(arguments)...);
}

inline void free(void* memory, std::size_t size) { pool_alloc::free(memory, size); }
template <typename T>
void free(T* object) {
    if (object == nullptr) return;
    destruct(object);
    pool_alloc::free(object, sizeof(T));
}

}  // namespace ipc::mem

#endif
