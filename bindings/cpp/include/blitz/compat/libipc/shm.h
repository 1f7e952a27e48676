// Named memory that processes share.
#ifndef BLITZ_COMPAT_LIBIPC_SHM_H
#define BLITZ_COMPAT_LIBIPC_SHM_H

#include <blitz/compat/libipc/def.h>
#include <blitz/compat/libipc/detail/shared_file.h>

#include <atomic>
#include <new>

namespace ipc::shm {

using id_t = void*;

enum : unsigned {
    create = 1,
    open = 2,
};

namespace detail {

using ipc::detail::shared_file;

// The count of the users that have mapped the memory is at its end.
using count = std::atomic<std::int32_t>;

struct object {
    std::unique_ptr<shared_file> file;
    // This user is in the count.
    bool counted = false;
};

inline object* of(id_t id) noexcept { return static_cast<object*>(id); }

inline count& count_of(const shared_file& file) noexcept {
    auto* const end = static_cast<unsigned char*>(file.memory()) + file.length();
    return *std::launder(reinterpret_cast<count*>(end - sizeof(count)));
}

inline std::string path_of(const char* name) {
    return name[0] == '/' ? std::string(name) : '/' + std::string(name);
}

inline bool is_name(const char* name) noexcept { return name != nullptr && name[0] != '\0'; }

}  // namespace detail

// Opens the memory `name` of `size` bytes, and makes it, as `mode` tells. With `open` alone `size`
// is not used. Returns NULL if there is none, or it exists already (`create` alone), or it is
// smaller, or the system has no room. The caller ends it with `release` or `remove`.
inline id_t acquire(const char* name, std::size_t size, unsigned mode = create | open) {
    using detail::shared_file;
    constexpr std::size_t align = alignof(detail::count);
    if (!detail::is_name(name) || size > std::numeric_limits<std::size_t>::max() / 2) return nullptr;
    auto how = shared_file::how::either;
    if (mode == create) how = shared_file::how::create;
    if (mode == open) how = shared_file::how::open;
    if (size == 0 && how != shared_file::how::open) return nullptr;
    const std::size_t whole =
        how == shared_file::how::open ? sizeof(detail::count)
                                      : (size + align - 1) / align * align + sizeof(detail::count);
    auto file = shared_file::open(
        detail::path_of(name), whole, how, [](void* memory, std::size_t length) {
            new (static_cast<unsigned char*>(memory) + length - sizeof(detail::count))
                detail::count(0);
        });
    if (!file) return nullptr;
    return new detail::object{std::move(file)};
}

// Returns the memory, and counts this user. `size` gets the length with the count; it may be NULL.
inline void* get_mem(id_t id, std::size_t* size) {
    if (id == nullptr) return nullptr;
    detail::object& object = *detail::of(id);
    if (!std::exchange(object.counted, true))
        detail::count_of(*object.file).fetch_add(1, std::memory_order_acq_rel);
    if (size != nullptr) *size = object.file->length();
    return object.file->memory();
}

// Ends the use of the memory, which is removed after its last user. Returns the number of its users,
// with this one; or -1 without `get_mem` before, or for NULL.
inline std::int32_t release(id_t id) noexcept {
    const std::unique_ptr<detail::object> object(detail::of(id));
    if (!object || !object->counted || object->file->is_of_parent()) return -1;
    return detail::count_of(*object->file).fetch_sub(1, std::memory_order_acq_rel);
}

// Removes the name, and nothing else.
inline void remove(const char* name) noexcept {
    if (detail::is_name(name)) detail::shared_file::remove(detail::path_of(name));
}

// Removes the name, and ends the use of the memory.
inline void remove(id_t id) noexcept {
    if (id == nullptr) return;
    detail::shared_file::remove(detail::of(id)->file->name());
    (void)release(id);
}

// Returns the number of users that have called `get_mem`. It includes killed processes as long as
// others use the memory.
inline std::int32_t get_ref(id_t id) {
    if (id == nullptr || !detail::of(id)->counted) return 0;
    return detail::count_of(*detail::of(id)->file).load(std::memory_order_acquire);
}

// Lowers the count by one.
inline void sub_ref(id_t id) {
    if (id != nullptr && detail::of(id)->counted)
        detail::count_of(*detail::of(id)->file).fetch_sub(1, std::memory_order_acq_rel);
}

// The memory as an object, which releases it.
class handle {
public:
    handle() noexcept = default;
    handle(const char* name, std::size_t size, unsigned mode = create | open) {
        (void)acquire(name, size, mode);
    }
    handle(handle&& other) noexcept { swap(other); }
    handle& operator=(handle other) noexcept {
        swap(other);
        return *this;
    }
    ~handle() { (void)release(); }

    void swap(handle& other) noexcept {
        std::swap(id_, other.id_);
        std::swap(memory_, other.memory_);
        std::swap(size_, other.size_);
        name_.swap(other.name_);
    }

    [[nodiscard]] bool valid() const noexcept { return memory_ != nullptr; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] const char* name() const noexcept { return name_.c_str(); }
    [[nodiscard]] std::int32_t ref() const noexcept { return get_ref(id_); }
    void sub_ref() noexcept { shm::sub_ref(id_); }
    [[nodiscard]] void* get() const { return memory_; }

    // Opens other memory instead. Returns `true` if that was possible; without a name nothing changes.
    bool acquire(const char* name, std::size_t size, unsigned mode = create | open) {
        if (!detail::is_name(name)) return false;
        (void)release();
        attach(shm::acquire(name, size, mode));
        name_ = name;
        return valid();
    }

    std::int32_t release() {
        return id_ == nullptr ? -1 : shm::release(detach());
    }

    // Releases the memory, and removes its name.
    void clear() noexcept {
        if (id_ != nullptr) shm::remove(detach());
    }
    static void clear_storage(const char* name) noexcept { shm::remove(name); }

    // Takes an id over.
    void attach(id_t id) {
        if (id == nullptr) return;
        (void)release();
        id_ = id;
        memory_ = get_mem(id_, &size_);
    }

    // Gives the id away.
    id_t detach() noexcept {
        memory_ = nullptr;
        size_ = 0;
        name_.clear();
        return std::exchange(id_, nullptr);
    }

private:
    id_t id_ = nullptr;
    void* memory_ = nullptr;
    std::size_t size_ = 0;
    std::string name_;
};

}  // namespace ipc::shm

#endif
