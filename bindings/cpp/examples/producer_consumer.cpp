// Producers and consumers that share a channel of strings.
#include <blitz/blitz.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

int main() {
    auto [tx, rx] = blitz::channel<std::string>(16);
    std::vector<blitz::join_handle<void>> producers;
    std::vector<blitz::join_handle<std::size_t>> consumers;
    for (int p = 0; p < 4; p++)
        producers.push_back(blitz::spawn([sender = tx, p]() mutable {
            for (int i = 0; i < 1000; i++)
                if (sender.send(std::to_string(p) + ":" + std::to_string(i)) != blitz::status::ok) return;
        }));
    for (int c = 0; c < 2; c++)
        consumers.push_back(blitz::spawn([receiver = rx]() mutable {
            std::size_t count = 0;
            for ([[maybe_unused]] const std::string& text : receiver) count++;
            return count;
        }));
    // The consumers end when the last sender is gone.
    { const auto last = std::move(tx); }
    for (auto& producer : producers) producer.join();
    std::size_t count = 0;
    for (auto& consumer : consumers) count += consumer.join();
    std::printf("%zu values\n", count);
    if (count != 4000) std::abort();
}
