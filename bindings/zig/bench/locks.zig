//! Tier 1: the fast paths of locks, on one thread.

const std = @import("std");
const blitz = @import("blitz_io");
const scenario = @import("scenario.zig");
const Context = scenario.Context;
const Sample = scenario.Sample;
const Timer = scenario.Timer;
const keep = std.mem.doNotOptimizeAway;

const ops = scenario.sync_ops;

pub const scenarios = [_]scenario.Scenario{
    .{ .tier = 1, .id = "mutex", .title = "Mutex try_lock/unlock", .ops = ops, .ours = mutex, .io = ioMutex },
    .{ .tier = 1, .id = "rwlock_read", .title = "RwLock try_read/unlock", .ops = ops, .ours = readLock, .io = ioReadLock },
    .{ .tier = 1, .id = "rwlock_write", .title = "RwLock try_write/unlock", .ops = ops, .ours = writeLock, .io = ioWriteLock },
    .{ .tier = 1, .id = "semaphore", .title = "Semaphore try_acquire/release", .ops = ops, .ours = semaphore, .io = ioSemaphore },
    .{ .tier = 1, .id = "once_cell_get", .title = "OnceLock get, set cell", .ops = ops, .ours = onceGet },
    .{ .tier = 1, .id = "once_cell_set", .title = "OnceLock set, fresh cell", .ops = ops, .ours = onceSet },
    .{ .tier = 1, .id = "notify", .title = "Notify notify_one, then wait", .ops = ops, .ours = notify, .io = ioEvent },
    .{ .tier = 1, .id = "barrier", .title = "Barrier of one, wait", .ops = ops, .ours = barrier },
};

fn mutex(cx: *const Context) !Sample {
    var lock: blitz.Mutex = .init;
    var count: u64 = 0;
    const timer = Timer.start();
    for (0..cx.ops) |_| {
        keep(&lock);
        if (!lock.tryLock()) continue;
        count += 1;
        lock.unlock();
    }
    const sample = timer.sample(cx.ops);
    try scenario.verify(cx.ops, count);
    return sample;
}

fn ioMutex(cx: *const Context) !Sample {
    var lock: std.Io.Mutex = .init;
    var count: u64 = 0;
    const timer = Timer.start();
    for (0..cx.ops) |_| {
        keep(&lock);
        if (!lock.tryLock()) continue;
        count += 1;
        lock.unlock(cx.io);
    }
    const sample = timer.sample(cx.ops);
    try scenario.verify(cx.ops, count);
    return sample;
}

fn readLock(cx: *const Context) !Sample {
    var lock: blitz.RwLock = .init;
    var count: u64 = 0;
    const timer = Timer.start();
    for (0..cx.ops) |_| {
        keep(&lock);
        if (!lock.tryLockShared()) continue;
        count += 1;
        lock.unlockShared();
    }
    const sample = timer.sample(cx.ops);
    try scenario.verify(cx.ops, count);
    return sample;
}

fn ioReadLock(cx: *const Context) !Sample {
    var lock: std.Io.RwLock = .init;
    var count: u64 = 0;
    const timer = Timer.start();
    for (0..cx.ops) |_| {
        keep(&lock);
        if (!lock.tryLockShared(cx.io)) continue;
        count += 1;
        lock.unlockShared(cx.io);
    }
    const sample = timer.sample(cx.ops);
    try scenario.verify(cx.ops, count);
    return sample;
}

fn writeLock(cx: *const Context) !Sample {
    var lock: blitz.RwLock = .init;
    var count: u64 = 0;
    const timer = Timer.start();
    for (0..cx.ops) |_| {
        keep(&lock);
        if (!lock.tryLock()) continue;
        count += 1;
        lock.unlock();
    }
    const sample = timer.sample(cx.ops);
    try scenario.verify(cx.ops, count);
    return sample;
}

fn ioWriteLock(cx: *const Context) !Sample {
    var lock: std.Io.RwLock = .init;
    var count: u64 = 0;
    const timer = Timer.start();
    for (0..cx.ops) |_| {
        keep(&lock);
        if (!lock.tryLock(cx.io)) continue;
        count += 1;
        lock.unlock(cx.io);
    }
    const sample = timer.sample(cx.ops);
    try scenario.verify(cx.ops, count);
    return sample;
}

fn semaphore(cx: *const Context) !Sample {
    var permits: blitz.Semaphore = .init(1);
    var count: u64 = 0;
    const timer = Timer.start();
    for (0..cx.ops) |_| {
        keep(&permits);
        permits.tryAcquire(1) catch continue;
        count += 1;
        permits.release(1);
    }
    const sample = timer.sample(cx.ops);
    try scenario.verify(cx.ops, count);
    return sample;
}

/// It has no function that tries: a wait that finds a permit.
fn ioSemaphore(cx: *const Context) !Sample {
    var permits: std.Io.Semaphore = .{ .permits = 1 };
    var count: u64 = 0;
    const timer = Timer.start();
    for (0..cx.ops) |_| {
        keep(&permits);
        try permits.wait(cx.io);
        count += 1;
        permits.post(cx.io);
    }
    const sample = timer.sample(cx.ops);
    try scenario.verify(cx.ops, count);
    return sample;
}

/// Reads in one turn of the loop, as in the Rust row: a read takes less than the turn itself.
const reads = 10;

fn onceGet(cx: *const Context) !Sample {
    var once: blitz.OnceLock(u64) = .init;
    try once.set(1);
    const turns = @max(1, cx.ops / reads);
    // With a single sum each addition would wait for the one before, which takes longer than a read. For
    // the row in Rust the compiler splits the sum.
    var sums: [reads / 2]u64 = @splat(0);
    const timer = Timer.start();
    for (0..turns) |_| {
        keep(&once);
        inline for (0..reads) |i| sums[i % sums.len] += once.get().?.*;
    }
    const sample = timer.sample(turns * reads);
    var sum: u64 = 0;
    for (sums) |part| sum += part;
    try scenario.verify(turns * reads, sum);
    return sample;
}

fn onceSet(cx: *const Context) !Sample {
    var count: u64 = 0;
    const timer = Timer.start();
    for (0..cx.ops) |i| {
        var once: blitz.OnceLock(u64) = .init;
        keep(&once);
        once.set(i) catch continue;
        count += 1;
    }
    const sample = timer.sample(cx.ops);
    try scenario.verify(cx.ops, count);
    return sample;
}

fn notify(cx: *const Context) !Sample {
    var notification: blitz.Notify = .init;
    var count: u64 = 0;
    const timer = Timer.start();
    for (0..cx.ops) |_| {
        keep(&notification);
        notification.notifyOne();
        try notification.wait();
        count += 1;
    }
    const sample = timer.sample(cx.ops);
    try scenario.verify(cx.ops, count);
    return sample;
}

fn ioEvent(cx: *const Context) !Sample {
    var event: std.Io.Event = .unset;
    var count: u64 = 0;
    const timer = Timer.start();
    for (0..cx.ops) |_| {
        keep(&event);
        event.set(cx.io);
        try event.wait(cx.io);
        event.reset();
        count += 1;
    }
    const sample = timer.sample(cx.ops);
    try scenario.verify(cx.ops, count);
    return sample;
}

fn barrier(cx: *const Context) !Sample {
    var one: blitz.Barrier = .init(1);
    var led: u64 = 0;
    const timer = Timer.start();
    for (0..cx.ops) |_| {
        keep(&one);
        led += @intFromBool(try one.wait());
    }
    const sample = timer.sample(cx.ops);
    try scenario.verify(cx.ops, led);
    return sample;
}
