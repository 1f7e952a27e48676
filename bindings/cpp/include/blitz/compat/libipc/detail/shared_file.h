// Files of shared memory that are removed after their last user, however that ends.
//
// 1. Each user has a lock of the file that is not exclusive (`flock`). The system ends the locks of
//    a process that dies.
// 2. A user that comes tries to lock the file exclusively. If it can, it is alone: it sets the
//    length, and initialises what the file counts. Others wait for it, as they lock the file too.
// 3. It then exchanges its lock for one that is not exclusive. Another user that comes may be alone
//    between the two, and initialises the file again; the first has not used it yet.
// 4. A user that goes tries to exchange its lock for an exclusive one. If it can, no other user is
//    there, and it removes the name. Of several that go at once the last can.
// 5. A user that comes may have opened the file before its name was removed. When it has its lock
//    it sees that no name is left, and begins again.
// 6. A mark at the end of the file shows that it was initialised. A user that was killed before has
//    left none, and one that comes and sees none begins again too.
#ifndef BLITZ_COMPAT_LIBIPC_DETAIL_SHARED_FILE_H
#define BLITZ_COMPAT_LIBIPC_DETAIL_SHARED_FILE_H

#ifndef __linux__
#error "blitz/compat/libipc is for Linux"
#endif

#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <utility>

namespace ipc::detail {

class shared_file {
public:
    enum class how { create, open, either };

    // Opens the file `name` with at least `size` bytes, a multiple of 4, and maps it. The first user calls
    // `begin(memory, length)`, which initialises it. Returns NULL if that is not possible; the file
    // then is as before.
    template <class Begin>
    static std::unique_ptr<shared_file> open(const std::string& name, std::size_t size, how how,
                                             Begin&& begin) {
        if (name.find('/', 1) != std::string::npos || name.size() < 2) return nullptr;
        for (;;) {
            int flags = O_RDWR | O_CLOEXEC;
            if (how == how::create) flags |= O_CREAT | O_EXCL;
            if (how == how::either) flags |= O_CREAT;
            const int fd = ::shm_open(name.c_str(), flags, S_IRUSR | S_IWUSR);
            if (fd < 0) {
                // A file without users is as good as none.
                if (how == how::create && errno == EEXIST && remove_unused(name)) continue;
                return nullptr;
            }
            std::unique_ptr<shared_file> file(new shared_file(name, fd));
            const bool alone = ::flock(fd, LOCK_EX | LOCK_NB) == 0;
            if (!alone && !lock(fd, LOCK_SH)) return nullptr;
            if (!file->has_name()) continue;
            if (!alone && file->file_length() == 0) {
                (void)::sched_yield();
                continue;
            }
            if (!file->map(size, alone)) return nullptr;
            if (alone) {
                begin(file->memory_, file->length_);
                file->mark().store(marked, std::memory_order_release);
                if (!lock(fd, LOCK_SH)) return nullptr;
                if (!file->has_name()) continue;
            }
            if (file->mark().load(std::memory_order_acquire) == marked) return file;
            (void)::sched_yield();
        }
    }

    shared_file(const shared_file&) = delete;
    shared_file& operator=(const shared_file&) = delete;

    ~shared_file() {
        if (memory_ != nullptr) (void)::munmap(memory_, length_ + sizeof(word));
        // A child process after fork has the lock of its parent.
        if (::getpid() == process_ && ::flock(fd_, LOCK_EX | LOCK_NB) == 0 && has_name())
            (void)::shm_unlink(name_.c_str());
        (void)::close(fd_);
    }

    [[nodiscard]] void* memory() const noexcept { return memory_; }
    [[nodiscard]] std::size_t length() const noexcept { return length_; }
    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    [[nodiscard]] bool is_of_parent() const noexcept { return ::getpid() != process_; }

    // Removes the name. Users keep the memory; those that come get another.
    static void remove(const std::string& name) noexcept { (void)::shm_unlink(name.c_str()); }

private:
    using word = std::atomic<std::uint32_t>;
    static constexpr std::uint32_t marked = 0x626c7a31;

    shared_file(std::string name, int fd) : name_(std::move(name)), fd_(fd) {}

    static bool lock(int fd, int how) noexcept {
        int result = 0;
        do result = ::flock(fd, how);
        while (result != 0 && errno == EINTR);
        return result == 0;
    }

    // Returns `true` if the file still has its name.
    [[nodiscard]] bool has_name() const noexcept {
        struct stat state{};
        return ::fstat(fd_, &state) == 0 && state.st_nlink > 0;
    }

    [[nodiscard]] std::size_t file_length() const noexcept {
        struct stat state{};
        return ::fstat(fd_, &state) == 0 ? static_cast<std::size_t>(state.st_size) : 0;
    }

    [[nodiscard]] word& mark() const noexcept {
        return *std::launder(
            reinterpret_cast<word*>(static_cast<unsigned char*>(memory_) + length_));
    }

    static bool remove_unused(const std::string& name) {
        const int fd = ::shm_open(name.c_str(), O_RDWR | O_CLOEXEC, 0);
        if (fd < 0) return errno == ENOENT;
        const bool unused = ::flock(fd, LOCK_EX | LOCK_NB) == 0;
        if (unused) (void)::shm_unlink(name.c_str());
        (void)::close(fd);
        return unused;
    }

    // A file never becomes shorter, because others have mapped it; nor longer, except when it is
    // empty, because what its users count is at its end.
    bool map(std::size_t size, bool alone) noexcept {
        std::size_t length = file_length();
        if (length == 0 && alone && size != 0) {
            length = size + sizeof(word);
            if (::posix_fallocate(fd_, 0, static_cast<off_t>(length)) != 0) return false;
        }
        if (length < size + sizeof(word) || length % sizeof(word) != 0) return false;
        void* const memory = ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
        if (memory == MAP_FAILED) return false;
        memory_ = memory;
        length_ = length - sizeof(word);
        return true;
    }

    std::string name_;
    int fd_;
    pid_t process_ = ::getpid();
    void* memory_ = nullptr;
    std::size_t length_ = 0;
};

}  // namespace ipc::detail

#endif
