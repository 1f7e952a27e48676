//! Fibers: their start, their switches and their waits, on a runtime with one worker.

const std = @import("std");
const blitz = @import("blitz_io");
const scenario = @import("scenario.zig");
const Context = scenario.Context;
const Sample = scenario.Sample;
const Timer = scenario.Timer;

const ops = scenario.task_ops;

pub const scenarios = [_]scenario.Scenario{
    .{ .tier = 5, .id = "fiber_spawn", .title = "Spawn a fiber and join it", .ops = ops, .ours = spawn, .io = ioSpawn, .thread = threadSpawn, .workers = 1 },
    .{ .tier = 5, .id = "fiber_switch", .title = "Switch of two fibers by a futex", .ops = ops, .ours = switches, .io = ioSwitches, .workers = 1 },
    .{ .tier = 5, .id = "fiber_ping_pong", .title = "Ping-pong over two channels", .ops = ops, .ours = pingPong, .io = ioPingPong, .workers = 1 },
    .{ .tier = 5, .id = "fiber_yield", .title = "yield of a fiber", .ops = ops, .ours = yield, .thread = threadYield },
};

/// Runs `work` in a fiber of a runtime with one worker.
fn inFiber(cx: *const Context, comptime work: fn (*const Context) anyerror!Sample) !Sample {
    var runtime = try blitz.Runtime.init(cx.gpa, .{ .workers = 1 });
    defer runtime.deinit();
    var handle = try runtime.spawn(work, .{cx});
    return handle.join();
}

fn increment(value: u64) u64 {
    return value + 1;
}

fn spawn(cx: *const Context) !Sample {
    return inFiber(cx, struct {
        fn run(context: *const Context) anyerror!Sample {
            var sum: u64 = 0;
            const timer = Timer.start();
            for (0..context.ops) |i| {
                var handle = try blitz.spawn(increment, .{i});
                sum += try handle.join();
            }
            const sample = timer.sample(context.ops);
            try scenario.verify(context.ops * (context.ops + 1) / 2, sum);
            return sample;
        }
    }.run);
}

fn ioSpawn(cx: *const Context) !Sample {
    var sum: u64 = 0;
    const timer = Timer.start();
    for (0..cx.ops) |i| {
        var future = try cx.io.concurrent(increment, .{i});
        sum += future.await(cx.io);
    }
    const sample = timer.sample(cx.ops);
    try scenario.verify(cx.ops * (cx.ops + 1) / 2, sum);
    return sample;
}

fn threadSpawn(cx: *const Context) !Sample {
    const Task = struct {
        fn run(value: u64, result: *u64) void {
            result.* = increment(value);
        }
    };
    var sum: u64 = 0;
    const timer = Timer.start();
    for (0..cx.ops) |i| {
        var result: u64 = undefined;
        const thread = try std.Thread.spawn(.{}, Task.run, .{ i, &result });
        thread.join();
        sum += result;
    }
    const sample = timer.sample(cx.ops);
    try scenario.verify(cx.ops * (cx.ops + 1) / 2, sum);
    return sample;
}

/// A word that two tasks change in turns, each after the other. Every change wakes the other task.
const Turns = struct {
    word: blitz.futex.Word = .init(0),

    fn take(turns: *Turns, first: u32, count: u64) anyerror!void {
        for (0..count) |i| {
            const turn: u32 = @intCast(2 * i + first);
            while (true) {
                const seen = turns.word.load(.acquire);
                if (seen == turn) break;
                blitz.futex.wait(&turns.word, seen, .private) catch |err| if (err != error.Changed) return err;
            }
            turns.word.store(turn + 1, .release);
            try blitz.futex.wakeOne(&turns.word, .private);
        }
    }

    fn ioTake(turns: *Turns, io: std.Io, first: u32, count: u64) anyerror!void {
        for (0..count) |i| {
            const turn: u32 = @intCast(2 * i + first);
            while (true) {
                const seen = turns.word.load(.acquire);
                if (seen == turn) break;
                try io.futexWait(u32, &turns.word.raw, seen);
            }
            turns.word.store(turn + 1, .release);
            io.futexWake(u32, &turns.word.raw, 1);
        }
    }
};

