// Waiting for several channels.
#ifndef BLITZ_SELECT_HPP
#define BLITZ_SELECT_HPP

#include <blitz.h>

#include <blitz/channel.hpp>
#include <blitz/detail/deadline.hpp>
#include <blitz/detail/element.hpp>
#include <blitz/detail/operation.hpp>
#include <blitz/detail/waiting.hpp>
#include <cstddef>
#include <optional>
#include <tuple>
#include <utility>

namespace blitz {

namespace detail {

// The type of the values of an end of a channel.
template <class End>
struct value_of;
template <template <class> class End, class T>
struct value_of<End<T>> {
    using type = T;
};

template <class T, class Then>
class recv_case {
public:
    recv_case(blitz_receiver* receiver, Then&& then)
        : receiver_(receiver), then_(std::forward<Then>(then)) {}

    blitz_case native() noexcept { return {receiver_, nullptr, element_.bytes(), BLITZ_OK}; }

    void performed(int result) {
        then_(result == BLITZ_OK ? received<T>(element_.take()) : received<T>(status_of(result)));
    }
    void not_performed() noexcept {}

private:
    blitz_receiver* receiver_;
    Then then_;
    element<T> element_{};
};

template <class T, class Then>
class send_case {
public:
    send_case(blitz_sender* sender, T& value, Then&& then)
        : sender_(sender), value_(value), then_(std::forward<Then>(then)) {}

    // Takes the value.
    blitz_case native() {
        element_.emplace(std::move(value_));
        return {nullptr, sender_, element_->bytes(), BLITZ_OK};
    }

    void performed(int result) {
        if (result != BLITZ_OK) not_performed();
        then_(status_of(result));
    }

    // Not sent, so the value goes back.
    void not_performed() { value_ = element_->take(); }

private:
    blitz_sender* sender_;
    T& value_;
    Then then_;
    std::optional<element<T>> element_;
};

// Calls `select(cases, count, index)`, gives the values that were not sent back, and returns the
// position of the case that was performed, or nothing after the result `none`.
template <class Select, class... Cases, std::size_t... I>
std::optional<std::size_t> select_with(int none, Select&& select, std::tuple<Cases...>& cases,
                                       std::index_sequence<I...> /*positions*/) {
    static_assert(sizeof...(Cases) > 0, "there is no operation");
    blitz_case natives[] = {std::get<I>(cases).native()...};
    std::size_t index = sizeof...(Cases);
    const int result = select(natives, sizeof...(Cases), &index);
    if (result != BLITZ_OK) index = sizeof...(Cases);
    ((I == index ? void() : std::get<I>(cases).not_performed()), ...);
    if (!check_unless(none, result)) return std::nullopt;
    ((I == index ? std::get<I>(cases).performed(natives[I].result) : void()), ...);
    return index;
}

template <class... Cases>
std::optional<std::size_t> select_until(std::uint64_t deadline, std::tuple<Cases...> cases) {
    return select_with(
        BLITZ_ETIMEDOUT,
        [deadline](blitz_case* natives, std::size_t count, std::size_t* index) {
            return waiting([&] { return blitz_select(natives, count, deadline, index); });
        },
        cases, std::index_sequence_for<Cases...>());
}

}  // namespace detail

// An operation of `select`: receives from a receiver of any channel, and calls
// `then(received<T>)`.
template <class Receiver, class Then>
[[nodiscard]] auto on_recv(Receiver& receiver, Then&& then) {
    using T = typename detail::value_of<Receiver>::type;
    return detail::recv_case<T, Then>(receiver.native_handle(), std::forward<Then>(then));
}

// An operation of `select`: sends a value with a sender of any channel, and calls `then(status)`.
// The value is moved into the channel if the status is `status::ok`, and otherwise stays where it
// is, also if another operation is performed. It must live until `select` returns.
template <class Sender, class Then, class T = typename detail::value_of<Sender>::type>
[[nodiscard]] auto on_send(Sender& sender, typename detail::value_of<Sender>::type&& value,
                           Then&& then) {
    return detail::send_case<T, Then>(sender.native_handle(), value, std::forward<Then>(then));
}

// Performs one of the operations: one that is possible, chosen in turns, or else the first that
// becomes possible. Calls its function, and returns its position. An operation on a closed channel
// is possible. Suspends the calling fiber, or blocks the calling thread; throws `canceled` in a fiber
// that is cancelled.
//
//     blitz::select(blitz::on_recv(numbers, [](auto number) { … }),
//                   blitz::on_recv(stop, [](auto) { … }));
template <class... Cases>
std::size_t select(Cases... cases) {
    return *detail::select_until(BLITZ_NEVER, std::tuple<Cases...>(std::move(cases)...));
}

// Performs one of the operations unless `duration` passes before.
template <class Rep, class Period, class... Cases>
std::optional<std::size_t> select_for(const std::chrono::duration<Rep, Period>& duration,
                                      Cases... cases) {
    return detail::select_until(detail::deadline_after(duration),
                                std::tuple<Cases...>(std::move(cases)...));
}

// Performs one of the operations unless `time` comes before.
template <class Clock, class Duration, class... Cases>
std::optional<std::size_t> select_until(const std::chrono::time_point<Clock, Duration>& time,
                                        Cases... cases) {
    std::tuple<Cases...> all(std::move(cases)...);
    return detail::select_with(
        BLITZ_ETIMEDOUT,
        [&](blitz_case* natives, std::size_t count, std::size_t* index) {
            return detail::waiting_until(time, [&](auto deadline) {
                return blitz_select(natives, count, deadline, index);
            });
        },
        all, std::index_sequence_for<Cases...>());
}

// Performs one of the operations that is possible now.
template <class... Cases>
std::optional<std::size_t> try_select(Cases... cases) {
    std::tuple<Cases...> all(std::move(cases)...);
    return detail::select_with(
        BLITZ_EAGAIN,
        [](blitz_case* natives, std::size_t count, std::size_t* index) {
            return blitz_try_select(natives, count, index);
        },
        all, std::index_sequence_for<Cases...>());
}

#if BLITZ_COROUTINES
// `co_await` this to perform one of the operations in a coroutine.
template <class... Cases>
[[nodiscard]] auto async_select(Cases... cases) {
    return detail::operation(
        [all = std::tuple<Cases...>(std::move(cases)...)]() mutable {
            return *detail::select_until(BLITZ_NEVER, std::move(all));
        });
}
#endif

}  // namespace blitz

#endif
