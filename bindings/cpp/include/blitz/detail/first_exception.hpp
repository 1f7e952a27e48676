// The first exception of several functions that run in parallel.
#ifndef BLITZ_DETAIL_FIRST_EXCEPTION_HPP
#define BLITZ_DETAIL_FIRST_EXCEPTION_HPP

#include <atomic>
#include <exception>

namespace blitz::detail {

class first_exception {
public:
    // Calls `call()`, unless a call has thrown before, and keeps the first exception.
    template <class Call>
    void run(Call&& call) noexcept {
        if (thrown()) return;
        try {
            call();
        } catch (...) {
            if (!thrown_.exchange(true, std::memory_order_relaxed)) error_ = std::current_exception();
        }
    }

    [[nodiscard]] bool thrown() const noexcept { return thrown_.load(std::memory_order_relaxed); }

    // Throws the exception, if there is one. Call it when all functions have ended.
    void rethrow() const {
        if (error_) std::rethrow_exception(error_);
    }

private:
    std::atomic<bool> thrown_{false};
    std::exception_ptr error_;
};

}  // namespace blitz::detail

#endif
