//! Echo: 64 bytes to another task and back, by the same code on each implementation of `std.Io`.

const std = @import("std");
const blitz = @import("blitz_io");
const scenario = @import("scenario.zig");
const Context = scenario.Context;
const Sample = scenario.Sample;
const Timer = scenario.Timer;
const File = std.Io.File;
const net = std.Io.net;

const ops = scenario.task_ops;

pub const scenarios = [_]scenario.Scenario{
    // The entries for TCP of `std.Io.Evented` return `error.NetworkDown`.
    .{ .tier = 5, .id = "tcp_echo", .title = "Echo over TCP, 16 connections", .ops = ops, .ours = onOurs(tcp, 0), .io = tcp, .workers = 0, .on_evented = false },
    .{ .tier = 5, .id = "pipe_echo", .title = "Echo over two pipes", .ops = ops, .ours = onOurs(pipes, 1), .io = pipes, .workers = 1 },
};

/// The body in a fiber of a runtime of its own, on our `std.Io`. 0 workers: one for each processor.
fn onOurs(comptime body: fn (*const Context) anyerror!Sample, comptime workers: usize) scenario.Body {
    return struct {
        fn run(base: *const Context) anyerror!Sample {
            var runtime = try blitz.Runtime.init(base.gpa, .{ .workers = workers });
            defer runtime.deinit();
            var instance: blitz.Io = .init(base.gpa, .{ .runtime = runtime.raw });
            defer instance.deinit();
            var cx = base.*;
            cx.io = instance.io();
            var handle = try runtime.spawn(body, .{&cx});
            return handle.join();
        }
    }.run;
}

const Message = [64]u8;

fn messageOf(number: u64) Message {
    return @splat(@truncate(number));
}

fn expectEcho(number: u64, echo: Message) !void {
    if (!std.mem.eql(u8, &messageOf(number), &echo)) return error.WrongEcho;
}

/// Connections at the same time.
const connections = 16;

fn tcp(cx: *const Context) anyerror!Sample {
    const io = cx.io;
    const share = @max(1, cx.ops / connections);
    const loopback: net.IpAddress = .{ .ip4 = .loopback(0) };
    var listener = try loopback.listen(io, .{});
    defer listener.deinit(io);
    var servers: [connections]std.Io.Future(anyerror!u64) = undefined;
    var clients: [connections]std.Io.Future(anyerror!void) = undefined;
    const timer = Timer.start();
    for (&servers, &clients) |*server, *client| {
        const stream = try listener.socket.address.connect(io, .{ .mode = .stream });
        server.* = try io.concurrent(serve, .{ io, try listener.accept(io) });
        client.* = try io.concurrent(request, .{ io, stream, share });
    }
    var count: u64 = 0;
    for (&servers, &clients) |*server, *client| {
        try client.await(io);
        count += try server.await(io);
    }
    const sample = timer.sample(share * connections);
    try scenario.verify(share * connections, count);
    return sample;
}

/// Sends messages and expects them back.
fn request(io: std.Io, stream: net.Stream, count: u64) anyerror!void {
    defer stream.close(io);
    var buffers: [2]Message = undefined;
    var reader = stream.reader(io, &buffers[0]);
    var writer = stream.writer(io, &buffers[1]);
    for (0..count) |i| {
        try writer.interface.writeAll(&messageOf(i));
        try writer.interface.flush();
        try expectEcho(i, (try reader.interface.takeArray(64)).*);
    }
}

/// Echoes until the end of the connection. Returns the number of messages.
fn serve(io: std.Io, stream: net.Stream) anyerror!u64 {
    defer stream.close(io);
    var buffers: [2]Message = undefined;
    var reader = stream.reader(io, &buffers[0]);
    var writer = stream.writer(io, &buffers[1]);
    var count: u64 = 0;
    while (reader.interface.takeArray(64)) |message| : (count += 1) {
        try writer.interface.writeAll(message);
        try writer.interface.flush();
    } else |err| return if (err == error.EndOfStream) count else err;
}

const Pipe = struct {
    reading: File,
    writing: File,

    fn open() !Pipe {
        var fds: [2]std.posix.fd_t = undefined;
        if (std.c.pipe(&fds) != 0) return error.NoPipe;
        return .{ .reading = fileOf(fds[0]), .writing = fileOf(fds[1]) };
    }

    fn fileOf(fd: std.posix.fd_t) File {
        return .{ .handle = fd, .flags = .{ .nonblocking = false } };
    }
};

fn pipes(cx: *const Context) anyerror!Sample {
    const io = cx.io;
    const there: Pipe = try .open();
    const back: Pipe = try .open();
    defer back.reading.close(io);
    var server = try io.concurrent(answer, .{ io, there.reading, back.writing });
    const timer = Timer.start();
    for (0..cx.ops) |i| {
        try there.writing.writeStreamingAll(io, &messageOf(i));
        try expectEcho(i, try read(io, back.reading));
    }
    const sample = timer.sample(cx.ops);
    there.writing.close(io);
    try scenario.verify(cx.ops, try server.await(io));
    return sample;
}

fn read(io: std.Io, file: File) !Message {
    var message: Message = undefined;
    var len: usize = 0;
    while (len < message.len) len += try file.readStreaming(io, &.{message[len..]});
    return message;
}

/// Echoes until the end of the pipe. Returns the number of messages.
fn answer(io: std.Io, from: File, to: File) anyerror!u64 {
    defer {
        from.close(io);
        to.close(io);
    }
    var count: u64 = 0;
    while (read(io, from)) |message| : (count += 1) {
        try to.writeStreamingAll(io, &message);
    } else |err| return if (err == error.EndOfStream) count else err;
}
