//! Waits until a descriptor is ready.

const std = @import("std");
const Io = std.Io;
const posix = std.posix;
const c = @import("../c.zig");
const cancel = @import("cancel.zig");

pub const Direction = enum(u32) { read = c.BLITZ_FD_READ, write = c.BLITZ_FD_WRITE };

/// A wait was cancelled, or its deadline passed.
pub const Error = Io.Cancelable || Io.Timeout.Error;

/// Waits until reading or writing does not wait, or until the deadline.
pub fn wait(fd: posix.fd_t, direction: Direction, deadline: u64) Error!void {
    return switch (c.blitz_fd_wait(fd, @backingInt(direction), deadline, null)) {
        c.BLITZ_ECANCELED => if (c.blitz_fiber_is_cancelled()) cancel.acknowledge() else {},
        c.BLITZ_ETIMEDOUT => error.Timeout,
        // The operation itself reports what is wrong with the descriptor.
        else => {},
    };
}

/// Waits without a deadline.
pub fn waitForever(fd: posix.fd_t, direction: Direction) Io.Cancelable!void {
    wait(fd, direction, c.BLITZ_NEVER) catch |err| switch (err) {
        error.Timeout => {},
        error.Canceled => |e| return e,
    };
}
