//! An echo server with a fiber for each connection.
//!
//! `echo 127.0.0.1:7000` serves until it is interrupted. Without an address it serves its own clients,
//! checks the reply, and ends.

const std = @import("std");
const blitz = @import("blitz_io");
const Listener = blitz.net.Listener;
const Stream = blitz.net.Stream;

const clients = 100;
const messages = 20;

pub fn main(init: std.process.Init) !void {
    var runtime = try blitz.Runtime.init(init.gpa, .{});
    defer runtime.deinit();
    const args = try init.minimal.args.toSlice(init.arena.allocator());
    var listener = try Listener.listen(if (args.len > 1) args[1] else "127.0.0.1:0");
    defer listener.deinit();
    std.debug.print("listening at {f}\n", .{try listener.address()});

    var server = try runtime.spawn(serve, .{ &runtime, listener });
    if (args.len > 1) {
        var interrupted = try blitz.Signal.init(.INT);
        defer interrupted.deinit();
        try interrupted.wait(.never);
    } else {
        try runClients(&runtime, listener);
    }
    server.cancel();
    try server.join();
}

fn serve(runtime: *blitz.Runtime, listener: Listener) blitz.Error!void {
    while (true) {
        var stream = listener.accept() catch |err| return if (err == error.Canceled) {} else err;
        var connection = runtime.spawn(echo, .{stream}) catch {
            stream.deinit();
            continue;
        };
        connection.detach();
    }
}

fn echo(accepted: Stream) void {
    var stream = accepted;
    defer stream.deinit();
    var buffer: [4096]u8 = undefined;
    while (true) {
        const count = stream.read(&buffer) catch return;
        if (count == 0) return;
        stream.writeAll(buffer[0..count], .never) catch return;
    }
}

fn runClients(runtime: *blitz.Runtime, listener: Listener) !void {
    const Handle = blitz.JoinHandle(@typeInfo(@TypeOf(client)).@"fn".return_type.?);
    var handles: [clients]Handle = undefined;
    for (&handles, 0..) |*handle, i| handle.* = try runtime.spawn(client, .{ try listener.address(), i });
    for (&handles) |*handle| try handle.join();
    std.debug.print("{d} clients sent {d} messages each, and got them back\n", .{ clients, messages });
}

fn client(address: blitz.net.Address, number: usize) !void {
    var stream = try Stream.connectAddress(address, .never);
    defer stream.deinit();
    for (0..messages) |i| {
        var message: [64]u8 = @splat(@truncate(number + i));
        try stream.writeAll(&message, .never);
        var back: [64]u8 = undefined;
        try stream.readExact(&back, .never);
        if (!std.mem.eql(u8, &message, &back)) return error.WrongEcho;
    }
}
