//! Waits until a descriptor is ready.

const std = @import("std");
const Io = std.Io;
const posix = std.posix;
const c = @import("../c.zig");
const cancel = @import("cancel.zig");
const Instance = @import("instance.zig").Instance;

/// The operation for which a descriptor is to be ready.
pub const Direction = enum(u32) { read = c.BLITZ_FD_READ, write = c.BLITZ_FD_WRITE };

/// A wait was cancelled, or its deadline passed.
pub const Error = Io.Cancelable || Io.Timeout.Error;

/// The system cannot watch a descriptor.
pub const WatchError = error{ SystemResources, Unexpected };

/// Waits until reading or writing does not wait, or until the deadline.
pub fn wait(fd: posix.fd_t, direction: Direction, deadline: u64) (Error || WatchError)!void {
    return outcome(c.blitz_fd_wait(fd, @backingInt(direction), deadline, null));
}

/// Waits as `wait` does, after a system call for a socket has returned `AGAIN`. The caller then repeats
/// the call, which may return `AGAIN` again.
pub fn waitForSocket(instance: *Instance, fd: posix.fd_t, direction: Direction, deadline: u64) (Error || WatchError)!void {
    const watch = instance.watches.get(instance.gpa, fd) orelse return wait(fd, direction, deadline);
    return outcome(c.blitz_fd_watch_wait(watch, @backingInt(direction), deadline));
}

/// Lets other tasks of the thread run.
pub fn yield() Error!void {
    outcome(c.blitz_yield()) catch |err| switch (err) {
        error.SystemResources, error.Unexpected => {},
        error.Canceled, error.Timeout => |e| return e,
    };
}

fn outcome(result: c_int) (Error || WatchError)!void {
    return switch (result) {
        c.BLITZ_OK => {},
        c.BLITZ_ECANCELED => if (c.blitz_fiber_is_cancelled()) cancel.acknowledge() else {},
        c.BLITZ_ETIMEDOUT => error.Timeout,
        else => switch (@as(posix.E, @fromBackingInt(@intCast(c.blitz_os_error(result))))) {
            // The operation itself reports an error of the descriptor. A regular file is always ready.
            .BADF, .PERM => {},
            // To repeat the operation would come here again, for ever.
            .MFILE, .NFILE, .NOMEM, .NOSPC => error.SystemResources,
            else => error.Unexpected,
        },
    };
}

/// Waits without a deadline.
pub fn waitForever(fd: posix.fd_t, direction: Direction) (Io.Cancelable || WatchError)!void {
    return withoutTimeout(wait(fd, direction, c.BLITZ_NEVER));
}

/// Waits for a socket without a deadline.
pub fn waitForSocketForever(instance: *Instance, fd: posix.fd_t, direction: Direction) (Io.Cancelable || WatchError)!void {
    return withoutTimeout(waitForSocket(instance, fd, direction, c.BLITZ_NEVER));
}

fn withoutTimeout(waited: (Error || WatchError)!void) (Io.Cancelable || WatchError)!void {
    waited catch |err| switch (err) {
        error.Timeout => {},
        else => |e| return e,
    };
}

test "a descriptor that the system cannot watch ends the wait" {
    const of = struct {
        fn errno(number: posix.E) c_int {
            return -@as(c_int, @intCast(@backingInt(number)));
        }
    };
    try outcome(c.BLITZ_OK);
    try outcome(of.errno(.BADF));
    try outcome(of.errno(.PERM));
    try std.testing.expectError(error.SystemResources, outcome(of.errno(.NOSPC)));
    try std.testing.expectError(error.SystemResources, outcome(of.errno(.NOMEM)));
    try std.testing.expectError(error.SystemResources, outcome(of.errno(.MFILE)));
    try std.testing.expectError(error.Unexpected, outcome(of.errno(.INVAL)));
    try std.testing.expectError(error.Unexpected, outcome(c.BLITZ_EFORKED));
}
