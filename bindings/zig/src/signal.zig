//! Signals of the system.

const std = @import("std");
const c = @import("c.zig");
const errors = @import("errors.zig");
const Deadline = @import("deadline.zig").Deadline;
const Error = errors.Error;

/// Receives a signal of the system. Any thread or fiber may use it; a second call at the same time
/// returns `error.Busy`.
pub const Signal = struct {
    raw: *c.blitz_signal,

    /// Begins to receive a signal, such as `.TERM`. From now on it no longer has its default effect in
    /// this process, also after `deinit`. Fails for a signal that cannot be caught.
    pub fn init(signal: std.posix.SIG) Error!Signal {
        var raw: *c.blitz_signal = undefined;
        try errors.check(Error, c.blitz_signal_new(@intCast(@backingInt(signal)), &raw));
        return .{ .raw = raw };
    }

    /// Frees it.
    pub fn deinit(signal: *Signal) void {
        c.blitz_signal_free(signal.raw);
        signal.* = undefined;
    }

    /// Waits for the signal, until the deadline at most. Signals that came since the last call, or
    /// since `init`, count once.
    pub fn wait(signal: Signal, deadline: Deadline) Error!void {
        return errors.check(Error, c.blitz_signal_wait(signal.raw, deadline.ns()));
    }
};

test Signal {
    var signal = try Signal.init(.USR1);
    defer signal.deinit();
    try std.testing.expectError(error.TimedOut, signal.wait(.passed));
    try std.posix.kill(std.os.linux.getpid(), .USR1);
    try signal.wait(.never);
    if (Signal.init(.KILL)) |_| return error.TestUnexpectedResult else |_| {}
}
