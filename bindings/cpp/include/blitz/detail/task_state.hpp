// The state shared by a task and its handle.
#ifndef BLITZ_DETAIL_TASK_STATE_HPP
#define BLITZ_DETAIL_TASK_STATE_HPP

#include <atomic>
#include <blitz/detail/outcome.hpp>
#include <blitz/detail/phase.hpp>
#include <blitz/error.hpp>
#include <optional>
#include <utility>

namespace blitz::detail {

// The result, owned by the task and by the handle.
template <class R>
class task_state {
public:
    task_state() = default;
    task_state(const task_state&) = delete;
    task_state& operator=(const task_state&) = delete;

    void release() noexcept {
        // The last owner need not count.
        if (owners_.load(std::memory_order_acquire) == 1 ||
            owners_.fetch_sub(1, std::memory_order_acq_rel) == 1)
            delete this;
    }

    outcome<R> result;
    // 0 until the task has ended.
    phase ended;

protected:
    virtual ~task_state() = default;

private:
    std::atomic<unsigned> owners_{2};
};

// The function beside its result. It is destroyed when it has run, before the task ends.
template <class R, class Call>
class task_block final : public task_state<R> {
public:
    explicit task_block(Call&& call) : call_(std::move(call)) {}

    // The function of the task.
    static void* run(void* argument) noexcept {
        auto* const block = static_cast<task_block*>(argument);
        block->result.run(*std::move(block->call_));
        block->end();
        return nullptr;
    }

    // Called instead of `run` if the task does not begin.
    static void abandon(void* argument) noexcept {
        auto* const block = static_cast<task_block*>(argument);
        block->result.fail(std::make_exception_ptr(canceled("the task did not begin")));
        block->end();
    }

private:
    ~task_block() override = default;

    void end() noexcept {
        call_.reset();
        this->ended.advance(0);
        this->release();
    }

    std::optional<Call> call_;
};

}  // namespace blitz::detail

#endif
