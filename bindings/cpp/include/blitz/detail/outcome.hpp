// The result of a function, or the exception that it has thrown.
#ifndef BLITZ_DETAIL_OUTCOME_HPP
#define BLITZ_DETAIL_OUTCOME_HPP

#include <exception>
#include <functional>
#include <type_traits>
#include <utility>
#include <variant>

namespace blitz::detail {

template <class R>
class outcome {
    // References are kept as pointers.
    using stored = std::conditional_t<
        std::is_void_v<R>, std::monostate,
        std::conditional_t<std::is_reference_v<R>, std::add_pointer_t<R>, std::remove_cv_t<R>>>;
    enum : std::size_t { nothing, value, exception };

public:
    // Keeps what `call()` returns or throws.
    template <class Call>
    void run(Call&& call) noexcept {
        try {
            if constexpr (std::is_void_v<R>) {
                std::forward<Call>(call)();
                result_.template emplace<value>();
            } else if constexpr (std::is_reference_v<R>) {
                result_.template emplace<value>(std::addressof(std::forward<Call>(call)()));
            } else {
                result_.template emplace<value>(std::forward<Call>(call)());
            }
        } catch (...) {
            fail(std::current_exception());
        }
    }

    void fail(std::exception_ptr error) noexcept {
        result_.template emplace<exception>(std::move(error));
    }

    [[nodiscard]] bool is_ready() const noexcept { return result_.index() != nothing; }
    [[nodiscard]] bool failed() const noexcept { return result_.index() == exception; }

    // Returns the result, or throws the exception.
    R take() {
        if (failed()) std::rethrow_exception(std::get<exception>(std::move(result_)));
        if constexpr (std::is_reference_v<R>) {
            return static_cast<R>(*std::get<value>(result_));
        } else if constexpr (!std::is_void_v<R>) {
            return std::get<value>(std::move(result_));
        }
    }

private:
    std::variant<std::monostate, stored, std::exception_ptr> result_;
};

}  // namespace blitz::detail

#endif