/// A switch is half of a round.
fn switches(cx: *const Context) !Sample {
    return inFiber(cx, struct {
        fn run(context: *const Context) anyerror!Sample {
            const rounds = @max(1, context.ops / 2);
            var turns: Turns = .{};
            var other = try blitz.spawn(Turns.take, .{ &turns, 1, rounds });
            const timer = Timer.start();
            try turns.take(0, rounds);
            try other.join();
            const sample = timer.sample(2 * rounds);
            try scenario.verify(2 * rounds, turns.word.load(.acquire));
            return sample;
        }
    }.run);
}

fn ioSwitches(cx: *const Context) !Sample {
    const rounds = @max(1, cx.ops / 2);
    var turns: Turns = .{};
    var other = try cx.io.concurrent(Turns.ioTake, .{ &turns, cx.io, 1, rounds });
    const timer = Timer.start();
    try turns.ioTake(cx.io, 0, rounds);
    try other.await(cx.io);
    const sample = timer.sample(2 * rounds);
    try scenario.verify(2 * rounds, turns.word.load(.acquire));
    return sample;
}

const Channel = blitz.Channel(u64);

/// Sends each message back, one larger, until the channel is closed.
fn answer(from: @FieldType(Channel, "receiver"), to: @FieldType(Channel, "sender")) anyerror!void {
    while (from.recv()) |message| try to.send(message + 1) else |err| if (err != error.Closed) return err;
}

fn pingPong(cx: *const Context) !Sample {
    return inFiber(cx, struct {
        fn run(context: *const Context) anyerror!Sample {
            var there = try Channel.init(1);
            var back = try Channel.init(1);
            defer back.deinit();
            defer there.receiver.deinit();
            var other = try blitz.spawn(answer, .{ there.receiver, back.sender });
            var message: u64 = 0;
            const timer = Timer.start();
            for (0..context.ops) |_| {
                try there.sender.send(message);
                message = try back.receiver.recv();
            }
            const sample = timer.sample(context.ops);
            there.sender.deinit();
            try other.join();
            try scenario.verify(context.ops, message);
            return sample;
        }
    }.run);
}

const Queue = std.Io.Queue(u64);

fn ioAnswer(io: std.Io, from: *Queue, to: *Queue) anyerror!void {
    while (from.getOne(io)) |message| try to.putOne(io, message + 1) else |err| if (err != error.Closed) return err;
}

fn ioPingPong(cx: *const Context) !Sample {
    var buffers: [2][1]u64 = undefined;
    var there: Queue = .init(&buffers[0]);
    var back: Queue = .init(&buffers[1]);
    var other = try cx.io.concurrent(ioAnswer, .{ cx.io, &there, &back });
    var message: u64 = 0;
    const timer = Timer.start();
    for (0..cx.ops) |_| {
        try there.putOne(cx.io, message);
        message = try back.getOne(cx.io);
    }
    const sample = timer.sample(cx.ops);
    there.close(cx.io);
    try other.await(cx.io);
    try scenario.verify(cx.ops, message);
    return sample;
}

fn yield(cx: *const Context) !Sample {
    return inFiber(cx, struct {
        fn run(context: *const Context) anyerror!Sample {
            var count: u64 = 0;
            const timer = Timer.start();
            for (0..context.ops) |_| {
                try blitz.yield();
                count += 1;
            }
            const sample = timer.sample(context.ops);
            try scenario.verify(context.ops, count);
            return sample;
        }
    }.run);
}

fn threadYield(cx: *const Context) !Sample {
    var count: u64 = 0;
    const timer = Timer.start();
    for (0..cx.ops) |_| {
        try std.Thread.yield();
        count += 1;
    }
    const sample = timer.sample(cx.ops);
    try scenario.verify(cx.ops, count);
    return sample;
}
