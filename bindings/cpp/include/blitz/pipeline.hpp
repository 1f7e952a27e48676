// Pipelines: a source, stages that run in parallel, and a sink that keeps the order.
#ifndef BLITZ_PIPELINE_HPP
#define BLITZ_PIPELINE_HPP

#include <blitz.h>

#include <blitz/detail/first_exception.hpp>
#include <blitz/detail/handle.hpp>
#include <blitz/detail/operation.hpp>
#include <blitz/detail/waiting.hpp>
#include <blitz/error.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#ifdef __cpp_lib_jthread
#include <stop_token>
#endif

namespace blitz {

// Settings of a run of a pipeline.
struct pipeline_options {
    // The number of threads that work in all, up to 1,024. 0: one for each processor.
    std::size_t workers = 0;
    // The most items in memory. 0: 4 for each worker.
    std::size_t capacity = 0;
    // If true, the sink gets the items in any order.
    bool unordered = false;
};

// Cancels one run of a pipeline, from any thread or fiber.
class pipeline_control {
public:
    pipeline_control() {
        blitz_pipeline_control* made = nullptr;
        detail::check(blitz_pipeline_control_new(&made));
        control_.reset(made);
    }

    // Callbacks that run come to their end, no more begin, and `run` throws `canceled`.
    void cancel() noexcept { (void)blitz_pipeline_cancel(native_handle()); }

    [[nodiscard]] blitz_pipeline_control* native_handle() const noexcept { return control_.get(); }

private:
    detail::handle<blitz_pipeline_control, blitz_pipeline_control_free> control_;
};

namespace detail {

// An item of a type that the library does not know.
struct pipeline_item {
    pipeline_item() = default;
    pipeline_item(const pipeline_item&) = delete;
    pipeline_item& operator=(const pipeline_item&) = delete;
    virtual ~pipeline_item() = default;

    static void free(void* item) noexcept { delete static_cast<pipeline_item*>(item); }
};

template <class T>
struct pipeline_value final : pipeline_item {
    explicit pipeline_value(T&& of) : value(std::move(of)) {}
    T value;

    static void* made(T&& of) {
        return static_cast<pipeline_item*>(new pipeline_value(std::move(of)));
    }
    static pipeline_value* of(void* item) noexcept {
        return static_cast<pipeline_value*>(static_cast<pipeline_item*>(item));
    }
};

template <class T>
struct unwrapped {
    using type = T;
};
template <class T>
struct unwrapped<std::optional<T>> {
    using type = T;
};

// The argument of the callbacks: a function, and where an exception goes.
template <class F>
struct pipeline_callback {
    F* function;
    first_exception* errors;

    // Runs `call` and returns its result, or a negative number after an exception of this or another
    // callback.
    template <class Call>
    int run(Call&& call) noexcept {
        int result = -1;
        errors->run([&] { result = call(); });
        return result;
    }
};

template <class F, class T>
int pipeline_source(void* argument, void** item) noexcept {
    auto* const callback = static_cast<pipeline_callback<F>*>(argument);
    return callback->run([&] {
        std::optional<T> next = std::invoke(*callback->function);
        if (!next) return 0;
        *item = pipeline_value<T>::made(std::move(*next));
        return 1;
    });
}

// Keeps the item if the function fails: the library frees it.
template <class F, class In>
int pipeline_stage(void* argument, void** item) noexcept {
    using result = std::invoke_result_t<F&, In&&>;
    using Out = typename unwrapped<result>::type;
    auto* const callback = static_cast<pipeline_callback<F>*>(argument);
    return callback->run([&] {
        auto* const in = pipeline_value<In>::of(*item);
        std::optional<Out> out(std::invoke(*callback->function, std::move(in->value)));
        *item = out ? pipeline_value<Out>::made(std::move(*out)) : nullptr;
        delete in;
        return 0;
    });
}

template <class F, class In>
int pipeline_sink(void* argument, void* item) noexcept {
    const std::unique_ptr<pipeline_value<In>> in(pipeline_value<In>::of(item));
    auto* const callback = static_cast<pipeline_callback<F>*>(argument);
    return callback->run([&] {
        std::invoke(*callback->function, std::move(in->value));
        return 0;
    });
}

}  // namespace detail

// A pipeline without its sink, whose items are `T` at its end. Made by `make_pipeline`.
template <class T, class Source, class... Stages>
class pipeline {
public:
    // Adds a stage: `function(item)` returns another item, or a std::optional without a value to
    // leave the item out. Several threads call it at once.
    template <class F>
    [[nodiscard]] auto then(F function) && {
        static_assert(std::is_invocable_v<F&, T&&>, "a stage takes the item before it");
        using Out = typename detail::unwrapped<std::invoke_result_t<F&, T&&>>::type;
        return std::apply(
            [&](auto&... stages) {
                auto natives = std::array<blitz_stage_function, sizeof...(Stages) + 1>{};
                std::copy(functions_.begin(), functions_.end(), natives.begin());
                natives[sizeof...(Stages)] = detail::pipeline_stage<F, T>;
                return pipeline<Out, Source, Stages..., F>(
                    std::move(source_), std::make_tuple(std::move(stages)..., std::move(function)),
                    begin_, natives);
            },
            stages_);
    }

