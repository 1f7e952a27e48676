// Fibers in one thread.
#include <blitz/channel.hpp>
#include <blitz/runtime.hpp>
#include <blitz/this_fiber.hpp>
#include <memory>
#include <boost/fiber/buffered_channel.hpp>
#include <boost/fiber/fiber.hpp>
#include <boost/fiber/operations.hpp>
#include <boost/fiber/pooled_fixedsize_stack.hpp>

#include "measure.hpp"

namespace {

blitz::runtime& runtime() {
    static blitz::runtime one = [] {
        blitz::runtime_options options;
        options.workers = 1;
        return blitz::runtime(options);
    }();
    return one;
}

// The clock runs in a fiber, which starts others in its thread.
template <class Body>
bench::work in_blitz_fiber(Body body) {
    return [body](std::size_t n) {
        return runtime().spawn([&body, n] { return bench::alone([&] { return body(n); }); }).join();
    };
}

template <class Body>
bench::work in_thread(Body body) {
    return [body](std::size_t n) {
        // Boost's scheduler belongs to the thread.
        return bench::in_threads(1, [&](std::size_t) { return body(n); });
    };
}

bench::row spawns() {
    bench::row row{"cpp_fiber_spawn", "Fiber, spawn and join", 1, 10'000, {}};
    row.contenders.push_back({"blitz-io", in_blitz_fiber([](std::size_t n) {
                                  std::size_t done = 0;
                                  for (std::size_t i = 0; i < n; i++)
                                      runtime().spawn([&done] { done++; }).join();
                                  return done;
                              })});
    row.contenders.push_back(
        {"Boost.Fiber", in_thread([](std::size_t n) {
             std::size_t done = 0;
             boost::fibers::pooled_fixedsize_stack stacks;
             for (std::size_t i = 0; i < n; i++)
                 boost::fibers::fiber(std::allocator_arg, stacks, [&done] { done++; }).join();
             return done;
         })});
    return row;
}

// Yields in turns. `turn` tells whether they were.
template <class Spawn, class Yield>
std::size_t yields(std::size_t n, Spawn spawn, Yield yield) {
    std::size_t done = 0;
    std::size_t turn = 0;
    const auto half = [&](std::size_t own) {
        for (std::size_t i = own; i < n; i += 2) {
            done += turn == i ? 1 : 0;
            turn = i + 1;
            yield();
        }
    };
    auto other = spawn([&] { half(1); });
    half(0);
    other.join();
    return done;
}

bench::row switches() {
    bench::row row{"cpp_fiber_yield", "Fiber, yield between two", 1, 100'000, {}};
    row.contenders.push_back({"blitz-io", in_blitz_fiber([](std::size_t n) {
                                  return yields(
                                      n, [](auto body) { return runtime().spawn(body); },
                                      [] { blitz::this_fiber::yield(); });
                              })});
    row.contenders.push_back({"Boost.Fiber", in_thread([](std::size_t n) {
                                  return yields(
                                      n, [](auto body) { return boost::fibers::fiber(body); },
                                      [] { boost::this_fiber::yield(); });
                              })});
    return row;
}

bench::row plays() {
    bench::row row{"cpp_fiber_ping_pong", "Fibers, ping-pong over channels", 1, 10'000, {}};
    row.contenders.push_back({"blitz-io", in_blitz_fiber([](std::size_t n) {
                                  blitz::channel<std::size_t> there(1);
                                  blitz::channel<std::size_t> back(1);
                                  auto other = runtime().spawn([&] {
                                      for (std::size_t i = 0; i < n; i++)
                                          (void)back.tx.send(*there.rx.recv());
                                  });
                                  std::size_t sum = 0;
                                  for (std::size_t i = 0; i < n; i++) {
                                      (void)there.tx.send(1);
                                      sum += *back.rx.recv();
                                  }
                                  other.join();
                                  return sum;
                              })});
    row.contenders.push_back(
        {"Boost.Fiber", in_thread([](std::size_t n) {
             boost::fibers::buffered_channel<std::size_t> there(2);
             boost::fibers::buffered_channel<std::size_t> back(2);
             boost::fibers::fiber other([&] {
                 for (std::size_t i = 0; i < n; i++) back.push(there.value_pop());
             });
             std::size_t sum = 0;
             for (std::size_t i = 0; i < n; i++) {
                 there.push(1);
                 sum += back.value_pop();
             }
             other.join();
             return sum;
         })});
    return row;
}

}  // namespace

std::vector<bench::row> bench::fiber_rows() { return {spawns(), switches(), plays()}; }
