// Calls that wait, for coroutines.
#ifndef BLITZ_ASYNC_CALL_HPP
#define BLITZ_ASYNC_CALL_HPP

#include <blitz/detail/operation.hpp>
#include <utility>

#if BLITZ_COROUTINES

namespace blitz {

// `co_await` this to call `function()`, which may wait, in a coroutine. The result is that of the
// function. Everything in these headers that waits can be awaited in this way, such as a wait with a
// deadline or a parallel loop; the functions whose names begin with `async_` are short forms of it.
//
// A coroutine of a `task` is suspended with its fiber. A coroutine of another library is suspended
// alone, and a fiber calls the function and resumes it.
template <class F>
[[nodiscard]] auto async_call(F function) {
    return detail::operation(std::move(function));
}

}  // namespace blitz

#endif

#endif
