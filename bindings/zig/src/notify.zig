//! Notifications without a value.

const std = @import("std");
const c = @import("c.zig");
const errors = @import("errors.zig");
const token = @import("token.zig");
const Deadline = @import("deadline.zig").Deadline;

/// Notifies threads and fibers. A notification for one that finds no waiter is kept for the next;
/// there is at most one of these.
///
/// It allocates nothing and needs no `deinit`; do not copy or move it after its first use.
pub const Notify = struct {
    raw: c.blitz_parker = .{},

    /// A `Notify` without a notification.
    pub const init: Notify = .{};

    /// Notifies the waiter that came first, or else the next that comes. Does not wait.
    pub inline fn notifyOne(notify: *Notify) void {
        if (token.put(&notify.raw)) return;
        errors.expectOk(c.blitz_parker_unpark(&notify.raw));
    }

    /// Notifies all that wait now, and keeps no notification. Does not wait.
    pub fn notifyAll(notify: *Notify) void {
        errors.expectOk(c.blitz_parker_unpark_all(&notify.raw));
    }

    /// Waits for a notification. What was done before it is visible afterwards.
    pub inline fn wait(notify: *Notify) error{Canceled}!void {
        if (token.take(&notify.raw)) return;
        return errors.check(error{Canceled}, c.blitz_parker_park(&notify.raw));
    }

    /// Waits for a notification until the deadline at most.
    pub fn waitUntil(notify: *Notify, deadline: Deadline) error{ Canceled, TimedOut }!void {
        const result = c.blitz_parker_park_until(&notify.raw, deadline.ns());
        return errors.check(error{ Canceled, TimedOut }, result);
    }

    /// Takes the notification that was kept, and returns `true` if there was one. Does not wait.
    pub inline fn tryWait(notify: *Notify) bool {
        return token.take(&notify.raw) or c.blitz_parker_try_park(&notify.raw) == c.BLITZ_OK;
    }
};

const testing = @import("testing.zig");

test Notify {
    var notify: Notify = .init;
    notify.notifyAll();
    try std.testing.expect(!notify.tryWait());
    try std.testing.expectError(error.TimedOut, notify.waitUntil(.passed));
    notify.notifyOne();
    notify.notifyOne();
    try notify.wait();
    try std.testing.expect(!notify.tryWait());
}

test "all that wait are notified" {
    const workers = 3;
    const Shared = struct {
        notify: Notify = .init,
        index: std.atomic.Value(usize) = .init(0),
        woken: std.atomic.Value(usize) = .init(0),

        fn work(shared: *@This()) !void {
            if (shared.index.fetchAdd(1, .monotonic) != 0) {
                try shared.notify.wait();
                _ = shared.woken.fetchAdd(1, .monotonic);
                return;
            }
            // A worker that is not yet asleep is not notified.
            while (shared.woken.load(.monotonic) < workers - 1) {
                shared.notify.notifyAll();
                try testing.yield();
            }
        }
    };
    inline for (testing.flavours) |flavour| {
        var shared: Shared = .{};
        try testing.together(flavour, workers, Shared.work, .{&shared});
        try std.testing.expect(!shared.notify.tryWait());
    }
}
