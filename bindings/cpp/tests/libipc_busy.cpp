// cpp-ipc's connections in fibers, while another process keeps the segment busy.
#include <gtest/gtest.h>
#include <libipc/ipc.h>

#include <atomic>
#include <blitz/blitz.hpp>

namespace {

std::atomic<unsigned> opened{0};

}  // namespace

// Instead of the function of the library.
extern "C" int blitz_ipc_receiver_open(const char*, const blitz_ipc_settings*, blitz_ipc_receiver**) {
    opened++;
    return BLITZ_EBUSY;
}

namespace {

TEST(LibipcBusy, AFiberThatWaitsForTheSegmentDoesNotBlockItsThread) {
    blitz::runtime_options options;
    options.workers = 1;
    blitz::runtime runtime(options);
    ipc::channel channel("libipc-busy-test", ipc::sender);
    auto connects = runtime.spawn([&] { EXPECT_FALSE(channel.reconnect(ipc::receiver)); });
    auto others = runtime.spawn([&] {
        while (opened.load() == 0) blitz::this_fiber::yield();
        // The first fiber sleeps, and holds the lock of the connection.
        ipc::chan_impl<ipc::wr<ipc::relat::multi, ipc::relat::multi, ipc::trans::broadcast>>::disconnect(
            channel.handle());
    });
    connects.join();
    others.join();
}

}  // namespace
