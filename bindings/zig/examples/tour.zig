//! Each part of the package in a few lines. The page "Using blitz-io from Zig" shows them.

const std = @import("std");
const blitz = @import("blitz_io");
const expectEqual = std.testing.expectEqual;

pub fn main(init: std.process.Init) !void {
    var runtime = try blitz.Runtime.init(init.gpa, .{});
    defer runtime.deinit();
    try locks(&runtime);
    try channels(&runtime);
    try selection();
    try tasks(&runtime);
    try sockets(&runtime);
    try files(init.gpa);
    try child(init.gpa);
    try messages();
    try forkJoin();
    try stages(init.gpa);
    try standard(&runtime);
    std.debug.print("each part works\n", .{});
}

// ANCHOR: locks
const Counter = struct {
    mutex: blitz.Mutex = .init,
    value: u64 = 0,

    fn add(counter: *Counter) void {
        counter.mutex.lock();
        defer counter.mutex.unlock();
        counter.value += 1;
    }
};

fn locks(runtime: *blitz.Runtime) !void {
    var counter: Counter = .{};
    var fiber = try runtime.spawn(Counter.add, .{&counter});
    counter.add(); // a thread and a fiber use one lock
    try fiber.join();
    try expectEqual(2, counter.value);
}
// ANCHOR_END: locks

// ANCHOR: channels
fn channels(runtime: *blitz.Runtime) !void {
    var numbers = try blitz.Channel(u32).init(16);
    defer numbers.receiver.deinit();
    // The fiber ends its sender, so the loop below ends.
    var fiber = try runtime.spawn(produce, .{numbers.sender});
    var sum: u32 = 0;
    while (numbers.receiver.recv()) |number| {
        sum += number;
    } else |err| try expectEqual(error.Closed, err);
    try fiber.join();
    try expectEqual(45, sum);
}

fn produce(numbers: blitz.channel.Sender(u32, .channel)) !void {
    var sender = numbers;
    defer sender.deinit();
    for (0..10) |number| try sender.send(@intCast(number));
}
// ANCHOR_END: channels

// ANCHOR: select
fn selection() !void {
    var jobs = try blitz.Channel([]const u8).init(4);
    defer jobs.deinit();
    var stop = blitz.Oneshot(void).init();
    defer stop.deinit();
    try jobs.sender.send("job");

    const cases = .{ .job = blitz.receive(jobs.receiver), .stop = blitz.receive(stop.receiver) };
    switch (try blitz.select(cases, .after(std.time.ns_per_s))) {
        .job => |job| try std.testing.expectEqualStrings("job", try job),
        .stop => |stopped| try stopped,
    }
}
// ANCHOR_END: select

// ANCHOR: tasks
fn tasks(runtime: *blitz.Runtime) !void {
    var sum = try runtime.spawn(add, .{ 1, 2 });
    try expectEqual(3, try sum.join());

    var sleeper = try runtime.spawn(blitz.sleep, .{60 * std.time.ns_per_s});
    sleeper.cancel();
    try std.testing.expectError(error.Canceled, sleeper.join());

    // A function that has not ended at the deadline is cancelled.
    const limited = blitz.timeout(.after(std.time.ns_per_ms), blitz.sleep, .{60 * std.time.ns_per_s});
    try std.testing.expectError(error.TimedOut, limited);
}

fn add(a: u32, b: u32) u32 {
    return a + b;
}
// ANCHOR_END: tasks

// ANCHOR: net
fn sockets(runtime: *blitz.Runtime) !void {
    var listener = try blitz.net.Listener.listen("127.0.0.1:0");
    defer listener.deinit();
    var server = try runtime.spawn(answer, .{listener});

    var stream = try blitz.net.Stream.connectAddress(try listener.address(), .after(std.time.ns_per_s));
    defer stream.deinit();
    try stream.writeAll("ping", .never);
    var bytes: [4]u8 = undefined;
    try stream.readExact(&bytes, .never);
    try std.testing.expectEqualStrings("ping", &bytes);
    try server.join();
}

fn answer(listener: blitz.net.Listener) blitz.Error!void {
    var stream = try listener.accept();
    defer stream.deinit();
    var bytes: [4]u8 = undefined;
    try stream.readExact(&bytes, .never);
    try stream.writeAll(&bytes, .never);
}
// ANCHOR_END: net

