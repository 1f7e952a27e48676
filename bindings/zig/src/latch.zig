//! A latch.

const std = @import("std");
const c = @import("c.zig");
const errors = @import("errors.zig");
const Deadline = @import("deadline.zig").Deadline;

/// A latch: threads and fibers wait until a count has come down to 0, once.
///
/// It allocates nothing and needs no `deinit`; do not copy or move it after its first use.
pub const Latch = struct {
    raw: c.blitz_latch,

    /// Returns a latch with a count, `maxInt(i32)` at most. With 0 it is open.
    pub fn init(initial: u32) Latch {
        return .{ .raw = .{ .config = initial } };
    }

    /// Lowers the count. At 0 all waiters go on, and see everything that was done before. Asserts
    /// that the count is not less than `n`. Does not wait.
    pub fn countDown(latch: *Latch, n: u32) void {
        errors.expectOk(c.blitz_latch_count_down(&latch.raw, n));
    }

    /// Waits until the count is 0.
    pub fn wait(latch: *Latch) error{Canceled}!void {
        return errors.check(error{Canceled}, c.blitz_latch_wait(&latch.raw));
    }

    /// Waits until the count is 0, until the deadline at most.
    pub fn waitUntil(latch: *Latch, deadline: Deadline) error{ Canceled, TimedOut }!void {
        const result = c.blitz_latch_wait_until(&latch.raw, deadline.ns());
        return errors.check(error{ Canceled, TimedOut }, result);
    }

    /// Returns `true` if the count is 0. Does not wait.
    pub fn isOpen(latch: *Latch) bool {
        return c.blitz_latch_try_wait(&latch.raw) == c.BLITZ_OK;
    }

    /// Returns the count, which may be lower by now.
    pub fn count(latch: *Latch) u32 {
        return c.blitz_latch_count(&latch.raw);
    }
};

const testing = @import("testing.zig");

test Latch {
    var latch: Latch = .init(2);
    latch.countDown(1);
    try std.testing.expect(!latch.isOpen());
    try std.testing.expectEqual(1, latch.count());
    try std.testing.expectError(error.TimedOut, latch.waitUntil(.passed));
    latch.countDown(1);
    try latch.wait();
    try std.testing.expect(latch.isOpen());
}

test "what was done before the count came down is visible" {
    const workers = 3;
    const Shared = struct {
        latch: Latch = .init(workers),
        index: std.atomic.Value(usize) = .init(0),
        written: [workers]usize = @splat(0),

        fn work(shared: *@This()) !void {
            shared.written[shared.index.fetchAdd(1, .monotonic)] = 1;
            shared.latch.countDown(1);
            try shared.latch.wait();
            for (shared.written) |written| try std.testing.expectEqual(1, written);
        }
    };
    inline for (testing.flavours) |flavour| {
        var shared: Shared = .{};
        try testing.together(flavour, workers, Shared.work, .{&shared});
    }
}
