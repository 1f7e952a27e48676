//! Descriptors of other libraries.

const std = @import("std");
const c = @import("c.zig");
const errors = @import("errors.zig");
const Deadline = @import("deadline.zig").Deadline;

/// The events for which a descriptor is ready.
pub const Ready = packed struct(u32) {
    /// Reading does not wait: there are bytes, a connection, or the end of the stream.
    read: bool = false,
    /// Writing does not wait.
    write: bool = false,
    /// There is an error, which the next operation reports. Only a result.
    failed: bool = false,
    /// The other side has hung up. Only a result.
    hung_up: bool = false,
    _: u28 = 0,
};

/// Waits until a descriptor is ready for reading, writing or one of both, or has an error, until the
/// deadline at most. So a library with non-blocking functions can wait in a fiber. The caller keeps
/// the descriptor, and must not close it during the call. Regular files are always ready.
pub fn waitForDescriptor(fd: std.posix.fd_t, events: Ready, deadline: Deadline) errors.Error!Ready {
    var ready: u32 = undefined;
    try errors.check(errors.Error, c.blitz_fd_wait(fd, @bitCast(events), deadline.ns(), &ready));
    return @bitCast(ready);
}

test waitForDescriptor {
    const Stream = @import("net/stream.zig").Stream;
    var streams = try Stream.pair();
    defer for (&streams) |*stream| stream.deinit();
    const fd = streams[0].fd();
    try std.testing.expect((try waitForDescriptor(fd, .{ .write = true }, .never)).write);
    try std.testing.expectError(error.TimedOut, waitForDescriptor(fd, .{ .read = true }, .passed));
    try streams[1].writeAll("x", .never);
    try std.testing.expect((try waitForDescriptor(fd, .{ .read = true }, .never)).read);
    try std.testing.expectError(error.InvalidArgument, waitForDescriptor(fd, .{}, .never));
}
