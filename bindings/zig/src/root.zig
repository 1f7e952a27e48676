//! Locks, channels, fibers, sockets, a fork-join pool, and messages between processes.
//!
//! Every function that waits works in a thread and in a fiber: it suspends the calling fiber only,
//! and blocks the thread if the caller is not a fiber. Threads and fibers may use one object together.
//!
//! ```zig
//! const blitz = @import("blitz_io");
//!
//! var runtime = try blitz.Runtime.init(gpa, .{});
//! defer runtime.deinit();
//! var channel = try blitz.Channel(u32).init(16);
//! defer channel.deinit();
//! var handle = try runtime.spawn(produce, .{channel.sender});
//! const value = try channel.receiver.recv();
//! try handle.join();
//! ```

pub const c = @import("c.zig");
pub const channel = @import("channel.zig");
pub const errors = @import("errors.zig");
pub const fs = @import("fs.zig");
pub const futex = @import("futex.zig");
pub const ipc = @import("ipc.zig");
pub const net = @import("net.zig");
pub const parking = @import("parking.zig");
pub const pipeline = @import("pipeline.zig");
pub const pool = @import("pool.zig");
pub const process = @import("process.zig");
pub const selection = @import("select.zig");
pub const task = @import("task.zig");

pub const Deadline = @import("deadline.zig").Deadline;
pub const Error = errors.Error;
pub const lastError = errors.lastError;

pub const Signal = @import("signal.zig").Signal;
pub const waitForDescriptor = @import("descriptor.zig").waitForDescriptor;

pub const Barrier = @import("barrier.zig").Barrier;
pub const Io = @import("io/instance.zig").Instance;
pub const Condition = @import("condition.zig").Condition;
pub const Event = @import("event.zig").Event;
pub const Latch = @import("latch.zig").Latch;
pub const Mutex = @import("mutex.zig").Mutex;
pub const Notify = @import("notify.zig").Notify;
pub const OnceLock = @import("once_lock.zig").OnceLock;
pub const Parker = @import("parker.zig").Parker;
pub const RwLock = @import("rwlock.zig").RwLock;
pub const Semaphore = @import("semaphore.zig").Semaphore;

pub const Broadcast = channel.Broadcast;
pub const Channel = channel.Channel;
pub const MpmcChannel = channel.MpmcChannel;
pub const Oneshot = channel.Oneshot;
pub const Watch = channel.Watch;

pub const Pool = pool.Pool;
pub const parallelFor = pool.parallelFor;

pub const receive = selection.receive;
pub const select = selection.select;
pub const send = selection.send;
pub const trySelect = selection.trySelect;

pub const JoinHandle = task.JoinHandle;
pub const Runtime = @import("runtime.zig").Runtime;
pub const sleep = task.sleep;
pub const spawn = task.spawn;
pub const timeout = task.timeout;
pub const yield = task.yield;

const std = @import("std");

/// Returns the version of the library, such as "0.2.0".
pub fn version() [:0]const u8 {
    return std.mem.span(c.blitz_version());
}

test "the library has the ABI version of these declarations" {
    try std.testing.expectEqual(c.BLITZ_OK, c.blitz_check_abi(c.BLITZ_ABI_VERSION));
    try std.testing.expect(version().len > 0);
}

test "the library has each function of the C interface" {
    std.testing.refAllDecls(c);
}

test {
    std.testing.refAllDecls(@This());
}
