//! Our runtime as an implementation of `std.Io`: tests of its contract, in fibers and in threads.

const std = @import("std");
const Io = std.Io;
const blitz = @import("blitz_io");
const gpa = std.testing.allocator;
const expect = std.testing.expect;
const expectEqual = std.testing.expectEqual;
const expectError = std.testing.expectError;

fn sum(a: u32, b: u32) u32 {
    return a + b;
}

test "a future has the result of its function" {
    var instance: blitz.Io = .init(gpa, .{});
    defer instance.deinit();
    const io = instance.io();
    var first = io.async(sum, .{ 1, 2 });
    var second = try io.concurrent(sum, .{ 3, 4 });
    try expectEqual(7, second.await(io));
    try expectEqual(3, first.await(io));
    try expectEqual(3, first.cancel(io));
}

fn countCancels(io: Io, started: *Io.Event, count: *u32) Io.Cancelable!void {
    started.set(io);
    io.sleep(.fromSeconds(1 << 30), .awake) catch {
        count.* += 1;
        // The request is reported once.
        try io.checkCancel();
        try io.sleep(.fromNanoseconds(1), .awake);
        io.recancel();
        io.checkCancel() catch {
            count.* += 1;
        };
        try io.checkCancel();
        return;
    };
}

test "a cancel request is reported once, and again after recancel" {
    var instance: blitz.Io = .init(gpa, .{});
    defer instance.deinit();
    const io = instance.io();
    var started: Io.Event = .unset;
    var count: u32 = 0;
    var future = try io.concurrent(countCancels, .{ io, &started, &count });
    try started.wait(io);
    try future.cancel(io);
    try expectEqual(2, count);
}

fn protect(io: Io, go: *Io.Event, finished: *bool) Io.Cancelable!void {
    const old = io.swapCancelProtection(.blocked);
    try expectProtection(.unblocked, old);
    go.waitUncancelable(io);
    io.checkCancel() catch unreachable;
    io.sleep(.fromNanoseconds(1), .awake) catch unreachable;
    expectProtection(.blocked, io.swapCancelProtection(old)) catch unreachable;
    finished.* = true;
    // Ends by the request, whether it has come already or not.
    return io.sleep(.fromSeconds(1 << 30), .awake);
}

fn expectProtection(expected: Io.CancelProtection, found: Io.CancelProtection) Io.Cancelable!void {
    if (expected != found) @panic("another protection");
}

fn cancelAndGo(io: Io, future: *Io.Future(Io.Cancelable!void)) Io.Cancelable!void {
    return future.cancel(io);
}

test "a protected task is not cancelled until the protection ends" {
    var instance: blitz.Io = .init(gpa, .{});
    defer instance.deinit();
    const io = instance.io();
    var go: Io.Event = .unset;
    var finished = false;
    var future = try io.concurrent(protect, .{ io, &go, &finished });
    var canceller = try io.concurrent(cancelAndGo, .{ io, &future });
    // Long enough for the request to come first, nearly always; the result is the same if not.
    try io.sleep(.fromMilliseconds(5), .awake);
    go.set(io);
    try expectError(error.Canceled, canceller.await(io));
    try expect(finished);
}

fn forever(io: Io, started: *Io.Event) Io.Cancelable!void {
    started.set(io);
    return io.sleep(.fromSeconds(1 << 30), .awake);
}

fn awaits(io: Io, started: *Io.Event) Io.Cancelable!void {
    var inner = io.concurrent(forever, .{ io, started }) catch unreachable;
    return inner.await(io);
}

test "a cancelled task that awaits another cancels it" {
    var instance: blitz.Io = .init(gpa, .{});
    defer instance.deinit();
    const io = instance.io();
    var started: Io.Event = .unset;
    var future = try io.concurrent(awaits, .{ io, &started });
    try started.wait(io);
    try expectError(error.Canceled, future.cancel(io));
}

fn raise(io: Io, group: *Io.Group, depth: u32, count: *std.atomic.Value(u32)) void {
    _ = count.fetchAdd(1, .monotonic);
    if (depth == 0) return;
    group.async(io, raise, .{ io, group, depth - 1, count });
    group.async(io, raise, .{ io, group, depth - 1, count });
}

test "a group waits for the tasks that its tasks add" {
    var instance: blitz.Io = .init(gpa, .{});
    defer instance.deinit();
    const io = instance.io();
    var group: Io.Group = .init;
    var count: std.atomic.Value(u32) = .init(0);
    for (0..2) |_| {
        group.async(io, raise, .{ io, &group, 7, &count });
        try group.await(io);
    }
    try expectEqual(2 * 255, count.load(.monotonic));
}

test "a cancelled group ends its tasks" {
    var instance: blitz.Io = .init(gpa, .{});
    defer instance.deinit();
    const io = instance.io();
    var group: Io.Group = .init;
    var started: [20]Io.Event = @splat(.unset);
    for (&started) |*event| try group.concurrent(io, forever, .{ io, event });
    for (&started) |*event| try event.wait(io);
    group.cancel(io);
}

fn lockAndAdd(io: Io, mutex: *Io.Mutex, value: *u64) void {
    for (0..500) |_| {
        mutex.lockUncancelable(io);
        defer mutex.unlock(io);
        value.* += 1;
    }
}

