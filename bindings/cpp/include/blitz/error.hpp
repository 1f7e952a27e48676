// Errors of the library as exceptions.
#ifndef BLITZ_ERROR_HPP
#define BLITZ_ERROR_HPP

#include <blitz.h>
#include <blitz/detail/cpp17.hpp>

#include <string>
#include <system_error>

namespace blitz {

// The errors of the library. Errors of the operating system are those of std::generic_category.
enum class errc {
    invalid = BLITZ_EINVAL,
    timed_out = BLITZ_ETIMEDOUT,
    closed = BLITZ_ECLOSED,
    full = BLITZ_EFULL,
    empty = BLITZ_EEMPTY,
    would_wait = BLITZ_EAGAIN,
    panic = BLITZ_EPANIC,
    canceled = BLITZ_ECANCELED,
    lagged = BLITZ_ELAGGED,
    changed = BLITZ_ECHANGED,
    busy = BLITZ_EBUSY,
    size = BLITZ_ESIZE,
    unsupported = BLITZ_EUNSUPPORTED,
    forked = BLITZ_EFORKED,
    corrupt = BLITZ_ECORRUPT,
    broken = BLITZ_EBROKEN,
    abi = BLITZ_EABI,
    mismatch = BLITZ_EMISMATCH,
    callback = BLITZ_ECALLBACK,
    eof = BLITZ_EEOF,
    host = BLITZ_EHOST,
};

namespace detail {

class error_category final : public std::error_category {
public:
    [[nodiscard]] const char* name() const noexcept override { return "blitz"; }
    [[nodiscard]] std::string message(int number) const override { return blitz_strerror(number); }
};

}  // namespace detail

// Returns the category of the errors of the library.
inline const std::error_category& error_category() noexcept {
    static const detail::error_category category;
    return category;
}

inline std::error_code make_error_code(errc error) noexcept {
    return {static_cast<int>(error), error_category()};
}

// Returns the error code for a negative result of a function of blitz.h.
inline std::error_code code_of(int result) noexcept {
    const int system = blitz_os_error(result);
    if (system != 0) return {system, std::generic_category()};
    return {result, error_category()};
}

// A function of the library has failed. `code()` is the error, and compares with `blitz::errc` and
// `std::errc`.
class error : public std::system_error {
public:
    explicit error(int result) : error(result, blitz_last_error()) {}
    error(int result, const std::string& details)
        : std::system_error(with_details(code_of(result), details)) {}

private:
    // An error of the system is its own details, and has its message once.
    static std::system_error with_details(std::error_code code, const std::string& details) {
        const std::string message = code.message();
        if (details.empty() || details.compare(0, message.size(), message) == 0) {
            return std::system_error(code);
        }
        return {code, details};
    }
};

// A wait has ended because its fiber was cancelled, or a task did not run because its runtime has
// ended.
class canceled : public error {
public:
    canceled() : error(BLITZ_ECANCELED, "") {}
    explicit canceled(const std::string& details) : error(BLITZ_ECANCELED, details) {}
};

namespace detail {

[[noreturn]] inline void throw_error(int result) {
    if (result == BLITZ_ECANCELED) throw canceled(blitz_last_error());
    throw error(result);
}

// Throws if the result of a function of blitz.h is an error.
inline void check(int result) {
    if (result < 0) throw_error(result);
}

// Returns true for success and false for the one error that is expected; throws the others.
inline bool check_unless(int expected, int result) {
    if (result == expected) return false;
    check(result);
    return true;
}

}  // namespace detail
}  // namespace blitz

template <>
struct std::is_error_code_enum<blitz::errc> : std::true_type {};

#endif
