//! A parker.

const std = @import("std");
const c = @import("c.zig");
const errors = @import("errors.zig");
const token = @import("token.zig");
const Deadline = @import("deadline.zig").Deadline;

/// A parker: a thread or fiber sleeps until another hands it a token. There is at most one token:
/// unparking twice before a park counts once.
///
/// It allocates nothing and needs no `deinit`; do not copy or move it after its first use.
pub const Parker = struct {
    raw: c.blitz_parker = .{},

    /// A parker without a token.
    pub const init: Parker = .{};

    /// Waits for the token and takes it. What was done before the `unpark` is visible afterwards.
    pub inline fn park(parker: *Parker) error{Canceled}!void {
        if (token.take(&parker.raw)) return;
        return errors.check(error{Canceled}, c.blitz_parker_park(&parker.raw));
    }

    /// Waits for the token until the deadline at most.
    pub fn parkUntil(parker: *Parker, deadline: Deadline) error{ Canceled, TimedOut }!void {
        const result = c.blitz_parker_park_until(&parker.raw, deadline.ns());
        return errors.check(error{ Canceled, TimedOut }, result);
    }

    /// Takes the token if there is one, and returns `true` if it did. Does not wait.
    pub inline fn tryPark(parker: *Parker) bool {
        return token.take(&parker.raw) or c.blitz_parker_try_park(&parker.raw) == c.BLITZ_OK;
    }

    /// Hands over the token. Does not wait.
    pub inline fn unpark(parker: *Parker) void {
        if (token.put(&parker.raw)) return;
        errors.expectOk(c.blitz_parker_unpark(&parker.raw));
    }
};

const testing = @import("testing.zig");

test Parker {
    var parker: Parker = .init;
    try std.testing.expect(!parker.tryPark());
    try std.testing.expectError(error.TimedOut, parker.parkUntil(.passed));
    parker.unpark();
    parker.unpark();
    try parker.park();
    try std.testing.expect(!parker.tryPark());
}

test "two workers park in turns" {
    const Shared = struct {
        parkers: [2]Parker = .{ .init, .init },
        index: std.atomic.Value(usize) = .init(0),
        turns: usize = 0,

        fn work(shared: *@This()) !void {
            const mine = shared.index.fetchAdd(1, .monotonic);
            if (mine == 0) shared.parkers[0].unpark();
            for (0..100) |_| {
                try shared.parkers[mine].park();
                shared.turns += 1;
                shared.parkers[1 - mine].unpark();
            }
        }
    };
    inline for (testing.flavours) |flavour| {
        var shared: Shared = .{};
        try testing.together(flavour, 2, Shared.work, .{&shared});
        try std.testing.expectEqual(200, shared.turns);
    }
}
