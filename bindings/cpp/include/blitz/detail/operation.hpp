// Waits that a coroutine can `co_await`.
#ifndef BLITZ_DETAIL_OPERATION_HPP
#define BLITZ_DETAIL_OPERATION_HPP

// Defined if the compiler has coroutines.
#if defined(__cpp_impl_coroutine) && __has_include(<coroutine>)
#define BLITZ_COROUTINES 1

#include <blitz.h>

#include <blitz/detail/outcome.hpp>
#include <blitz/error.hpp>
#include <coroutine>
#include <type_traits>
#include <utility>

namespace blitz::detail {

// Satisfied if coroutines with this promise, when they run in a fiber, have the fiber for themselves.
// Those of `blitz::task` do.
template <class Promise>
concept owns_fiber = requires { requires Promise::owns_fiber; };

// A call that waits. A coroutine that has a fiber calls it there, so the fiber is suspended and
// nothing is allocated. Any other coroutine, which must not block the thread that runs it, is
// suspended: a new fiber calls it, and then resumes the coroutine.
template <class Call>
class [[nodiscard]] operation {
public:
    using result = std::invoke_result_t<Call&>;

    explicit operation(Call call) : call_(std::move(call)) {}

    [[nodiscard]] bool await_ready() const noexcept { return false; }

    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
        if constexpr (owns_fiber<Promise>) {
            if (blitz_is_fiber()) {
                outcome_.run(call_);
                return false;
            }
        }
        coroutine_ = coroutine;
        // From here on the coroutine may run, and destroy this. If there is no fiber, `abandon`
        // resumes it.
        [[maybe_unused]] const int started = blitz_spawn_owned(nullptr, nullptr, run, abandon, this, nullptr);
        return true;
    }

    result await_resume() { return outcome_.take(); }

private:
    static void* run(void* argument) noexcept {
        auto* const self = static_cast<operation*>(argument);
        self->outcome_.run(self->call_);
        self->coroutine_.resume();
        return nullptr;
    }

    static void abandon(void* argument) noexcept {
        auto* const self = static_cast<operation*>(argument);
        self->outcome_.fail(std::make_exception_ptr(canceled("no fiber to wait in")));
        self->coroutine_.resume();
    }

    Call call_;
    outcome<result> outcome_;
    std::coroutine_handle<> coroutine_;
};

}  // namespace blitz::detail

#else
#define BLITZ_COROUTINES 0
#endif

#endif
