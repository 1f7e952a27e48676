// An object in shared memory, by its name. All users in a process have one mapping of it, because
// the system keeps the addresses of locked mutexes.
#ifndef BLITZ_COMPAT_LIBIPC_DETAIL_SHARED_OBJECT_H
#define BLITZ_COMPAT_LIBIPC_DETAIL_SHARED_OBJECT_H

#include <blitz/compat/libipc/detail/shared_file.h>
#include <blitz/mutex.hpp>

#include <map>
#include <mutex>
#include <new>

namespace ipc::detail {

template <class T>
class shared_object {
public:
    // Opens the object. The first user of all processes calls `begin(memory)`, which makes it.
    template <class Begin>
    static std::shared_ptr<shared_object> open(const char* name, Begin&& begin) {
        if (name == nullptr || name[0] == '\0') return nullptr;
        const std::string path = path_of(name);
        const std::lock_guard lock(mutex());
        std::weak_ptr<shared_object>& known = objects()[path];
        if (auto object = known.lock(); object && !object->file_->is_of_parent()) return object;
        auto file = shared_file::open(path, sizeof(T), shared_file::how::either,
                                      [&](void* memory, std::size_t) { begin(memory); });
        if (!file) return nullptr;
        auto object = std::make_shared<shared_object>(std::move(file));
        known = object;
        return object;
    }

    explicit shared_object(std::unique_ptr<shared_file> file) noexcept : file_(std::move(file)) {}

    T& operator*() const noexcept { return *std::launder(static_cast<T*>(file_->memory())); }
    T* operator->() const noexcept { return &**this; }
    [[nodiscard]] const std::string& path() const noexcept { return file_->name(); }

    // Removes the name. Users keep the object; those that come get another.
    static void remove(const char* name) noexcept {
        if (name == nullptr || name[0] == '\0') return;
        remove_path(path_of(name));
    }
    static void remove_path(const std::string& path) noexcept {
        const std::lock_guard lock(mutex());
        objects().erase(path);
        shared_file::remove(path);
    }

private:
    static std::string path_of(const char* name) {
        std::string path = std::string("/blitz-") + T::kind + '-' + name;
        for (std::size_t i = 1; i < path.size(); i++)
            if (path[i] == '/') path[i] = '\\';
        return path;
    }
    static blitz::mutex& mutex() {
        static blitz::mutex of_objects;
        return of_objects;
    }
    static std::map<std::string, std::weak_ptr<shared_object>>& objects() {
        static std::map<std::string, std::weak_ptr<shared_object>> of_process;
        return of_process;
    }

    std::unique_ptr<shared_file> file_;
};

}  // namespace ipc::detail

#endif
