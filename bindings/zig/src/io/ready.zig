//! Waits until a descriptor is ready.

const std = @import("std");
const Io = std.Io;
const posix = std.posix;
const c = @import("../c.zig");
const cancel = @import("cancel.zig");
const Instance = @import("instance.zig").Instance;

/// For what a descriptor is to be ready.
pub const Direction = enum(u32) { read = c.BLITZ_FD_READ, write = c.BLITZ_FD_WRITE };

/// A wait was cancelled, or its deadline passed.
pub const Error = Io.Cancelable || Io.Timeout.Error;

/// Waits until reading or writing does not wait, or until the deadline.
pub fn wait(fd: posix.fd_t, direction: Direction, deadline: u64) Error!void {
    return outcome(c.blitz_fd_wait(fd, @backingInt(direction), deadline, null));
}

/// Waits as `wait` does, after a system call for a socket has returned `AGAIN`. The caller then repeats
/// the call, which may return `AGAIN` again.
pub fn waitForSocket(instance: *Instance, fd: posix.fd_t, direction: Direction, deadline: u64) Error!void {
    const watch = instance.watches.get(instance.gpa, fd) orelse return wait(fd, direction, deadline);
    return outcome(c.blitz_fd_watch_wait(watch, @backingInt(direction), deadline));
}

/// Lets other tasks of the thread run.
pub fn yield() Error!void {
    return outcome(c.blitz_yield());
}

fn outcome(result: c_int) Error!void {
    return switch (result) {
        c.BLITZ_ECANCELED => if (c.blitz_fiber_is_cancelled()) cancel.acknowledge() else {},
        c.BLITZ_ETIMEDOUT => error.Timeout,
        // The operation itself reports what is wrong with the descriptor.
        else => {},
    };
}

/// Waits without a deadline.
pub fn waitForever(fd: posix.fd_t, direction: Direction) Io.Cancelable!void {
    return withoutTimeout(wait(fd, direction, c.BLITZ_NEVER));
}

/// Waits for a socket without a deadline.
pub fn waitForSocketForever(instance: *Instance, fd: posix.fd_t, direction: Direction) Io.Cancelable!void {
    return withoutTimeout(waitForSocket(instance, fd, direction, c.BLITZ_NEVER));
}

fn withoutTimeout(waited: Error!void) Io.Cancelable!void {
    waited catch |err| switch (err) {
        error.Timeout => {},
        error.Canceled => |e| return e,
    };
}
