// Measures all rows, or those whose title has the argument in it, and prints a table. Every round
// measures each contender of a row once, so that a change of the machine's speed meets all.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "measure.hpp"

namespace {

constexpr int rounds = 15;
constexpr double seconds_of_round = 0.02;

double seconds(const bench::work& work, std::size_t n) {
    const auto begin = std::chrono::steady_clock::now();
    work(n);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// How often the work fits in a round.
std::size_t calibrated(const bench::work& work) {
    std::size_t n = 1;
    for (;;) {
        const double time = seconds(work, n);
        if (time > seconds_of_round / 2)
            return std::max<std::size_t>(1, static_cast<std::size_t>(
                                                static_cast<double>(n) * seconds_of_round / time));
        n *= 2;
    }
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

void measure(const bench::row& row) {
    std::vector<std::size_t> repeats;
    for (const auto& contender : row.contenders) repeats.push_back(calibrated(contender.run));
    std::vector<std::vector<double>> times(row.contenders.size());
    for (int round = 0; round < rounds; round++)
        for (std::size_t i = 0; i < row.contenders.size(); i++)
            times[i].push_back(seconds(row.contenders[i].run, repeats[i]) * 1e9 /
                               static_cast<double>(repeats[i]));
    const double ours = median(times[0]);
    std::printf("| %s | %.1f |", row.title.c_str(), ours);
    double best = 0;
    for (std::size_t i = 1; i < times.size(); i++) {
        const double theirs = median(times[i]);
        std::printf("%s %s %.1f", i == 1 ? "" : ",", row.contenders[i].name.c_str(), theirs);
        if (best == 0 || theirs < best) best = theirs;
    }
    std::printf(" | %.2f |\n", best / ours);
    std::fflush(stdout);
}

}  // namespace

int main(int count, char** arguments) {
    std::puts("| operation | blitz-io, ns | peers, ns | best peer / blitz-io |\n|---|---|---|---|");
    for (const auto& rows : {bench::lock_rows, bench::queue_rows, bench::loop_rows,
                             bench::fiber_rows, bench::echo_rows})
        for (const bench::row& row : rows())
            if (count < 2 || std::strstr(row.title.c_str(), arguments[1]) != nullptr) measure(row);
}
