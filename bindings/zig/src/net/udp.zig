//! Sockets of UDP.

const std = @import("std");
const c = @import("../c.zig");
const errors = @import("../errors.zig");
const Address = @import("address.zig").Address;
const Deadline = @import("../deadline.zig").Deadline;
const Error = errors.Error;

/// A socket of UDP. Any thread or fiber may use it, several at once.
pub const UdpSocket = struct {
    raw: *c.blitz_udp,

    /// Makes a socket at a host with a port, such as "0.0.0.0:0"; port 0 lets the system choose. May
    /// wait for the lookup of a name.
    pub fn bind(host: [:0]const u8) Error!UdpSocket {
        var socket: UdpSocket = undefined;
        try errors.check(Error, c.blitz_udp_bind(host, &socket.raw));
        return socket;
    }

    /// Closes the socket and frees it.
    pub fn deinit(socket: *UdpSocket) void {
        c.blitz_udp_free(socket.raw);
        socket.* = undefined;
    }

    /// Sends a datagram to an address, waiting until the deadline at most while the system has no
    /// room.
    pub fn send(socket: UdpSocket, bytes: []const u8, to: Address, deadline: Deadline) Error!void {
        const result = c.blitz_udp_send(socket.raw, bytes.ptr, bytes.len, &to.raw, deadline.ns());
        return errors.check(Error, result);
    }

    /// A datagram that was received.
    pub const Datagram = struct {
        /// The part of the buffer that it fills.
        bytes: []u8,
        /// The address of the sender.
        from: Address,
    };

    /// Receives a datagram, waiting until the deadline at most. The part that does not fit in the
    /// buffer is lost.
    pub fn recv(socket: UdpSocket, buffer: []u8, deadline: Deadline) Error!Datagram {
        var count: usize = undefined;
        var from: Address = undefined;
        const result = c.blitz_udp_recv(socket.raw, buffer.ptr, buffer.len, deadline.ns(), &count, &from.raw);
        try errors.check(Error, result);
        return .{ .bytes = buffer[0..count], .from = from };
    }

    /// Receives a datagram that has arrived, or returns `error.WouldBlock`.
    pub fn tryRecv(socket: UdpSocket, buffer: []u8) Error!Datagram {
        var count: usize = undefined;
        var from: Address = undefined;
        const result = c.blitz_udp_try_recv(socket.raw, buffer.ptr, buffer.len, &count, &from.raw);
        try errors.check(Error, result);
        return .{ .bytes = buffer[0..count], .from = from };
    }

    /// Returns the address of the socket.
    pub fn address(socket: UdpSocket) Error!Address {
        var result: Address = undefined;
        try errors.check(Error, c.blitz_udp_address(socket.raw, &result.raw));
        return result;
    }

    /// Returns the descriptor, for options of the system. The socket keeps it: do not close it.
    pub fn fd(socket: UdpSocket) std.posix.fd_t {
        return c.blitz_udp_fd(socket.raw);
    }
};

test UdpSocket {
    var one = try UdpSocket.bind("127.0.0.1:0");
    defer one.deinit();
    var other = try UdpSocket.bind("127.0.0.1:0");
    defer other.deinit();
    var buffer: [64]u8 = undefined;
    try std.testing.expectError(error.WouldBlock, one.tryRecv(&buffer));
    try std.testing.expectError(error.TimedOut, one.recv(&buffer, .passed));
    try other.send("datagram", try one.address(), .never);
    const datagram = try one.recv(&buffer, .never);
    try std.testing.expectEqualStrings("datagram", datagram.bytes);
    try std.testing.expectEqual((try other.address()).port(), datagram.from.port());
}
