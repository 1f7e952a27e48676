//! A condition variable.

const std = @import("std");
const c = @import("c.zig");
const errors = @import("errors.zig");
const Deadline = @import("deadline.zig").Deadline;
const Mutex = @import("mutex.zig").Mutex;

/// A condition variable for `Mutex`. Threads and fibers may use one together.
///
/// It allocates nothing and needs no `deinit`; do not copy or move it after its first use.
///
/// ```zig
/// mutex.lock();
/// defer mutex.unlock();
/// while (!ready) try condition.wait(&mutex);
/// ```
pub const Condition = struct {
    raw: c.blitz_condvar = .{},

    /// A condition variable for which nothing waits.
    pub const init: Condition = .{};

    /// Unlocks the mutex, waits for a signal, and locks the mutex again, also after an error. It may
    /// return without a signal: check the condition in a loop. Asserts that the mutex is locked.
    pub fn wait(condition: *Condition, mutex: *Mutex) error{Canceled}!void {
        return errors.check(error{Canceled}, c.blitz_condvar_wait(&condition.raw, &mutex.raw));
    }

    /// Waits as `wait` does, until the deadline at most.
    pub fn waitUntil(condition: *Condition, mutex: *Mutex, deadline: Deadline) error{ Canceled, TimedOut }!void {
        const result = c.blitz_condvar_wait_until(&condition.raw, &mutex.raw, deadline.ns());
        return errors.check(error{ Canceled, TimedOut }, result);
    }

    /// Wakes the waiter that came first. Does not wait.
    pub fn signal(condition: *Condition) void {
        errors.expectOk(c.blitz_condvar_notify_one(&condition.raw));
    }

    /// Wakes all waiters. Does not wait.
    pub fn broadcast(condition: *Condition) void {
        errors.expectOk(c.blitz_condvar_notify_all(&condition.raw));
    }
};

const testing = @import("testing.zig");

test Condition {
    var mutex: Mutex = .init;
    var condition: Condition = .init;
    mutex.lock();
    defer mutex.unlock();
    try std.testing.expectError(error.TimedOut, condition.waitUntil(&mutex, .passed));
    try std.testing.expect(!mutex.tryLock());
}

test "a condition variable hands turns around" {
    const Shared = struct {
        mutex: Mutex = .init,
        condition: Condition = .init,
        turn: usize = 0,
        arrived: usize = 0,

        fn work(shared: *@This()) !void {
            shared.mutex.lock();
            defer shared.mutex.unlock();
            const mine = shared.arrived;
            shared.arrived += 1;
            for (0..50) |round| {
                while (shared.turn != round * 3 + mine) try shared.condition.wait(&shared.mutex);
                shared.turn += 1;
                shared.condition.broadcast();
            }
        }
    };
    inline for (testing.flavours) |flavour| {
        var shared: Shared = .{};
        try testing.together(flavour, 3, Shared.work, .{&shared});
        try std.testing.expectEqual(150, shared.turn);
    }
}