    // Runs the pipeline to its end: `sink(item)` takes the items, in the order of the source. Its
    // calls do not overlap. Returns the number of taken items. Suspends the calling fiber while other threads
    // run it, or works in the calling thread. Its functions must not wait for each other.
    //
    // Rethrows an exception of a function. Then the sink has taken the items before the one that
    // failed, and nothing after it (if the pipeline is ordered). Throws `canceled` after
    // `control->cancel()`, and `error` with `errc::invalid` for more than 1,024 workers.
    template <class Sink>
    std::uint64_t run(Sink sink, const pipeline_options& options = {},
                      pipeline_control* control = nullptr) && {
        static_assert(std::is_invocable_v<Sink&, T&&>, "a sink takes the last item");
        return std::apply(
            [&](auto&... stages) { return run_with(sink, options, control, stages...); }, stages_);
    }

#ifdef __cpp_lib_jthread
    // Runs the pipeline until its end, or a request to stop.
    template <class Sink>
    std::uint64_t run(const std::stop_token& stop, Sink sink,
                      const pipeline_options& options = {}) && {
        pipeline_control control;
        const std::stop_callback cancels(stop, [&] { control.cancel(); });
        return std::move(*this).run(std::move(sink), options, &control);
    }
#endif

#if BLITZ_COROUTINES
    // `co_await` this to run the pipeline in a coroutine.
    template <class Sink>
    [[nodiscard]] auto async_run(Sink sink, const pipeline_options& options = {},
                                 pipeline_control* control = nullptr) && {
        return detail::operation([self = std::move(*this), sink = std::move(sink), options,
                                  control]() mutable {
            return std::move(self).run(std::move(sink), options, control);
        });
    }
#endif

    // Made by `make_pipeline` and `then`.
    pipeline(Source source, std::tuple<Stages...> stages, blitz_source begin,
             std::array<blitz_stage_function, sizeof...(Stages)> functions)
        : source_(std::move(source)),
          stages_(std::move(stages)),
          begin_(begin),
          functions_(functions) {}

private:
    template <class Sink>
    std::uint64_t run_with(Sink& sink, const pipeline_options& options, pipeline_control* control,
                           Stages&... stages) {
        detail::first_exception errors;
        detail::pipeline_callback<Source> first{&source_, &errors};
        detail::pipeline_callback<Sink> last{&sink, &errors};
        std::tuple<detail::pipeline_callback<Stages>...> between{
            detail::pipeline_callback<Stages>{&stages, &errors}...};
        std::array<blitz_stage, sizeof...(Stages)> natives{};
        std::apply(
            [&]([[maybe_unused]] auto&... callbacks) {
                [[maybe_unused]] std::size_t i = 0;
                ((natives[i] = {functions_[i], &callbacks}, i++), ...);
            },
            between);
        blitz_pipeline settings = BLITZ_PIPELINE_INIT;
        settings.source = begin_;
        settings.source_argument = &first;
        settings.stages = natives.data();
        settings.stage_count = natives.size();
        settings.sink = detail::pipeline_sink<Sink, T>;
        settings.sink_argument = &last;
        settings.free_item = detail::pipeline_item::free;
        settings.workers = options.workers;
        settings.capacity = options.capacity;
        settings.unordered = options.unordered;
        settings.control = control == nullptr ? nullptr : control->native_handle();
        blitz_pipeline_result result{};
        const int code =
            detail::waiting([&] { return blitz_pipeline_run(&settings, &result); });
        if (code == BLITZ_ECALLBACK) errors.rethrow();
        detail::check(code);
        return result.written;
    }

    Source source_;
    std::tuple<Stages...> stages_;
    blitz_source begin_;
    std::array<blitz_stage_function, sizeof...(Stages)> functions_;
};

// Begins a pipeline: `source()` returns a std::optional with the next item, or without a value at
// the end. Its calls do not overlap.
//
//     blitz::make_pipeline(read_line).then(parse).then(compute).run(write);
template <class Source>
[[nodiscard]] auto make_pipeline(Source source) {
    using T = typename detail::unwrapped<std::invoke_result_t<Source&>>::type;
    static_assert(std::is_same_v<std::invoke_result_t<Source&>, std::optional<T>>,
                  "a source returns a std::optional");
    return pipeline<T, Source>(std::move(source), std::tuple<>(), detail::pipeline_source<Source, T>,
                               {});
}

}  // namespace blitz

#endif
