//! An HTTP server and its clients, both of the standard library, with a fiber for each connection.
//! The server answers until all clients are served, then it stops accepting and lets the connections
//! that are open end by themselves.

const std = @import("std");
const Io = std.Io;
const blitz = @import("blitz_io");

const requests_per_client = 3;

/// Serves `clients` connections, then waits until each of them has ended.
pub fn serve(io: Io, server: *Io.net.Server, clients: usize) !void {
    var connections: Io.Group = .init;
    defer connections.cancel(io);
    for (0..clients) |_| {
        const stream = try server.accept(io);
        connections.async(io, connection, .{ io, stream });
    }
    try connections.await(io);
}

fn connection(io: Io, stream: Io.net.Stream) void {
    defer stream.close(io);
    var in: [4096]u8 = undefined;
    var out: [1024]u8 = undefined;
    var reader = stream.reader(io, &in);
    var writer = stream.writer(io, &out);
    var server: std.http.Server = .init(&reader.interface, &writer.interface);
    while (true) {
        var request = server.receiveHead() catch return;
        request.respond(request.head.target, .{}) catch return;
    }
}

/// Sends requests over one connection, and counts the client if all answers are right.
pub fn client(io: Io, gpa: std.mem.Allocator, port: u16, number: usize, served: *std.atomic.Value(usize)) void {
    requests(io, gpa, port, number) catch |err| {
        std.debug.print("client {d}: {t}\n", .{ number, err });
        return;
    };
    _ = served.fetchAdd(1, .monotonic);
}

fn requests(io: Io, gpa: std.mem.Allocator, port: u16, number: usize) !void {
    var http: std.http.Client = .{ .allocator = gpa, .io = io };
    defer http.deinit();
    for (0..requests_per_client) |i| {
        var url_buffer: [64]u8 = undefined;
        const url = try std.mem.print(&url_buffer, "http://127.0.0.1:{d}/{d}/{d}", .{ port, number, i });
        var answer_buffer: [64]u8 = undefined;
        var answer: Io.Writer = .fixed(&answer_buffer);
        const result = try http.fetch(.{ .location = .{ .url = url }, .response_writer = &answer });
        if (result.status != .ok) return error.WrongStatus;
        if (!std.mem.endsWith(u8, url, answer.buffered()) or answer.end == 0) return error.WrongAnswer;
    }
}

/// Runs a server and this many clients at once. Returns the number of served clients.
pub fn run(io: Io, gpa: std.mem.Allocator, clients: usize) !usize {
    const address: Io.net.IpAddress = .{ .ip4 = .loopback(0) };
    var server = try address.listen(io, .{ .kernel_backlog = 4096 });
    defer server.deinit(io);
    var serving = try io.concurrent(serve, .{ io, &server, clients });
    defer serving.cancel(io) catch {};
    var served: std.atomic.Value(usize) = .init(0);
    var group: Io.Group = .init;
    defer group.cancel(io);
    const port = server.socket.address.getPort();
    for (0..clients) |number| try group.concurrent(io, client, .{ io, gpa, port, number, &served });
    try group.await(io);
    try serving.await(io);
    return served.load(.monotonic);
}

pub fn main() !void {
    const gpa = std.heap.smp_allocator;
    var instance: blitz.Io = .init(gpa, .{});
    defer instance.deinit();
    const clients = 1000;
    const served = try run(instance.io(), gpa, clients);
    std.debug.print("{d} of {d} clients were served\n", .{ served, clients });
    if (served != clients) return error.ClientsLeft;
}

test "a thousand connections are served, and the server ends" {
    // The testing allocator finds memory that a task does not free.
    var instance: blitz.Io = .init(std.testing.allocator, .{});
    defer instance.deinit();
    const served = try run(instance.io(), std.heap.smp_allocator, 1000);
    try std.testing.expectEqual(1000, served);
}
