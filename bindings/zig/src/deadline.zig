//! Points in time until which a function waits.

const std = @import("std");
const c = @import("c.zig");

/// A time of the monotonic clock, in nanoseconds. A deadline in the past does not wait.
///
/// ```zig
/// try mutex.lockUntil(.after(5 * std.time.ns_per_ms));
/// ```
pub const Deadline = enum(u64) {
    /// A deadline that has passed: does not wait.
    passed = 0,
    /// A deadline that never comes: waits without a limit.
    never = c.BLITZ_NEVER,
    _,

    /// Returns the time in a number of nanoseconds from now, or `never` if that is too far away.
    pub fn after(nanoseconds: u64) Deadline {
        return @fromBackingInt(c.blitz_now_ns() +| nanoseconds);
    }

    /// Returns the present time.
    pub fn now() Deadline {
        return @fromBackingInt(c.blitz_now_ns());
    }

    /// Returns the nanoseconds of the monotonic clock.
    pub fn ns(deadline: Deadline) u64 {
        return @backingInt(deadline);
    }
};

test "a deadline is later than the present, and does not overflow" {
    const begin = Deadline.now();
    try std.testing.expect(Deadline.after(1000).ns() >= begin.ns() + 1000);
    try std.testing.expectEqual(Deadline.never, Deadline.after(std.math.maxInt(u64)));
}
