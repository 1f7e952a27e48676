// Waits of fibers that handle exceptions.
//
// The C++ runtime keeps the exceptions that are being handled in a list for each thread, and the
// fibers of a thread share it. So a fiber that waits in a catch block, or in a destructor during
// unwinding, must not leave its part of the list to the others:
//
// 1. Each wait that may suspend a fiber goes through `waiting`. It takes the list of the thread
//    away if there is one, and puts it back afterwards.
// 2. Therefore the list is empty whenever a fiber of this thread is suspended, and whenever a fiber
//    begins or resumes.
// 3. A fiber stays in its thread, so it puts its list back where it was.
//
// This header is one of C++11, for blitz/compat/hwy_futex.hpp.
#ifndef BLITZ_DETAIL_WAITING_HPP
#define BLITZ_DETAIL_WAITING_HPP

#include <cxxabi.h>

#include <utility>

namespace blitz {
namespace detail {

// The layout that the Itanium C++ ABI prescribes for __cxa_eh_globals.
struct handled_exceptions {
    void* caught;
    unsigned int uncaught;
#ifdef __ARM_EABI_UNWINDER__
    void* propagating;
#endif
};

class exceptions_aside {
public:
    exceptions_aside() noexcept
        : of_thread_(reinterpret_cast<handled_exceptions*>(abi::__cxa_get_globals())),
          saved_(*of_thread_) {
        if (any()) *of_thread_ = handled_exceptions();
    }
    exceptions_aside(const exceptions_aside&) = delete;
    exceptions_aside& operator=(const exceptions_aside&) = delete;
    ~exceptions_aside() {
        if (any()) *of_thread_ = saved_;
    }

private:
    bool any() const noexcept {
        return saved_.caught != nullptr || saved_.uncaught != 0;
    }

    handled_exceptions* of_thread_;
    handled_exceptions saved_;
};

// Calls a function of blitz.h that may wait, and returns its result.
template <class Call>
auto waiting(Call&& call) -> decltype(std::forward<Call>(call)()) {
    const exceptions_aside aside;
    return std::forward<Call>(call)();
}

}  // namespace detail
}  // namespace blitz

#endif
