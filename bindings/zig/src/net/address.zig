//! Addresses of the internet.

const std = @import("std");
const c = @import("../c.zig");
const errors = @import("../errors.zig");
const Deadline = @import("../deadline.zig").Deadline;

/// An address of the internet with a port. Print it with `{f}`.
pub const Address = struct {
    raw: c.blitz_address,

    /// Reads an address with a port, such as "127.0.0.1:80" or "[::1]:80". Looks up no names.
    pub fn parse(text: [:0]const u8) error{InvalidArgument}!Address {
        var address: Address = undefined;
        try errors.check(error{InvalidArgument}, c.blitz_address_parse(text, &address.raw));
        return address;
    }

    /// Returns the port.
    pub fn port(address: Address) u16 {
        return address.raw.port;
    }

    /// Returns the bytes of the address in network order: 4, or 16 for IPv6.
    pub fn bytes(address: *const Address) []const u8 {
        return if (address.raw.family == 4) address.raw.ip[0..4] else &address.raw.ip;
    }

    /// Writes the address with its port.
    pub fn format(address: Address, writer: *std.Io.Writer) std.Io.Writer.Error!void {
        var buffer: [64]u8 = undefined;
        errors.expectOk(c.blitz_address_format(&address.raw, &buffer, buffer.len));
        try writer.writeAll(std.mem.sliceTo(&buffer, 0));
    }
};

/// Looks up the addresses of a host with a port, such as "example.org:443", until the deadline at
/// most. Writes the first ones to `buffer`, in the order of the system's resolver, and returns them.
pub fn lookup(host: [:0]const u8, deadline: Deadline, buffer: []Address) errors.Error![]Address {
    comptime std.debug.assert(@sizeOf(Address) == @sizeOf(c.blitz_address));
    var count: usize = undefined;
    const result = c.blitz_dns_lookup(host, deadline.ns(), @ptrCast(buffer.ptr), buffer.len, &count);
    try errors.check(errors.Error, result);
    return buffer[0..@min(count, buffer.len)];
}

test Address {
    const address = try Address.parse("127.0.0.1:80");
    try std.testing.expectEqual(80, address.port());
    try std.testing.expectEqualSlices(u8, &.{ 127, 0, 0, 1 }, address.bytes());
    const six = try Address.parse("[::1]:443");
    try std.testing.expectEqual(16, six.bytes().len);
    var buffer: [64]u8 = undefined;
    try std.testing.expectEqualStrings("[::1]:443", try std.fmt.bufPrint(&buffer, "{f}", .{six}));
    try std.testing.expectError(error.InvalidArgument, Address.parse("localhost:80"));
}

test lookup {
    var buffer: [4]Address = undefined;
    const found = try lookup("localhost:80", .never, &buffer);
    try std.testing.expect(found.len > 0);
    try std.testing.expectEqual(80, found[0].port());
    try std.testing.expectError(error.InvalidArgument, lookup("no port", .never, &buffer));
}
