//! Makes one mistake, which the argument names. The library ends the program with a message.

const std = @import("std");
const blitz = @import("blitz_io");

/// A stack trace is slow, and no test looks at it.
pub const std_options: std.Options = .{ .allow_stack_tracing = false };

const Mistake = enum {
    unlock,
    unlock_used,
    unlock_write,
    unlock_read,
    wait_unlocked,
    count_down,
    release,
    cancel_thread,
    permits,
    barrier,
    no_words,
    range,
};

pub fn main(init: std.process.Init) !void {
    const args = try init.minimal.args.toSlice(init.arena.allocator());
    try make(std.meta.stringToEnum(Mistake, args[1]) orelse return error.UnknownMistake);
}

fn make(mistake: Mistake) !void {
    var mutex: blitz.Mutex = .init;
    var rwlock: blitz.RwLock = .init;
    switch (mistake) {
        .unlock => mutex.unlock(),
        .unlock_used => {
            mutex.lock();
            mutex.unlock();
            mutex.unlock();
        },
        .unlock_write => {
            rwlock.lockShared();
            rwlock.unlock();
        },
        .unlock_read => {
            rwlock.lockShared();
            rwlock.unlockShared();
            rwlock.unlockShared();
        },
        .wait_unlocked => {
            var condition: blitz.Condition = .init;
            try condition.waitUntil(&mutex, .passed);
        },
        .count_down => {
            var latch: blitz.Latch = .init(1);
            latch.countDown(2);
        },
        .release => {
            var semaphore: blitz.Semaphore = .init(blitz.Semaphore.max_permits);
            semaphore.release(1);
        },
        .cancel_thread => {
            var handle = try blitz.task.spawnBlocking(std.Thread.yield, .{});
            handle.cancel();
        },
        .permits => _ = blitz.Semaphore.init(blitz.Semaphore.max_permits + 1),
        .barrier => _ = blitz.Barrier.init(0),
        .no_words => _ = try blitz.futex.waitAny(&.{}, .private, .never),
        .range => try blitz.parallelFor(.{ .begin = 2, .end = 1 }, {}, nothing),
    }
}

fn nothing(_: void, begin: usize, end: usize) void {
    _ = begin;
    _ = end;
}