// ANCHOR: fs
fn files(gpa: std.mem.Allocator) !void {
    var path: [64]u8 = undefined;
    const name = try std.fmt.bufPrintSentinel(&path, "/tmp/blitz-tour-{d}", .{std.c.getpid()}, 0);
    var file = try blitz.fs.File.open(name, .{ .write = true, .create = true, .truncate = true });
    defer file.deinit();
    defer _ = std.c.unlink(name);
    try file.writeAll("a line\n");
    _ = try file.seek(0, .start);
    const content = try file.readToEndAlloc(gpa, 1 << 20);
    defer gpa.free(content);
    try std.testing.expectEqualStrings("a line\n", content);
}
// ANCHOR_END: fs

// ANCHOR: process
fn child(gpa: std.mem.Allocator) !void {
    var echo = try blitz.process.Child.spawn(.{ .program = "echo", .arguments = &.{"hello"}, .stdout = .pipe });
    defer echo.deinit();
    var output = try echo.takeStream(.stdout);
    defer output.deinit();
    var buffer: [64]u8 = undefined;
    var reader = output.reader(&buffer);
    const text = try reader.interface.allocRemaining(gpa, .limited(1024));
    defer gpa.free(text);
    try std.testing.expectEqualStrings("hello\n", text);
    try expectEqual(blitz.process.Child.Exit{ .status = 0 }, try echo.wait(.never));
}
// ANCHOR_END: process

// ANCHOR: ipc
fn messages() !void {
    var name: [64]u8 = undefined;
    const segment = try std.fmt.bufPrintSentinel(&name, "tour-{d}", .{std.c.getpid()}, 0);
    // Another process opens the same name. A receiver gets the messages sent after it joined.
    var receiver = try blitz.ipc.Receiver.open(segment, .{ .kind = .queue });
    defer receiver.deinit();
    var sender = try blitz.ipc.Sender.open(segment, .{ .kind = .queue });
    defer sender.deinit();
    try sender.send("hello");
    var buffer: [64]u8 = undefined;
    try std.testing.expectEqualStrings("hello", try receiver.recv(&buffer));
}
// ANCHOR_END: ipc

// ANCHOR: pool
fn forkJoin() !void {
    var squares: [1000]u64 = undefined;
    try blitz.parallelFor(.{ .end = squares.len }, @as([]u64, &squares), square);
    try expectEqual(999 * 999, squares[999]);
}

/// Called for parts of the range, in several threads.
fn square(squares: []u64, begin: usize, end: usize) void {
    for (squares[begin..end], begin..) |*value, i| value.* = i * i;
}
// ANCHOR_END: pool

// ANCHOR: pipeline
const Numbers = struct {
    gpa: std.mem.Allocator,
    left: u64,

    /// Makes the next item, or null at the end.
    pub fn next(source: *Numbers) !?*u64 {
        if (source.left == 0) return null;
        source.left -= 1;
        const number = try source.gpa.create(u64);
        number.* = source.left;
        return number;
    }
};

const Double = struct {
    /// Works on an item; several threads call it at once.
    pub fn run(_: *const Double, number: *u64) !?*u64 {
        number.* *= 2;
        return number;
    }
};

const Sum = struct {
    gpa: std.mem.Allocator,
    sum: u64 = 0,

    /// Takes an item over, in the order of the source.
    pub fn take(sink: *Sum, number: *u64) !void {
        defer sink.gpa.destroy(number);
        sink.sum += number.*;
    }
};

fn stages(gpa: std.mem.Allocator) !void {
    var source: Numbers = .{ .gpa = gpa, .left = 100 };
    const double: Double = .{};
    var sink: Sum = .{ .gpa = gpa };
    try expectEqual(100, try blitz.pipeline.run(&source, .{&double}, &sink, .{}));
    try expectEqual(9900, sink.sum);
}
// ANCHOR_END: pipeline

// ANCHOR: std_io
fn standard(runtime: *blitz.Runtime) !void {
    const io = runtime.io();
    var future = try io.concurrent(add, .{ 1, 2 });
    try expectEqual(3, future.await(io));
}
// ANCHOR_END: std_io
