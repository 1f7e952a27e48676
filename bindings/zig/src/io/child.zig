//! Waits for child processes.

const std = @import("std");
const c = @import("../c.zig");
const cancel = @import("cancel.zig");
const forward = @import("forward.zig");
const ready = @import("ready.zig");
const Instance = @import("instance.zig").Instance;
const Child = std.process.Child;
const linux = std.os.linux;

/// `childWait` of `std.Io`.
pub fn wait(userdata: ?*anyopaque, child: *Child) Child.WaitError!Child.Term {
    try cancel.check();
    if (c.blitz_is_fiber()) try untilEnded(child);
    return forward.call("childWait", .of(userdata), .{child});
}

/// Suspends the calling fiber until the child has ended, if the system has descriptors of processes.
/// Otherwise the blocking pool waits.
fn untilEnded(child: *Child) std.Io.Cancelable!void {
    if (@import("builtin").os.tag != .linux) return;
    const opened = linux.pidfd_open(child.id orelse return, 0);
    if (linux.errno(opened) != .SUCCESS) return;
    const fd: std.posix.fd_t = @intCast(opened);
    defer _ = std.posix.system.close(fd);
    ready.waitForever(fd, .read) catch |err| switch (err) {
        error.Canceled => |e| return e,
        // The blocking pool waits.
        error.SystemResources, error.Unexpected => {},
    };
}
