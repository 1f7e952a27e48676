//! Sockets that accept connections.

const std = @import("std");
const c = @import("../c.zig");
const errors = @import("../errors.zig");
const task = @import("../task.zig");
const Address = @import("address.zig").Address;
const Deadline = @import("../deadline.zig").Deadline;
const Error = errors.Error;
const Stream = @import("stream.zig").Stream;

/// A socket that accepts connections. Any thread or fiber may use it, several at once.
pub const Listener = struct {
    raw: *c.blitz_listener,

    /// Listens at a host with a port, such as "127.0.0.1:8080"; port 0 lets the system choose. May
    /// wait for the lookup of a name.
    pub fn listen(host: [:0]const u8) Error!Listener {
        var listener: Listener = undefined;
        try errors.check(Error, c.blitz_tcp_listen(host, &listener.raw));
        return listener;
    }

    /// Listens at a path with a Unix socket. The file remains after `deinit`.
    pub fn listenUnix(path: [:0]const u8) Error!Listener {
        var listener: Listener = undefined;
        try errors.check(Error, c.blitz_unix_listen(path, &listener.raw));
        return listener;
    }

    /// Closes the listener and frees it.
    pub fn deinit(listener: *Listener) void {
        c.blitz_listener_free(listener.raw);
        listener.* = undefined;
    }

    /// Accepts a connection, waiting until one comes.
    pub fn accept(listener: Listener) Error!Stream {
        var stream: Stream = undefined;
        try errors.check(Error, c.blitz_listener_accept(listener.raw, &stream.raw));
        return stream;
    }

    /// Accepts a connection, waiting until the deadline at most.
    pub fn acceptUntil(listener: Listener, deadline: Deadline) Error!Stream {
        var stream: Stream = undefined;
        try errors.check(Error, c.blitz_listener_accept_until(listener.raw, deadline.ns(), &stream.raw));
        return stream;
    }

    /// Accepts a connection that has arrived, or returns `error.WouldBlock`.
    pub fn tryAccept(listener: Listener) Error!Stream {
        var stream: Stream = undefined;
        try errors.check(Error, c.blitz_listener_try_accept(listener.raw, &stream.raw));
        return stream;
    }

    /// Returns the address at which a listener of TCP listens.
    pub fn address(listener: Listener) Error!Address {
        var result: Address = undefined;
        try errors.check(Error, c.blitz_listener_address(listener.raw, &result.raw));
        return result;
    }

    /// Returns the descriptor, for options of the system. The listener keeps it: do not close it.
    pub fn fd(listener: Listener) std.posix.fd_t {
        return c.blitz_listener_fd(listener.raw);
    }
};

test Listener {
    var listener = try Listener.listen("127.0.0.1:0");
    defer listener.deinit();
    try std.testing.expectError(error.WouldBlock, listener.tryAccept());
    try std.testing.expectError(error.TimedOut, listener.acceptUntil(.passed));
    try std.testing.expectError(error.InvalidArgument, Listener.listen("no port"));
    const address = try listener.address();
    var buffer: [64]u8 = undefined;
    const text = try std.fmt.bufPrintSentinel(&buffer, "{f}", .{address}, 0);
    try std.testing.expectError(error.AddressInUse, Listener.listen(text));
}

test "a server in fibers echoes to threads and fibers" {
    const testing = @import("../testing.zig");
    const Runtime = @import("../runtime.zig").Runtime;
    const Echo = struct {
        fn serve(runtime: *Runtime, listener: Listener) !void {
            while (true) {
                const stream = listener.accept() catch |err| return if (err == error.Canceled) {} else err;
                var handle = try runtime.spawn(echo, .{stream});
                handle.detach();
            }
        }

        fn echo(accepted: Stream) !void {
            var stream = accepted;
            defer stream.deinit();
            var buffer: [256]u8 = undefined;
            while (true) {
                const count = try stream.read(&buffer);
                if (count == 0) return;
                try stream.writeAll(buffer[0..count], .never);
            }
        }

        fn client(address: Address) !void {
            var stream = try Stream.connectAddress(address, .never);
            defer stream.deinit();
            try stream.setNoDelay(true);
            try std.testing.expectEqual(address.port(), (try stream.peerAddress()).port());
            for (0..50) |i| {
                var buffer: [100]u8 = @splat(@intCast(i));
                try stream.writeAll(&buffer, .never);
                var back: [100]u8 = undefined;
                try stream.readExact(&back, .never);
                try std.testing.expectEqualSlices(u8, &buffer, &back);
            }
        }
    };
    var listener = try Listener.listen("127.0.0.1:0");
    defer listener.deinit();
    var runtime = try Runtime.init(std.testing.allocator, .{ .workers = 2 });
    defer runtime.deinit();
    var server = try runtime.spawn(Echo.serve, .{ &runtime, listener });
    inline for (testing.flavours) |flavour| {
        try testing.together(flavour, 4, Echo.client, .{try listener.address()});
    }
    server.cancel();
    try server.join();
}
