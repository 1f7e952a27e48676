//! Tier 2: the fast paths of channels, on one thread.

const std = @import("std");
const blitz = @import("blitz_io");
const scenario = @import("scenario.zig");
const Context = scenario.Context;
const Sample = scenario.Sample;
const Timer = scenario.Timer;

const ops = scenario.channel_ops;
const Queue = std.Io.Queue(u64);

pub const scenarios = [_]scenario.Scenario{
    .{ .tier = 2, .id = "channel_send", .title = "Channel send to fill", .ops = ops, .ours = send, .io = ioSend },
    .{ .tier = 2, .id = "channel_recv", .title = "Channel recv to drain", .ops = ops, .ours = recv, .io = ioRecv },
    .{ .tier = 2, .id = "channel_round_trip", .title = "Channel round trip, capacity 1", .ops = ops, .ours = roundTrip, .io = ioRoundTrip },
    .{ .tier = 2, .id = "oneshot", .title = "Oneshot create, send, recv", .ops = ops, .ours = oneshot },
    .{ .tier = 2, .id = "broadcast", .title = "Broadcast send, 4 receivers", .ops = ops, .ours = broadcast },
    .{ .tier = 2, .id = "watch", .title = "Watch send, borrow", .ops = ops, .ours = watch },
};

/// The sum of the messages 0 to `count - 1`.
fn sumOf(count: u64) u64 {
    return count * (count - 1) / 2;
}

fn send(cx: *const Context) !Sample {
    var channel = try blitz.Channel(u64).init(cx.ops);
    defer channel.deinit();
    const timer = Timer.start();
    for (0..cx.ops) |i| try channel.sender.trySend(i);
    const sample = timer.sample(cx.ops);
    try scenario.verify(cx.ops, channel.receiver.len());
    return sample;
}

fn recv(cx: *const Context) !Sample {
    var channel = try blitz.Channel(u64).init(cx.ops);
    defer channel.deinit();
    for (0..cx.ops) |i| try channel.sender.trySend(i);
    var sum: u64 = 0;
    const timer = Timer.start();
    for (0..cx.ops) |_| sum += try channel.receiver.tryRecv();
    const sample = timer.sample(cx.ops);
    try scenario.verify(sumOf(cx.ops), sum);
    return sample;
}

fn roundTrip(cx: *const Context) !Sample {
    var channel = try blitz.Channel(u64).init(1);
    defer channel.deinit();
    var sum: u64 = 0;
    const timer = Timer.start();
    for (0..cx.ops) |i| {
        try channel.sender.trySend(i);
        sum += try channel.receiver.tryRecv();
    }
    const sample = timer.sample(cx.ops);
    try scenario.verify(sumOf(cx.ops), sum);
    return sample;
}

fn ioSend(cx: *const Context) !Sample {
    const buffer = try cx.gpa.alloc(u64, cx.ops);
    defer cx.gpa.free(buffer);
    var queue: Queue = .init(buffer);
    var sent: u64 = 0;
    const timer = Timer.start();
    for (0..cx.ops) |i| sent += try queue.put(cx.io, &.{i}, 0);
    const sample = timer.sample(cx.ops);
    try scenario.verify(cx.ops, sent);
    return sample;
}

fn ioRecv(cx: *const Context) !Sample {
    const buffer = try cx.gpa.alloc(u64, cx.ops);
    defer cx.gpa.free(buffer);
    var queue: Queue = .init(buffer);
    for (0..cx.ops) |i| try queue.putOne(cx.io, i);
    var sum: u64 = 0;
    const timer = Timer.start();
    for (0..cx.ops) |_| {
        var message: [1]u64 = undefined;
        if (try queue.get(cx.io, &message, 0) == 1) sum += message[0];
    }
    const sample = timer.sample(cx.ops);
    try scenario.verify(sumOf(cx.ops), sum);
    return sample;
}

fn ioRoundTrip(cx: *const Context) !Sample {
    var buffer: [1]u64 = undefined;
    var queue: Queue = .init(&buffer);
    var sum: u64 = 0;
    const timer = Timer.start();
    for (0..cx.ops) |i| {
        _ = try queue.put(cx.io, &.{i}, 0);
        var message: [1]u64 = undefined;
        if (try queue.get(cx.io, &message, 0) == 1) sum += message[0];
    }
    const sample = timer.sample(cx.ops);
    try scenario.verify(sumOf(cx.ops), sum);
    return sample;
}

fn oneshot(cx: *const Context) !Sample {
    var sum: u64 = 0;
    const timer = Timer.start();
    for (0..cx.ops) |i| {
        var channel: blitz.Oneshot(u64) = .init();
        defer channel.deinit();
        try channel.sender.send(i);
        sum += try channel.receiver.recv();
    }
    const sample = timer.sample(cx.ops);
    try scenario.verify(sumOf(cx.ops), sum);
    return sample;
}

fn broadcast(cx: *const Context) !Sample {
    var channel = try blitz.Broadcast(u64).init(16);
    defer channel.deinit();
    var others: [3]@TypeOf(channel.receiver) = undefined;
    for (&others) |*receiver| receiver.* = channel.sender.subscribe();
    defer for (&others) |*receiver| receiver.deinit();
    var sum: u64 = 0;
    const timer = Timer.start();
    for (0..cx.ops) |i| {
        try channel.sender.send(i);
        sum += try channel.receiver.tryRecv();
        for (others) |receiver| sum += try receiver.tryRecv();
    }
    const sample = timer.sample(cx.ops);
    try scenario.verify(4 * sumOf(cx.ops), sum);
    return sample;
}

fn watch(cx: *const Context) !Sample {
    var channel: blitz.Watch(u64) = .init(0);
    defer channel.deinit();
    var sum: u64 = 0;
    const timer = Timer.start();
    for (0..cx.ops) |i| {
        try channel.sender.send(i);
        sum += try channel.receiver.latest();
    }
    const sample = timer.sample(cx.ops);
    try scenario.verify(sumOf(cx.ops), sum);
    return sample;
}
