// Child processes.
#ifndef BLITZ_PROCESS_HPP
#define BLITZ_PROCESS_HPP

#include <sys/wait.h>

#include <blitz.h>

#include <blitz/detail/deadline.hpp>
#include <blitz/detail/handle.hpp>
#include <blitz/detail/operation.hpp>
#include <blitz/detail/waiting.hpp>
#include <blitz/error.hpp>
#include <blitz/stream.hpp>
#include <optional>
#include <string>
#include <vector>

namespace blitz {

// Kinds of standard streams of a child process.
enum class stdio : std::uint32_t {
    // That of this process.
    inherit = BLITZ_STDIO_INHERIT,
    // Reads find the end; writes are dropped.
    null = BLITZ_STDIO_NULL,
    // A pipe, whose other end this process takes.
    pipe = BLITZ_STDIO_PIPE,
};

// Settings of a child process.
struct process_options {
    // The program: a path, or a name that is looked up in PATH.
    std::string program;
    // The arguments after the program's name.
    std::vector<std::string> arguments;
    // The environment as texts "NAME=value". Without a value: that of this process.
    std::optional<std::vector<std::string>> environment;
    // The working directory. Empty: that of this process.
    std::string directory;
    stdio input = stdio::inherit;
    stdio output = stdio::inherit;
    stdio error = stdio::inherit;
    // If true, the destructor kills a child that has not ended.
    bool kill_at_exit = false;
};

// How a process has ended.
class exit_status {
public:
    explicit exit_status(int native) noexcept : native_(native) {}

    // Returns `true` if the process returned 0.
    [[nodiscard]] bool success() const noexcept { return code() == 0; }
    // Returns the number that the process returned, if no signal ended it.
    [[nodiscard]] std::optional<int> code() const noexcept {
        if (!WIFEXITED(native_)) return std::nullopt;
        return WEXITSTATUS(native_);
    }
    // The signal that ended it.
    [[nodiscard]] std::optional<int> signal() const noexcept {
        if (!WIFSIGNALED(native_)) return std::nullopt;
        return WTERMSIG(native_);
    }
    // Returns the status that `waitpid` writes.
    [[nodiscard]] int native() const noexcept { return native_; }

private:
    int native_;
};

// A child process, for one thread or fiber at a time; another gets `error` with `errc::busy`. Its
// destructor leaves it running, or kills it (`kill_at_exit`); its end is awaited in the background.
class process {
public:
    // Starts a program. Throws `error` for one of the system, such as `std::errc`'s
    // `no_such_file_or_directory`.
    explicit process(const process_options& options) {
        const auto arguments = pointers(options.arguments);
        std::vector<const char*> environment;
        blitz_process_settings settings = BLITZ_PROCESS_SETTINGS_INIT;
        settings.program = options.program.c_str();
        settings.arguments = arguments.data();
        if (options.environment) {
            environment = pointers(*options.environment);
            settings.environment = environment.data();
        }
        settings.directory = options.directory.empty() ? nullptr : options.directory.c_str();
        settings.input = static_cast<std::uint32_t>(options.input);
        settings.output = static_cast<std::uint32_t>(options.output);
        settings.error = static_cast<std::uint32_t>(options.error);
        settings.kill_on_free = options.kill_at_exit;
        blitz_process* made = nullptr;
        detail::check(blitz_process_spawn(&settings, &made));
        process_.reset(made);
    }

    // Waits until the child has ended. Closes the pipe to its standard input before, if that was not
    // taken. Suspends the calling fiber, or blocks the calling thread; throws `canceled` in a fiber
    // that is cancelled.
    exit_status wait() {
        int native = 0;
        detail::check(detail::waiting(
            [&] { return blitz_process_wait(native_handle(), BLITZ_NEVER, &native); }));
        return exit_status(native);
    }

    // Waits until the child has ended, for `duration` at most.
    template <class Rep, class Period>
    std::optional<exit_status> wait_for(const std::chrono::duration<Rep, Period>& duration) {
        int native = 0;
        const int result = detail::waiting_for(duration, [&](auto deadline) {
            return blitz_process_wait(native_handle(), deadline, &native);
        });
        if (!detail::check_unless(BLITZ_ETIMEDOUT, result)) return std::nullopt;
        return exit_status(native);
    }

    // Waits until the child has ended, until `time` at most.
    template <class Clock, class Duration>
    std::optional<exit_status> wait_until(const std::chrono::time_point<Clock, Duration>& time) {
        int native = 0;
        const int result = detail::waiting_until(time, [&](auto deadline) {
            return blitz_process_wait(native_handle(), deadline, &native);
        });
        if (!detail::check_unless(BLITZ_ETIMEDOUT, result)) return std::nullopt;
        return exit_status(native);
    }

    // Returns the number of the process; 0 if it has ended and was waited for.
    [[nodiscard]] std::uint32_t id() const noexcept { return blitz_process_id(native_handle()); }

    // Kills the child. Does nothing if it was waited for.
    void kill() { detail::check(blitz_process_kill(native_handle())); }

    // Take this side's end of a pipe. Throw `error` with `errc::invalid` if there is none, or it was
    // taken before.
    [[nodiscard]] stream take_input() { return take(0); }
    [[nodiscard]] stream take_output() { return take(1); }
    [[nodiscard]] stream take_error() { return take(2); }

#if BLITZ_COROUTINES
    // `co_await` this to wait in a coroutine until the child has ended.
    [[nodiscard]] auto async_wait() {
        return detail::operation([this] { return wait(); });
    }
#endif

    [[nodiscard]] blitz_process* native_handle() const noexcept { return process_.get(); }

private:
    // With the final NULL.
    static std::vector<const char*> pointers(const std::vector<std::string>& texts) {
        std::vector<const char*> result;
        result.reserve(texts.size() + 1);
        for (const std::string& text : texts) result.push_back(text.c_str());
        result.push_back(nullptr);
        return result;
    }

    stream take(std::uint32_t number) {
        blitz_stream* taken = nullptr;
        detail::check(blitz_process_take_stream(native_handle(), number, &taken));
        return stream(taken);
    }

    detail::handle<blitz_process, blitz_process_free> process_;
};

}  // namespace blitz

#endif