test "threads and fibers share a mutex" {
    var instance: blitz.Io = .init(gpa, .{});
    defer instance.deinit();
    const io = instance.io();
    var mutex: Io.Mutex = .init;
    var value: u64 = 0;
    var threads: [3]std.Thread = undefined;
    for (&threads) |*thread| thread.* = try .spawn(.{}, lockAndAdd, .{ io, &mutex, &value });
    var group: Io.Group = .init;
    for (0..10) |_| group.async(io, lockAndAdd, .{ io, &mutex, &value });
    try group.await(io);
    for (threads) |thread| thread.join();
    try expectEqual(13 * 500, value);
}

fn readAll(io: Io, file: Io.File, buffer: []u8) !usize {
    return file.readStreaming(io, &.{buffer});
}

test "files are written and read in fibers" {
    var instance: blitz.Io = .init(gpa, .{});
    defer instance.deinit();
    const io = instance.io();
    var future = try io.concurrent(writeAndRead, .{io});
    try future.await(io);
    try writeAndRead(io);
}

fn writeAndRead(io: Io) !void {
    var tmp = std.testing.tmpDir(.{});
    defer tmp.cleanup();
    try tmp.dir.writeFile(io, .{ .sub_path = "a", .data = "some bytes" });
    var buffer: [32]u8 = undefined;
    try std.testing.expectEqualStrings("some bytes", try tmp.dir.readFile(io, "a", &buffer));
    try expectError(error.FileNotFound, tmp.dir.readFile(io, "b", &buffer));
}

fn serve(io: Io, server: *Io.net.Server, clients: usize) !void {
    var group: Io.Group = .init;
    defer group.cancel(io);
    for (0..clients) |_| group.async(io, echo, .{ io, try server.accept(io) });
    try group.await(io);
}

fn echo(io: Io, stream: Io.net.Stream) void {
    defer stream.close(io);
    var in: [64]u8 = undefined;
    var out: [64]u8 = undefined;
    var reader = stream.reader(io, &in);
    var writer = stream.writer(io, &out);
    while (true) {
        const byte = reader.interface.takeByte() catch return;
        writer.interface.writeByte(byte) catch return;
        writer.interface.flush() catch return;
    }
}

fn talk(io: Io, address: Io.net.IpAddress, answered: *std.atomic.Value(u32)) void {
    const stream = address.connect(io, .{ .mode = .stream }) catch |err| std.debug.panic("{t}", .{err});
    defer stream.close(io);
    var in: [64]u8 = undefined;
    var out: [64]u8 = undefined;
    var reader = stream.reader(io, &in);
    var writer = stream.writer(io, &out);
    for (0..5) |i| {
        writer.interface.writeByte(@intCast(i)) catch return;
        writer.interface.flush() catch return;
        if ((reader.interface.takeByte() catch return) != i) return;
    }
    _ = answered.fetchAdd(1, .monotonic);
}

test "a server answers a hundred clients" {
    var instance: blitz.Io = .init(gpa, .{});
    defer instance.deinit();
    const io = instance.io();
    var address: Io.net.IpAddress = .{ .ip4 = .loopback(0) };
    var server = try address.listen(io, .{});
    defer server.deinit(io);
    var serving = try io.concurrent(serve, .{ io, &server, 100 });
    var answered: std.atomic.Value(u32) = .init(0);
    var group: Io.Group = .init;
    for (0..100) |_| try group.concurrent(io, talk, .{ io, server.socket.address, &answered });
    try group.await(io);
    try serving.await(io);
    try expectEqual(100, answered.load(.monotonic));
}

fn acceptOne(io: Io, server: *Io.net.Server, started: *Io.Event) !void {
    started.set(io);
    const stream = try server.accept(io);
    stream.close(io);
}

test "a cancelled accept ends" {
    var instance: blitz.Io = .init(gpa, .{});
    defer instance.deinit();
    const io = instance.io();
    var address: Io.net.IpAddress = .{ .ip4 = .loopback(0) };
    var server = try address.listen(io, .{});
    defer server.deinit(io);
    var started: Io.Event = .unset;
    var future = try io.concurrent(acceptOne, .{ io, &server, &started });
    try started.wait(io);
    try expectError(error.Canceled, future.cancel(io));
}

test "a receive ends at its deadline, and a batch completes the other operation" {
    var instance: blitz.Io = .init(gpa, .{});
    defer instance.deinit();
    const io = instance.io();
    const address: Io.net.IpAddress = .{ .ip4 = .loopback(0) };
    const one = try address.bind(io, .{ .mode = .dgram });
    defer one.close(io);
    const two = try address.bind(io, .{ .mode = .dgram });
    defer two.close(io);
    var buffer: [16]u8 = undefined;
    const timeout: Io.Timeout = .{ .duration = .{ .raw = .fromMilliseconds(1), .clock = .awake } };
    try expectError(error.Timeout, one.receiveTimeout(io, &buffer, timeout));
    try one.send(io, &two.address, "hello");
    try std.testing.expectEqualStrings("hello", (try two.receive(io, &buffer)).data);
}

test "a host name has addresses" {
    var instance: blitz.Io = .init(gpa, .{});
    defer instance.deinit();
    const io = instance.io();
    var results: [16]Io.net.HostName.LookupResult = undefined;
    var queue: Io.Queue(Io.net.HostName.LookupResult) = .init(&results);
    const name: Io.net.HostName = try .init("localhost");
    var future = try io.concurrent(Io.net.HostName.lookup, .{ name, io, &queue, .{ .port = 80 } });
    try future.await(io);
    var found: usize = 0;
    while (queue.getOne(io)) |result| switch (result) {
        .address => |address| {
            try expectEqual(80, address.getPort());
            found += 1;
        },
        .canonical_name => {},
    } else |err| try expectEqual(error.Closed, err);
    try expect(found > 0);
}
