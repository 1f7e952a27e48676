//! Tier 3: contended objects, in fibers of a runtime with four workers, and in tasks of `std.Io`.

const std = @import("std");
const blitz = @import("blitz_io");
const scenario = @import("scenario.zig");
const Context = scenario.Context;
const Sample = scenario.Sample;
const Timer = scenario.Timer;

const ops = scenario.task_ops;

// `std.Io.Evented` of Zig 0.17.1 has no figures here: it hangs with several threads, all of which then
// sleep in io_uring.
pub const scenarios = [_]scenario.Scenario{
    .{ .tier = 3, .id = "mpmc_tasks", .title = "MPMC, 4 producers and 4 consumers", .ops = ops, .ours = mpmc, .io = ioMpmc, .on_evented = false, .rust = "mpmc_tasks_own" },
    .{ .tier = 3, .id = "mutex_tasks", .title = "Mutex, 4 tasks", .ops = ops, .ours = mutex, .io = ioMutex, .on_evented = false, .rust = "mutex_tasks_own" },
    .{ .tier = 3, .id = "rwlock_tasks", .title = "RwLock, 4 readers and 2 writers", .ops = ops, .ours = rwlock, .io = ioRwlock, .on_evented = false, .rust = "rwlock_tasks_own" },
    .{ .tier = 3, .id = "semaphore_tasks", .title = "Semaphore, 8 tasks, 2 permits", .ops = ops, .ours = semaphore, .io = ioSemaphore, .on_evented = false, .rust = "semaphore_tasks_own" },
};

/// Runs `work(shared, member, share)` in a number of fibers, from the time when all have started until
/// all have ended.
fn inFibers(
    cx: *const Context,
    comptime members: usize,
    shared: anytype,
    comptime work: fn (@TypeOf(shared), usize, u64) anyerror!void,
) !Sample {
    const Start = struct {
        ready: blitz.Latch = .init(members),
        go: blitz.Event = .init(.manual),

        fn run(start: *@This(), state: @TypeOf(shared), member: usize, share: u64) anyerror!void {
            start.ready.countDown(1);
            try start.go.wait();
            return work(state, member, share);
        }
    };
    const share = @max(1, cx.ops / members);
    var start: Start = .{};
    var handles: [members]blitz.JoinHandle(anyerror!void) = undefined;
    for (&handles, 0..) |*handle, i| handle.* = try cx.runtime.spawn(Start.run, .{ &start, shared, i, share });
    try start.ready.wait();
    const timer = Timer.start();
    start.go.set();
    for (&handles) |*handle| try handle.join();
    return timer.sample(share * members);
}

/// Runs the same in tasks of an `Io`.
fn inIo(
    cx: *const Context,
    comptime members: usize,
    shared: anytype,
    comptime work: fn (@TypeOf(shared), usize, u64) anyerror!void,
) !Sample {
    const Start = struct {
        missing: std.atomic.Value(usize) = .init(members),
        ready: std.Io.Event = .unset,
        go: std.Io.Event = .unset,

        fn run(start: *@This(), io: std.Io, state: @TypeOf(shared), member: usize, share: u64) anyerror!void {
            if (start.missing.fetchSub(1, .seq_cst) == 1) start.ready.set(io);
            try start.go.wait(io);
            return work(state, member, share);
        }
    };
    const share = @max(1, cx.ops / members);
    var start: Start = .{};
    var futures: [members]std.Io.Future(anyerror!void) = undefined;
    for (&futures, 0..) |*future, i| {
        future.* = try cx.io.concurrent(Start.run, .{ &start, cx.io, shared, i, share });
    }
    try start.ready.wait(cx.io);
    const timer = Timer.start();
    start.go.set(cx.io);
    for (&futures) |*future| try future.await(cx.io);
    return timer.sample(share * members);
}

const Mpmc = struct {
    channel: blitz.MpmcChannel(u64),
    producers: std.atomic.Value(u32) = .init(4),
    received: std.atomic.Value(u64) = .init(0),

    fn work(state: *Mpmc, member: usize, share: u64) anyerror!void {
        if (member % 2 == 0) {
            for (0..2 * share) |i| try state.channel.sender.send(i);
            if (state.producers.fetchSub(1, .seq_cst) == 1) state.channel.sender.close();
            return;
        }
        var count: u64 = 0;
        while (state.channel.receiver.recv()) |_| count += 1 else |err| if (err != error.Closed) return err;
        _ = state.received.fetchAdd(count, .seq_cst);
    }
};

fn mpmc(cx: *const Context) !Sample {
    var state: Mpmc = .{ .channel = try .init(1000) };
    defer state.channel.deinit();
    const sample = try inFibers(cx, 8, &state, Mpmc.work);
    try scenario.verify(sample.ops, state.received.load(.seq_cst));
    return sample;
}

