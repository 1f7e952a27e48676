//! Sleeping on a 32-bit word until it changes.
//!
//! A word is a `std.atomic.Value(u32)`. Change it before a wake. A wait orders no memory: load the
//! word with acquire ordering afterwards.

const std = @import("std");
const c = @import("c.zig");
const errors = @import("errors.zig");
const Deadline = @import("deadline.zig").Deadline;

/// A word to sleep on.
pub const Word = std.atomic.Value(u32);

/// Who uses a word. All waits and wakes of a word have the same scope.
pub const Scope = enum(u32) {
    /// The threads and fibers of one process.
    private = c.BLITZ_FUTEX_PRIVATE,
    /// Several processes, in memory that they share. In a fiber such a wait occupies a thread of the
    /// runtime's blocking pool.
    shared = c.BLITZ_FUTEX_SHARED,
};

/// Errors of a wait without a deadline.
pub const WaitError = error{
    /// The word does not hold the expected value.
    Changed,
    /// The fiber was cancelled.
    Canceled,
    /// The system lacks shared words.
    Unsupported,
};

/// Sleeps while the word holds `expected`, until a wake. It may return without a wake: check the
/// condition in a loop.
pub fn wait(word: *const Word, expected: u32, scope: Scope) WaitError!void {
    return errors.check(WaitError, c.blitz_futex_wait(&word.raw, expected, @backingInt(scope)));
}

/// Sleeps as `wait` does, until the deadline at most.
pub fn waitUntil(
    word: *const Word,
    expected: u32,
    scope: Scope,
    deadline: Deadline,
) (WaitError || error{TimedOut})!void {
    const result = c.blitz_futex_wait_until(&word.raw, expected, @backingInt(scope), deadline.ns());
    return errors.check(WaitError || error{TimedOut}, result);
}

/// Wakes up to `n` threads and fibers that sleep on the word, and returns the number of woken ones, if
/// the system reports it. The word is not read: it may have been freed. Does not wait.
pub fn wake(word: *const Word, n: usize, scope: Scope) error{Unsupported}!usize {
    var woken: usize = 0;
    const result = c.blitz_futex_wake(&word.raw, n, @backingInt(scope), &woken);
    try errors.check(error{Unsupported}, result);
    return woken;
}

/// Wakes one thread or fiber that sleeps on the word. Does not wait.
pub fn wakeOne(word: *const Word, scope: Scope) error{Unsupported}!void {
    return errors.check(error{Unsupported}, c.blitz_futex_wake_one(&word.raw, @backingInt(scope)));
}

/// Wakes all threads and fibers that sleep on the word. Does not wait.
pub fn wakeAll(word: *const Word, scope: Scope) error{Unsupported}!void {
    return errors.check(error{Unsupported}, c.blitz_futex_wake_all(&word.raw, @backingInt(scope)));
}

/// A word to wait for, with the value that it is expected to hold.
pub const Waiter = struct {
    word: *const Word,
    expected: u32,
};

/// The most words of `waitAny`.
pub const max_waiters = c.BLITZ_FUTEX_ANY_MAX;

/// The word that ended a wait.
pub const Woken = struct {
    /// The position of the word.
    index: usize,
    /// The word held another value, so that the caller did not sleep.
    changed: bool,
};

/// Sleeps while each of the words holds its expected value, until one is woken, or until the
/// deadline. Asserts that there are 1 to `max_waiters` words. In a fiber the scope must be private.
pub fn waitAny(
    waiters: []const Waiter,
    scope: Scope,
    deadline: Deadline,
) error{ TimedOut, Canceled, Unsupported }!Woken {
    std.debug.assert(waiters.len > 0 and waiters.len <= max_waiters);
    var raw: [max_waiters]c.blitz_futex_waiter = undefined;
    for (waiters, raw[0..waiters.len]) |waiter, *copy| {
        copy.* = .{ .word = &waiter.word.raw, .expected = waiter.expected };
    }
    var index: usize = undefined;
    const result = c.blitz_futex_wait_any(&raw, waiters.len, @backingInt(scope), deadline.ns(), &index);
    if (result == c.BLITZ_ECHANGED) return .{ .index = index, .changed = true };
    try errors.check(error{ TimedOut, Canceled, Unsupported }, result);
    return .{ .index = index, .changed = false };
}

/// Waits until the word no longer holds `previous`, and returns its value. What was done before the
/// change, with release ordering, is visible afterwards.
pub fn blockUntilDifferent(
    word: *const Word,
    previous: u32,
    scope: Scope,
    deadline: Deadline,
) error{ TimedOut, Canceled, Unsupported }!u32 {
    var value: u32 = undefined;
    const result = c.blitz_futex_block_until_different(&word.raw, previous, @backingInt(scope), deadline.ns(), &value);
    try errors.check(error{ TimedOut, Canceled, Unsupported }, result);
    return value;
}

const testing = @import("testing.zig");

test wait {
    var word: Word = .init(1);
    try std.testing.expectError(error.Changed, wait(&word, 0, .private));
    try std.testing.expectError(error.TimedOut, waitUntil(&word, 1, .private, .passed));
    try std.testing.expectEqual(0, try wake(&word, 1, .private));
}

test waitAny {
    var words: [2]Word = .{ .init(0), .init(7) };
    const waiters = [_]Waiter{
        .{ .word = &words[0], .expected = 0 },
        .{ .word = &words[1], .expected = 0 },
    };
    try std.testing.expectEqual(Woken{ .index = 1, .changed = true }, try waitAny(&waiters, .private, .never));
    words[1].store(0, .seq_cst);
    try std.testing.expectError(error.TimedOut, waitAny(&waiters, .private, .passed));
}

test "a word hands turns to two workers" {
    const Shared = struct {
        word: Word = .init(0),
        index: std.atomic.Value(u32) = .init(0),

        fn work(shared: *@This()) !void {
            const mine = shared.index.fetchAdd(1, .monotonic);
            for (0..100) |_| {
                while (true) {
                    const value = shared.word.load(.acquire);
                    if (value % 2 == mine) break;
                    wait(&shared.word, value, .private) catch |err| switch (err) {
                        error.Changed => {},
                        else => return err,
                    };
                }
                _ = shared.word.fetchAdd(1, .release);
                try wakeAll(&shared.word, .private);
            }
        }
    };
    inline for (testing.flavours) |flavour| {
        var shared: Shared = .{};
        try testing.together(flavour, 2, Shared.work, .{&shared});
        try std.testing.expectEqual(200, shared.word.load(.seq_cst));
    }
}

test blockUntilDifferent {
    const Shared = struct {
        word: Word = .init(0),
        index: std.atomic.Value(u32) = .init(0),

        fn work(shared: *@This()) !void {
            if (shared.index.fetchAdd(1, .monotonic) == 0) {
                shared.word.store(3, .release);
                try wakeAll(&shared.word, .private);
            } else {
                try std.testing.expectEqual(3, try blockUntilDifferent(&shared.word, 0, .private, .never));
            }
        }
    };
    inline for (testing.flavours) |flavour| {
        var shared: Shared = .{};
        try testing.together(flavour, 2, Shared.work, .{&shared});
    }
}
