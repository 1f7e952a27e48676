//! A chat server: each line that a client sends goes to all clients.
//!
//! `chat 127.0.0.1:7001` serves until it is interrupted (try `nc 127.0.0.1 7001` twice). Without an
//! address three clients talk to each other, and the program ends.

const std = @import("std");
const blitz = @import("blitz_io");
const Stream = blitz.net.Stream;

/// A line of a client, by value: a channel copies it.
const Line = struct {
    bytes: [200]u8,
    len: u8,
};
const Room = blitz.Broadcast(Line);

const Server = struct {
    runtime: *blitz.Runtime,
    listener: blitz.net.Listener,
    room: *Room,

    fn run(server: Server) blitz.Error!void {
        while (true) {
            var stream = server.listener.accept() catch |err| return if (err == error.Canceled) {} else err;
            // Made before the next line of another client can come.
            const lines = server.room.sender.subscribe();
            var handle = server.runtime.spawn(serve, .{ server, stream, lines }) catch {
                stream.deinit();
                continue;
            };
            handle.detach();
        }
    }

    fn serve(server: Server, accepted: Stream, subscribed: @FieldType(Room, "receiver")) !void {
        var stream = accepted;
        defer stream.deinit();
        var lines = subscribed;
        defer lines.deinit();
        var writer = try server.runtime.spawn(write, .{ stream, lines });
        defer {
            writer.cancel();
            const mask = blitz.task.CancelMask.begin();
            defer mask.end();
            writer.join() catch {};
        }
        var buffer: [256]u8 = undefined;
        var reader = stream.reader(&buffer);
        while (try reader.interface.takeDelimiter('\n')) |bytes| {
            var line: Line = .{ .bytes = undefined, .len = @min(bytes.len, 200) };
            @memcpy(line.bytes[0..line.len], bytes[0..line.len]);
            try server.room.sender.send(line);
        }
    }

    fn write(stream: Stream, lines: @FieldType(Room, "receiver")) blitz.Error!void {
        while (true) {
            const line = lines.recv() catch |err| switch (err) {
                // A client that reads too slowly misses lines.
                error.Lagged => continue,
                else => return err,
            };
            try stream.writeAll(line.bytes[0..line.len], .never);
            try stream.writeAll("\n", .never);
        }
    }
};

pub fn main(init: std.process.Init) !void {
    var room = try Room.init(64);
    defer room.deinit();
    const args = try init.minimal.args.toSlice(init.arena.allocator());
    var listener = try blitz.net.Listener.listen(if (args.len > 1) args[1] else "127.0.0.1:0");
    defer listener.deinit();
    var runtime = try blitz.Runtime.init(init.gpa, .{});
    defer runtime.deinit();
    std.debug.print("listening at {f}\n", .{try listener.address()});

    var server = try runtime.spawn(Server.run, .{
        Server{ .runtime = &runtime, .listener = listener, .room = &room },
    });
    if (args.len > 1) {
        var interrupted = try blitz.Signal.init(.INT);
        defer interrupted.deinit();
        try interrupted.wait(.never);
    } else {
        try talk(try listener.address());
    }
    server.cancel();
    try server.join();
}

/// Three clients that each send a line when all have joined, and read the lines of all.
fn talk(address: blitz.net.Address) !void {
    const names = [_][]const u8{ "ada", "grace", "edsger" };
    var streams: [names.len]Stream = undefined;
    for (&streams, names, 0..) |*stream, name, i| {
        stream.* = try Stream.connectAddress(address, .never);
        try say(stream.*, name, "joins");
        // The server sends the line to all that have joined, so this client has joined too.
        for (streams[0 .. i + 1]) |there| try expectLine(there, name, "joins");
    }
    defer for (&streams) |*stream| stream.deinit();
    for (streams, names) |stream, name| {
        try say(stream, name, "says hello");
        for (streams) |there| try expectLine(there, name, "says hello");
        std.debug.print("{s} says hello, and {d} clients read it\n", .{ name, names.len });
    }
}

fn say(stream: Stream, name: []const u8, what: []const u8) !void {
    var buffer: [64]u8 = undefined;
    const line = try std.fmt.bufPrint(&buffer, "{s} {s}\n", .{ name, what });
    try stream.writeAll(line, .never);
}

fn expectLine(stream: Stream, name: []const u8, what: []const u8) !void {
    var expected: [64]u8 = undefined;
    const line = try std.fmt.bufPrint(&expected, "{s} {s}\n", .{ name, what });
    var buffer: [64]u8 = undefined;
    try stream.readExact(buffer[0..line.len], .never);
    if (!std.mem.eql(u8, line, buffer[0..line.len])) return error.WrongLine;
}
