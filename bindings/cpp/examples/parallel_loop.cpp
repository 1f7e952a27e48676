// A loop and a reduction in parallel.
#include <blitz/blitz.hpp>
#include <cstdio>
#include <cstdlib>
#include <vector>

int main() {
    std::vector<long> squares(1'000'000);
    blitz::parallel_for(std::size_t{0}, squares.size(),
                        [&](std::size_t i) { squares[i] = static_cast<long>(i * i % 1000); });
    const long sum = blitz::parallel_reduce(
        std::size_t{0}, squares.size(), 0L, [&](std::size_t i) { return squares[i]; },
        [](long one, long other) { return one + other; });
    long expected = 0;
    for (const long square : squares) expected += square;
    std::printf("the sum is %ld\n", sum);
    if (sum != expected) std::abort();
}
