//! `std.http.Client` and `std.http.Server` on our `std.Io`: connections that are kept, bodies with a length and
//! in chunks, and redirects.

const std = @import("std");
const Io = std.Io;
const http = std.http;
const blitz = @import("blitz_io");
const gpa = std.testing.allocator;
const expectEqual = std.testing.expectEqual;

const large = 14 * 1024;

/// Serves connections until it is cancelled.
fn serve(io: Io, server: *Io.net.Server) !void {
    var connections: Io.Group = .init;
    defer connections.cancel(io);
    while (true) {
        const stream = try server.accept(io);
        connections.async(io, serveConnection, .{ io, stream });
    }
}

fn serveConnection(io: Io, stream: Io.net.Stream) void {
    defer stream.close(io);
    var in: [4096]u8 = undefined;
    var out: [1024]u8 = undefined;
    var reader = stream.reader(io, &in);
    var writer = stream.writer(io, &out);
    var server: http.Server = .init(&reader.interface, &writer.interface);
    while (true) {
        var request = server.receiveHead() catch return;
        respond(&request) catch return;
    }
}

fn respond(request: *http.Server.Request) !void {
    const target = request.head.target;
    var buffer: [64]u8 = undefined;
    if (std.mem.eql(u8, target, "/get")) {
        try request.respond("Hello, World!\n", .{ .extra_headers = &.{.{ .name = "content-type", .value = "text/plain" }} });
    } else if (std.mem.eql(u8, target, "/chunked")) {
        var body = try request.respondStreaming(&buffer, .{});
        try body.writer.writeAll("Hello, ");
        try body.writer.writeAll("World!\n");
        try body.end();
    } else if (std.mem.eql(u8, target, "/large")) {
        var body = try request.respondStreaming(&buffer, .{ .content_length = large });
        try body.flush();
        for (0..large / 14) |_| try body.writer.writeAll("Hello, World!\n");
        try body.writer.splatByteAll('.', large % 14);
        try body.end();
    } else if (std.mem.cutPrefix(u8, target, "/redirect/")) |times| {
        const left = try std.fmt.parseInt(u8, times, 10);
        const location = if (left == 0) "/get" else try std.mem.print(&buffer, "/redirect/{d}", .{left - 1});
        try request.respond("", .{ .status = .found, .extra_headers = &.{.{ .name = "location", .value = location }} });
    } else if (std.mem.eql(u8, target, "/redirect_to_nothing")) {
        // Port 1 of this address has no server.
        try request.respond("", .{ .status = .found, .extra_headers = &.{.{ .name = "location", .value = "http://127.255.255.254:1" }} });
    } else {
        try request.respond("", .{ .status = .not_found });
    }
}

const Client = struct {
    http: http.Client,
    port: u16,

    /// Sends a request, and checks the answer's status and body.
    fn expect(client: *Client, method: http.Method, target: []const u8, options: http.Client.RequestOptions, status: http.Status, body: []const u8) !void {
        var url: [64]u8 = undefined;
        const uri = try std.Uri.parse(try std.mem.print(&url, "http://127.0.0.1:{d}{s}", .{ client.port, target }));
        var request = try client.http.request(method, uri, options);
        defer request.deinit();
        try request.sendBodiless();
        var redirect: [1024]u8 = undefined;
        var response = try request.receiveHead(&redirect);
        try expectEqual(status, response.head.status);
        var transfer: [64]u8 = undefined;
        const received = try response.reader(&transfer).allocRemaining(gpa, .limited(1 << 20));
        defer gpa.free(received);
        try std.testing.expectEqualStrings(body, received);
    }

    fn expectConnections(client: *Client, count: usize) !void {
        try expectEqual(count, client.http.connection_pool.free_len);
    }
};

fn requests(io: Io, port: u16) !void {
    var client: Client = .{ .http = .{ .allocator = gpa, .io = io }, .port = port };
    defer client.http.deinit();
    const hello = "Hello, World!\n";
    var long: [large]u8 = @splat('.');
    for (long[0 .. large / 14 * 14], 0..) |*byte, i| byte.* = hello[i % 14];

    try client.expect(.GET, "/get", .{}, .ok, hello);
    try client.expectConnections(1);
    try client.expect(.GET, "/large", .{}, .ok, &long);
    try client.expect(.HEAD, "/get", .{}, .ok, "");
    try client.expect(.GET, "/chunked", .{}, .ok, hello);
    try client.expect(.HEAD, "/chunked", .{}, .ok, "");
    try client.expect(.GET, "/none", .{}, .not_found, "");
    try client.expectConnections(1);
    try client.expect(.GET, "/get", .{ .keep_alive = false }, .ok, hello);
    try client.expectConnections(0);
    try client.expect(.GET, "/redirect/0", .{}, .ok, hello);
    try client.expect(.GET, "/redirect/2", .{}, .ok, hello);
    try std.testing.expectError(error.TooManyHttpRedirects, client.expect(.GET, "/redirect/3", .{}, .ok, hello));
    try std.testing.expectError(error.ConnectionRefused, client.expect(.GET, "/redirect_to_nothing", .{}, .ok, hello));
    try client.expect(.GET, "/get", .{}, .ok, hello);
}

test "a client and a server of std.http" {
    var instance: blitz.Io = .init(gpa, .{});
    defer instance.deinit();
    const io = instance.io();
    const address: Io.net.IpAddress = .{ .ip4 = .loopback(0) };
    var server = try address.listen(io, .{});
    defer server.deinit(io);
    var serving = try io.concurrent(serve, .{ io, &server });
    defer serving.cancel(io) catch {};
    const port = server.socket.address.getPort();
    // In a thread, then in fibers at the same time.
    try requests(io, port);
    var first = try io.concurrent(requests, .{ io, port });
    var second = try io.concurrent(requests, .{ io, port });
    const one = first.await(io);
    try second.await(io);
    try one;
}
