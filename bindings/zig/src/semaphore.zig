//! A counting semaphore.

const std = @import("std");
const c = @import("c.zig");
const errors = @import("errors.zig");
const fast = @import("permits.zig");
const Deadline = @import("deadline.zig").Deadline;

/// A counting semaphore. Threads and fibers may use one semaphore together.
///
/// It is fair: a request for many permits is not overtaken by smaller ones. It allocates nothing and
/// needs no `deinit`; do not copy or move it after its first use.
pub const Semaphore = struct {
    raw: c.blitz_semaphore = .{},

    /// The most permits.
    pub const max_permits = c.BLITZ_SEMAPHORE_MAX;

    /// Returns a semaphore with a number of permits. Asserts that `max_permits` is not exceeded.
    pub fn init(permits: u32) Semaphore {
        std.debug.assert(permits <= max_permits);
        return .{ .raw = .{ .config = permits } };
    }

    /// Takes permits, waiting until there are as many. After an error it has taken none. Asserts that
    /// `permits` does not exceed `max_permits`.
    pub inline fn acquire(semaphore: *Semaphore, permits: u32) error{ Closed, Canceled }!void {
        if (fast.take(&semaphore.raw, permits)) return;
        const result = c.blitz_semaphore_acquire(&semaphore.raw, permits);
        return errors.check(error{ Closed, Canceled }, result);
    }

    /// Takes permits as `acquire` does, waiting until the deadline at most.
    pub fn acquireUntil(
        semaphore: *Semaphore,
        permits: u32,
        deadline: Deadline,
    ) error{ Closed, Canceled, TimedOut }!void {
        const result = c.blitz_semaphore_acquire_until(&semaphore.raw, permits, deadline.ns());
        return errors.check(error{ Closed, Canceled, TimedOut }, result);
    }

    /// Takes permits if there are as many and no other waits for some. Does not wait.
    pub inline fn tryAcquire(semaphore: *Semaphore, permits: u32) error{ Closed, WouldBlock }!void {
        if (fast.take(&semaphore.raw, permits)) return;
        const result = c.blitz_semaphore_try_acquire(&semaphore.raw, permits);
        return errors.check(error{ Closed, WouldBlock }, result);
    }

    /// Adds permits, and wakes the waiters that can go on with them. Asserts that there are no more
    /// than `max_permits` afterwards.
    pub inline fn release(semaphore: *Semaphore, permits: u32) void {
        if (fast.add(&semaphore.raw, permits)) return;
        errors.expectOk(c.blitz_semaphore_release(&semaphore.raw, permits));
    }

    /// Adds permits as `release` does, if no more than `bound` are free then: permits that go to a waiter are not
    /// free. With the number that the semaphore started with as the bound, this refuses a release without an
    /// acquire; `catch @panic("over-release")` ends the program there.
    pub fn releaseWithin(semaphore: *Semaphore, permits: u32, bound: u32) error{OverRelease}!void {
        const result = c.blitz_semaphore_release_within(&semaphore.raw, permits, bound);
        if (result != c.BLITZ_OK) return error.OverRelease;
    }

    /// Closes the semaphore: present and later waiters get `error.Closed`.
    pub fn close(semaphore: *Semaphore) void {
        errors.expectOk(c.blitz_semaphore_close(&semaphore.raw));
    }

    /// Returns the number of free permits, which may be another one by now.
    pub fn available(semaphore: *Semaphore) u32 {
        return c.blitz_semaphore_available(&semaphore.raw);
    }
};

const testing = @import("testing.zig");

test Semaphore {
    var semaphore: Semaphore = .init(3);
    try semaphore.acquire(2);
    try std.testing.expectError(error.WouldBlock, semaphore.tryAcquire(2));
    try std.testing.expectError(error.TimedOut, semaphore.acquireUntil(2, .passed));
    try std.testing.expectEqual(1, semaphore.available());
    try std.testing.expectError(error.OverRelease, semaphore.releaseWithin(3, 3));
    try semaphore.releaseWithin(2, 3);
    try std.testing.expectError(error.OverRelease, semaphore.releaseWithin(1, 3));
    try semaphore.tryAcquire(3);
    semaphore.close();
    try std.testing.expectError(error.Closed, semaphore.acquire(1));
}

test "no more than the permits are in use at a time" {
    const Shared = struct {
        semaphore: Semaphore = .init(3),
        inside: std.atomic.Value(u32) = .init(0),

        fn work(shared: *@This()) !void {
            for (0..200) |i| {
                const permits: u32 = if (i % 3 == 0) 2 else 1;
                try shared.semaphore.acquire(permits);
                defer shared.semaphore.release(permits);
                try std.testing.expect(shared.inside.fetchAdd(permits, .seq_cst) + permits <= 3);
                if (i % 20 == 0) try testing.yield();
                _ = shared.inside.fetchSub(permits, .seq_cst);
            }
        }
    };
    inline for (testing.flavours) |flavour| {
        var shared: Shared = .{};
        try testing.together(flavour, 4, Shared.work, .{&shared});
        try std.testing.expectEqual(3, shared.semaphore.available());
    }
}
