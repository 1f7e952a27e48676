// All rows, for the benchmark in Rust. `crates/bench/src/scenarios/cpp.rs` declares the same functions.
#include <cstdio>
#include <exception>

#include "measure.hpp"

namespace {

const std::vector<bench::row>& rows() {
    static const std::vector<bench::row> all = [] {
        std::vector<bench::row> all;
        for (const auto& family : {bench::lock_rows, bench::queue_rows, bench::loop_rows,
                                   bench::fiber_rows, bench::echo_rows})
            for (bench::row& row : family()) all.push_back(std::move(row));
        return all;
    }();
    return all;
}

}  // namespace

extern "C" {

struct cpp_row {
    const char* id;
    const char* title;
    std::size_t threads;
    std::size_t ops;
    std::size_t contenders;
};

std::size_t cpp_rows() noexcept { return rows().size(); }

cpp_row cpp_row_at(std::size_t index) noexcept {
    const bench::row& row = rows()[index];
    return {row.id.c_str(), row.title.c_str(), row.threads, row.ops, row.contenders.size()};
}

const char* cpp_contender_at(std::size_t row, std::size_t index) noexcept {
    return rows()[row].contenders[index].name.c_str();
}

// Runs `n` operations. Returns the number of those found done; `nanos` gets the time.
std::size_t cpp_run(std::size_t row, std::size_t contender, std::size_t n,
                    std::uint64_t* nanos) noexcept {
    try {
        const bench::result result = rows()[row].contenders[contender].run(n);
        *nanos = static_cast<std::uint64_t>(result.time.count());
        return result.done;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 0;
    }
}

}