const IoMpmc = struct {
    io: std.Io,
    queue: std.Io.Queue(u64),
    producers: std.atomic.Value(u32) = .init(4),
    received: std.atomic.Value(u64) = .init(0),

    fn work(state: *IoMpmc, member: usize, share: u64) anyerror!void {
        if (member % 2 == 0) {
            for (0..2 * share) |i| try state.queue.putOne(state.io, i);
            if (state.producers.fetchSub(1, .seq_cst) == 1) state.queue.close(state.io);
            return;
        }
        var count: u64 = 0;
        while (state.queue.getOne(state.io)) |_| count += 1 else |err| if (err != error.Closed) return err;
        _ = state.received.fetchAdd(count, .seq_cst);
    }
};

fn ioMpmc(cx: *const Context) !Sample {
    var buffer: [1000]u64 = undefined;
    var state: IoMpmc = .{ .io = cx.io, .queue = .init(&buffer) };
    const sample = try inIo(cx, 8, &state, IoMpmc.work);
    try scenario.verify(sample.ops, state.received.load(.seq_cst));
    return sample;
}

const Locked = struct {
    lock: blitz.Mutex = .init,
    count: u64 = 0,

    fn work(state: *Locked, _: usize, share: u64) anyerror!void {
        for (0..share) |_| {
            state.lock.lock();
            defer state.lock.unlock();
            state.count += 1;
        }
    }
};

fn mutex(cx: *const Context) !Sample {
    var state: Locked = .{};
    const sample = try inFibers(cx, 4, &state, Locked.work);
    try scenario.verify(sample.ops, state.count);
    return sample;
}

const IoLocked = struct {
    io: std.Io,
    lock: std.Io.Mutex = .init,
    count: u64 = 0,

    fn work(state: *IoLocked, _: usize, share: u64) anyerror!void {
        for (0..share) |_| {
            try state.lock.lock(state.io);
            defer state.lock.unlock(state.io);
            state.count += 1;
        }
    }
};

fn ioMutex(cx: *const Context) !Sample {
    var state: IoLocked = .{ .io = cx.io };
    const sample = try inIo(cx, 4, &state, IoLocked.work);
    try scenario.verify(sample.ops, state.count);
    return sample;
}

/// Every third task writes, so that the writers do not come last.
fn writes(member: usize) bool {
    return member % 3 == 1;
}

const Twins = struct {
    lock: blitz.RwLock = .init,
    one: u64 = 0,
    other: u64 = 0,

    fn work(state: *Twins, member: usize, share: u64) anyerror!void {
        for (0..share) |_| {
            if (writes(member)) {
                state.lock.lock();
                defer state.lock.unlock();
                state.one += 1;
                state.other += 1;
            } else {
                state.lock.lockShared();
                defer state.lock.unlockShared();
                if (state.one != state.other) return error.WorkLost;
            }
        }
    }
};

fn rwlock(cx: *const Context) !Sample {
    var state: Twins = .{};
    const sample = try inFibers(cx, 6, &state, Twins.work);
    try scenario.verify(sample.ops / 3, state.one);
    return sample;
}

const IoTwins = struct {
    io: std.Io,
    lock: std.Io.RwLock = .init,
    one: u64 = 0,
    other: u64 = 0,

    fn work(state: *IoTwins, member: usize, share: u64) anyerror!void {
        for (0..share) |_| {
            if (writes(member)) {
                try state.lock.lock(state.io);
                defer state.lock.unlock(state.io);
                state.one += 1;
                state.other += 1;
            } else {
                try state.lock.lockShared(state.io);
                defer state.lock.unlockShared(state.io);
                if (state.one != state.other) return error.WorkLost;
            }
        }
    }
};

fn ioRwlock(cx: *const Context) !Sample {
    var state: IoTwins = .{ .io = cx.io };
    const sample = try inIo(cx, 6, &state, IoTwins.work);
    try scenario.verify(sample.ops / 3, state.one);
    return sample;
}

const Permits = struct {
    permits: blitz.Semaphore = .init(2),
    inside: std.atomic.Value(u32) = .init(0),

    fn work(state: *Permits, _: usize, share: u64) anyerror!void {
        for (0..share) |_| {
            try state.permits.acquire(1);
            defer state.permits.release(1);
            if (state.inside.fetchAdd(1, .seq_cst) >= 2) return error.WorkLost;
            _ = state.inside.fetchSub(1, .seq_cst);
        }
    }
};

fn semaphore(cx: *const Context) !Sample {
    var state: Permits = .{};
    return inFibers(cx, 8, &state, Permits.work);
}

const IoPermits = struct {
    io: std.Io,
    permits: std.Io.Semaphore = .{ .permits = 2 },
    inside: std.atomic.Value(u32) = .init(0),

    fn work(state: *IoPermits, _: usize, share: u64) anyerror!void {
        for (0..share) |_| {
            try state.permits.wait(state.io);
            defer state.permits.post(state.io);
            if (state.inside.fetchAdd(1, .seq_cst) >= 2) return error.WorkLost;
            _ = state.inside.fetchSub(1, .seq_cst);
        }
    }
};

fn ioSemaphore(cx: *const Context) !Sample {
    var state: IoPermits = .{ .io = cx.io };
    return inIo(cx, 8, &state, IoPermits.work);
}
