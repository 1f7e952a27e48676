//! An event.

const std = @import("std");
const c = @import("c.zig");
const errors = @import("errors.zig");
const Deadline = @import("deadline.zig").Deadline;

/// An event: a flag that threads and fibers wait for. It begins unset.
///
/// It allocates nothing and needs no `deinit`; do not copy or move it after its first use.
pub const Event = struct {
    raw: c.blitz_event,

    /// How an event is reset.
    pub const Reset = enum(u32) {
        /// It stays set until `reset`, and lets all waiters go.
        manual = c.BLITZ_EVENT_MANUAL,
        /// The one waiter that it lets go resets it.
        automatic = c.BLITZ_EVENT_AUTO,
    };

    /// Returns an event that is not set.
    pub fn init(how: Reset) Event {
        return .{ .raw = .{ .config = @backingInt(how) } };
    }

    /// Sets the event. Lets all waiters go if its reset is manual, else one, or the next that comes.
    pub fn set(event: *Event) void {
        errors.expectOk(c.blitz_event_set(&event.raw));
    }

    /// Resets the event.
    pub fn reset(event: *Event) void {
        errors.expectOk(c.blitz_event_reset(&event.raw));
    }

    /// Waits until the event is set.
    pub fn wait(event: *Event) error{Canceled}!void {
        return errors.check(error{Canceled}, c.blitz_event_wait(&event.raw));
    }

    /// Waits until the event is set, until the deadline at most.
    pub fn waitUntil(event: *Event, deadline: Deadline) error{ Canceled, TimedOut }!void {
        const result = c.blitz_event_wait_until(&event.raw, deadline.ns());
        return errors.check(error{ Canceled, TimedOut }, result);
    }

    /// Returns `true` if the event is set, and resets it if its reset is automatic. Does not wait.
    pub fn tryWait(event: *Event) bool {
        return c.blitz_event_try_wait(&event.raw) == c.BLITZ_OK;
    }
};

const testing = @import("testing.zig");

test Event {
    var manual: Event = .init(.manual);
    try std.testing.expect(!manual.tryWait());
    try std.testing.expectError(error.TimedOut, manual.waitUntil(.passed));
    manual.set();
    try manual.wait();
    try std.testing.expect(manual.tryWait());
    manual.reset();
    try std.testing.expect(!manual.tryWait());

    var automatic: Event = .init(.automatic);
    automatic.set();
    try std.testing.expect(automatic.tryWait());
    try std.testing.expect(!automatic.tryWait());
}

test "automatic events alternate two workers" {
    const Shared = struct {
        events: [2]Event = .{ .init(.automatic), .init(.automatic) },
        index: std.atomic.Value(usize) = .init(0),
        turns: usize = 0,

        fn work(shared: *@This()) !void {
            const mine = shared.index.fetchAdd(1, .monotonic);
            if (mine == 0) shared.events[0].set();
            for (0..100) |_| {
                try shared.events[mine].wait();
                shared.turns += 1;
                shared.events[1 - mine].set();
            }
        }
    };
    inline for (testing.flavours) |flavour| {
        var shared: Shared = .{};
        try testing.together(flavour, 2, Shared.work, .{&shared});
        try std.testing.expectEqual(200, shared.turns);
    }
}
