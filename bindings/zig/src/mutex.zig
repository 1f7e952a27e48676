//! A mutual exclusion lock.

const std = @import("std");
const c = @import("c.zig");
const errors = @import("errors.zig");
const word = @import("word.zig");
const Deadline = @import("deadline.zig").Deadline;

/// A mutual exclusion lock. Threads and fibers may use one mutex together.
///
/// It is fair: waiters get it in the order in which they came. It is not recursive. It allocates
/// nothing and needs no `deinit`; do not copy or move it after its first use. The cancellation of a
/// fiber does not end its wait for a mutex.
///
/// ```zig
/// var mutex: Mutex = .init;
/// mutex.lock();
/// defer mutex.unlock();
/// ```
pub const Mutex = struct {
    raw: c.blitz_mutex = .{},

    /// An unlocked mutex.
    pub const init: Mutex = .{};

    /// Locks the mutex if it is free, and returns `true` if it did. Does not wait.
    pub inline fn tryLock(mutex: *Mutex) bool {
        return word.exchange(&mutex.raw, c.BLITZ_MUTEX_FREE, 0, .acquire) or
            c.blitz_mutex_try_lock(&mutex.raw) == c.BLITZ_OK;
    }

    /// Locks the mutex, waiting until it is free.
    pub inline fn lock(mutex: *Mutex) void {
        if (word.exchange(&mutex.raw, c.BLITZ_MUTEX_FREE, 0, .acquire)) return;
        errors.expectOk(c.blitz_mutex_lock(&mutex.raw));
    }

    /// Locks the mutex, waiting until the deadline at most.
    pub fn lockUntil(mutex: *Mutex, deadline: Deadline) error{TimedOut}!void {
        return errors.check(error{TimedOut}, c.blitz_mutex_lock_until(&mutex.raw, deadline.ns()));
    }

    /// Unlocks the mutex, and wakes the first waiter. Asserts that it is locked.
    pub inline fn unlock(mutex: *Mutex) void {
        if (word.exchange(&mutex.raw, 0, c.BLITZ_MUTEX_FREE, .release)) return;
        errors.expectOk(c.blitz_mutex_unlock(&mutex.raw));
    }
};

const testing = @import("testing.zig");

test Mutex {
    var mutex: Mutex = .init;
    mutex.lock();
    try std.testing.expect(!mutex.tryLock());
    try std.testing.expectError(error.TimedOut, mutex.lockUntil(.passed));
    mutex.unlock();
    try std.testing.expect(mutex.tryLock());
    mutex.unlock();
    try mutex.lockUntil(.never);
    mutex.unlock();
}

test "a mutex excludes threads and fibers" {
    const Shared = struct {
        mutex: Mutex = .init,
        count: usize = 0,

        fn work(shared: *@This()) !void {
            for (0..1000) |i| {
                shared.mutex.lock();
                defer shared.mutex.unlock();
                const count = shared.count;
                if (i % 100 == 0) try testing.yield();
                shared.count = count + 1;
            }
        }
    };
    inline for (testing.flavours) |flavour| {
        var shared: Shared = .{};
        try testing.together(flavour, 4, Shared.work, .{&shared});
        try std.testing.expectEqual(4000, shared.count);
    }
}
