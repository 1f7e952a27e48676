// Fibers in one thread.
#include <blitz/channel.hpp>
#include <blitz/runtime.hpp>
#include <blitz/this_fiber.hpp>
#include <memory>
#ifdef HAS_BOOST
#include <boost/fiber/buffered_channel.hpp>
#include <boost/fiber/fiber.hpp>
#include <boost/fiber/operations.hpp>
#include <boost/fiber/pooled_fixedsize_stack.hpp>
#endif

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

// The work of a fiber, which starts others in its thread.
template <class Body>
bench::work in_blitz_fiber(Body body) {
    return [body](std::size_t n) { runtime().spawn([&body, n] { body(n); }).join(); };
}

}  // namespace

std::vector<bench::row> bench::fiber_rows() {
    row spawns{"fiber, spawn and join", {}};
    row switches{"fiber, yield between two", {}};
    row plays{"fibers, ping-pong over channels", {}};
    spawns.contenders.push_back({"blitz", in_blitz_fiber([](std::size_t n) {
                                     for (std::size_t i = 0; i < n; i++) runtime().spawn([] {}).join();
                                 })});
    switches.contenders.push_back({"blitz", in_blitz_fiber([](std::size_t n) {
                                       const auto yields = [n] {
                                           for (std::size_t i = 0; i < n; i += 2)
                                               blitz::this_fiber::yield();
                                       };
                                       auto other = runtime().spawn(yields);
                                       yields();
                                       other.join();
                                   })});
    plays.contenders.push_back({"blitz", in_blitz_fiber([](std::size_t n) {
                                    blitz::channel<int> there(1);
                                    blitz::channel<int> back(1);
                                    auto other = runtime().spawn([&] {
                                        for (std::size_t i = 0; i < n; i++)
                                            (void)back.tx.send(*there.rx.recv());
                                    });
                                    for (std::size_t i = 0; i < n; i++) {
                                        (void)there.tx.send(1);
                                        (void)back.rx.recv();
                                    }
                                    other.join();
                                })});
#ifdef HAS_BOOST
    using boost::fibers::buffered_channel;
    using boost::fibers::fiber;
    spawns.contenders.push_back({"Boost.Fiber", [](std::size_t n) {
                                     boost::fibers::pooled_fixedsize_stack stacks;
                                     for (std::size_t i = 0; i < n; i++)
                                         fiber(std::allocator_arg, stacks, [] {}).join();
                                 }});
    switches.contenders.push_back({"Boost.Fiber", [](std::size_t n) {
                                       const auto yields = [n] {
                                           for (std::size_t i = 0; i < n; i += 2)
                                               boost::this_fiber::yield();
                                       };
                                       fiber other(yields);
                                       yields();
                                       other.join();
                                   }});
    plays.contenders.push_back({"Boost.Fiber", [](std::size_t n) {
                                    buffered_channel<int> there(2);
                                    buffered_channel<int> back(2);
                                    fiber other([&] {
                                        for (std::size_t i = 0; i < n; i++)
                                            back.push(there.value_pop());
                                    });
                                    for (std::size_t i = 0; i < n; i++) {
                                        there.push(1);
                                        (void)back.value_pop();
                                    }
                                    other.join();
                                }});
#endif
    return {spawns, switches, plays};
}
