//! A barrier.

const std = @import("std");
const c = @import("c.zig");
const errors = @import("errors.zig");
const Deadline = @import("deadline.zig").Deadline;

/// A barrier: the last of a number of threads and fibers releases all of them. It can be used again
/// at once.
///
/// It allocates nothing and needs no `deinit`; do not copy or move it after its first use.
pub const Barrier = struct {
    raw: c.blitz_barrier,

    /// Returns a barrier for a number of threads and fibers. Asserts that it is not 0.
    pub fn init(count: u32) Barrier {
        std.debug.assert(count > 0);
        return .{ .raw = .{ .config = count } };
    }

    /// Waits until as many have arrived as the barrier counts. Returns `true` to one of them, the leader.
    /// A fiber that is cancelled gets `error.Canceled`. If it was cancelled while it waited, it still
    /// counts for the round.
    pub fn wait(barrier: *Barrier) error{Canceled}!bool {
        var is_leader = false;
        try errors.check(error{Canceled}, c.blitz_barrier_wait(&barrier.raw, &is_leader));
        return is_leader;
    }

    /// Waits as `wait` does, until the deadline at most. After the deadline the caller no longer
    /// waits, but still counts for the round.
    pub fn waitUntil(barrier: *Barrier, deadline: Deadline) error{ Canceled, TimedOut }!bool {
        var is_leader = false;
        const result = c.blitz_barrier_wait_until(&barrier.raw, deadline.ns(), &is_leader);
        try errors.check(error{ Canceled, TimedOut }, result);
        return is_leader;
    }
};

const testing = @import("testing.zig");

test Barrier {
    var barrier: Barrier = .init(1);
    try std.testing.expect(try barrier.wait());
    var pair: Barrier = .init(2);
    try std.testing.expectError(error.TimedOut, pair.waitUntil(.passed));
}

test "each round has one leader, and no thread is a round ahead" {
    const workers = 3;
    const Shared = struct {
        barrier: Barrier = .init(workers),
        leaders: std.atomic.Value(usize) = .init(0),
        arrived: std.atomic.Value(usize) = .init(0),

        fn work(shared: *@This()) !void {
            for (1..101) |round| {
                _ = shared.arrived.fetchAdd(1, .seq_cst);
                if (try shared.barrier.wait()) _ = shared.leaders.fetchAdd(1, .seq_cst);
                try std.testing.expect(shared.arrived.load(.seq_cst) >= round * workers);
            }
        }
    };
    inline for (testing.flavours) |flavour| {
        var shared: Shared = .{};
        try testing.together(flavour, workers, Shared.work, .{&shared});
        try std.testing.expectEqual(100, shared.leaders.load(.seq_cst));
    }
}
