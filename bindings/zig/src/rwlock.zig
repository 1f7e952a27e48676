//! A lock for many readers or one writer.

const std = @import("std");
const c = @import("c.zig");
const errors = @import("errors.zig");
const permits = @import("permits.zig");
const word = @import("word.zig");
const Deadline = @import("deadline.zig").Deadline;

/// A lock for many readers or one writer. Threads and fibers may use one lock together.
///
/// It is fair: a reader that comes after a writer waits for the writer, so a thread or fiber must
/// not lock it for reading twice. It allocates nothing and needs no `deinit`; do not copy or move it
/// after its first use. The cancellation of a fiber does not end its wait for a lock.
pub const RwLock = struct {
    raw: c.blitz_rwlock = .{},

    /// An unlocked lock.
    pub const init: RwLock = .{};

    /// Locks for writing if the lock is free, and returns `true` if it did. Does not wait.
    pub inline fn tryLock(rwlock: *RwLock) bool {
        return word.exchange(&rwlock.raw, c.BLITZ_RWLOCK_FREE, 0, .acquire) or
            c.blitz_rwlock_try_write(&rwlock.raw) == c.BLITZ_OK;
    }

    /// Locks for writing, waiting until the lock is free.
    pub inline fn lock(rwlock: *RwLock) void {
        if (word.exchange(&rwlock.raw, c.BLITZ_RWLOCK_FREE, 0, .acquire)) return;
        errors.expectOk(c.blitz_rwlock_write(&rwlock.raw));
    }

    /// Locks for writing, waiting until the deadline at most.
    pub fn lockUntil(rwlock: *RwLock, deadline: Deadline) error{TimedOut}!void {
        return errors.check(error{TimedOut}, c.blitz_rwlock_write_until(&rwlock.raw, deadline.ns()));
    }

    /// Ends a lock for writing. Asserts that there is one.
    pub inline fn unlock(rwlock: *RwLock) void {
        if (word.exchange(&rwlock.raw, 0, c.BLITZ_RWLOCK_FREE, .release)) return;
        errors.expectOk(c.blitz_rwlock_unlock_write(&rwlock.raw));
    }

    /// Locks for reading if no writer has the lock or waits for it, and returns `true` if it did. Does
    /// not wait.
    pub inline fn tryLockShared(rwlock: *RwLock) bool {
        return permits.take(&rwlock.raw, 1) or c.blitz_rwlock_try_read(&rwlock.raw) == c.BLITZ_OK;
    }

    /// Locks for reading, waiting until no writer has the lock or came before.
    pub inline fn lockShared(rwlock: *RwLock) void {
        if (permits.take(&rwlock.raw, 1)) return;
        errors.expectOk(c.blitz_rwlock_read(&rwlock.raw));
    }

    /// Locks for reading, waiting until the deadline at most.
    pub fn lockSharedUntil(rwlock: *RwLock, deadline: Deadline) error{TimedOut}!void {
        return errors.check(error{TimedOut}, c.blitz_rwlock_read_until(&rwlock.raw, deadline.ns()));
    }

    /// Ends a lock for reading. Asserts that there is one.
    pub inline fn unlockShared(rwlock: *RwLock) void {
        if (permits.unlockShared(&rwlock.raw)) return;
        errors.expectOk(c.blitz_rwlock_unlock_read(&rwlock.raw));
    }
};

const testing = @import("testing.zig");

test RwLock {
    var lock: RwLock = .init;
    lock.lockShared();
    try std.testing.expect(lock.tryLockShared());
    try std.testing.expect(!lock.tryLock());
    try std.testing.expectError(error.TimedOut, lock.lockUntil(.passed));
    lock.unlockShared();
    lock.unlockShared();
    lock.lock();
    try std.testing.expect(!lock.tryLockShared());
    try std.testing.expectError(error.TimedOut, lock.lockSharedUntil(.passed));
    lock.unlock();
}

test "an unlock that does not fit to the state is refused" {
    var lock: RwLock = .init;
    const read = c.blitz_rwlock_unlock_read;
    const write = c.blitz_rwlock_unlock_write;
    lock.lock();
    // Written by a writer, whose lock a reader does not end, with or without a call.
    try std.testing.expect(!permits.unlockShared(&lock.raw));
    try std.testing.expectEqual(c.BLITZ_EINVAL, read(&lock.raw));
    try std.testing.expect(!lock.tryLockShared());
    lock.unlock();
    try std.testing.expect(!permits.unlockShared(&lock.raw));
    try std.testing.expectEqual(c.BLITZ_EINVAL, read(&lock.raw));
    try std.testing.expectEqual(c.BLITZ_EINVAL, write(&lock.raw));
    lock.lockShared();
    try std.testing.expectEqual(c.BLITZ_EINVAL, write(&lock.raw));
    try std.testing.expect(permits.unlockShared(&lock.raw));
    try std.testing.expect(lock.tryLock());
}

test "readers never see half of a write" {
    const Shared = struct {
        lock: RwLock = .init,
        one: usize = 0,
        other: usize = 0,

        fn work(shared: *@This()) !void {
            for (0..500) |i| {
                if (i % 4 == 0) {
                    shared.lock.lock();
                    defer shared.lock.unlock();
                    shared.one += 1;
                    if (i % 100 == 0) try testing.yield();
                    shared.other += 1;
                } else {
                    shared.lock.lockShared();
                    defer shared.lock.unlockShared();
                    try std.testing.expectEqual(shared.one, shared.other);
                }
            }
        }
    };
    inline for (testing.flavours) |flavour| {
        var shared: Shared = .{};
        try testing.together(flavour, 4, Shared.work, .{&shared});
        try std.testing.expectEqual(500, shared.one);
    }
}
