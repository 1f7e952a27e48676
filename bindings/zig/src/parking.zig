//! Queues of parked threads and fibers under any address.
//!
//! A lock of one byte has no room for a queue. `park` queues the caller under a key, the address of the lock, and
//! puts it to sleep. `unparkOne` and the others take callers out of the queue and wake them. They call
//! back while the queue is locked, so a lock changes its state in the step in which a waiter leaves the queue.
//!
//! A `context` is a pointer to a struct with the methods that a function calls, as far as it has them, or
//! `null`. Methods that run while a queue is locked return soon, do not wait, and call no function of this file.

const std = @import("std");
const c = @import("c.zig");
const errors = @import("errors.zig");
const Deadline = @import("deadline.zig").Deadline;

/// Errors of `park`.
pub const ParkError = error{
    /// `validate` returned false, so that the caller did not park.
    Changed,
    /// The deadline passed.
    TimedOut,
    /// The fiber was cancelled.
    Canceled,
};

/// Settings of `park`.
pub const ParkOptions = struct {
    /// A value for the filter of `unparkFilter`.
    token: usize = 0,
    deadline: Deadline = .never,
};

/// The outcome of an unpark.
pub const Result = struct {
    /// The number of threads and fibers that are unparked.
    unparked: usize,
    /// The number of those that were moved to the other queue.
    requeued: usize,
    /// True if some remain in the queue. Always false if none was unparked or moved, unless a filter skipped one.
    have_more: bool,
    /// True about once in half a millisecond of unparks. A lock should then hand itself over, so that
    /// newcomers do not overtake for ever.
    be_fair: bool,

    fn of(raw: c.blitz_unpark_result) Result {
        return .{ .unparked = raw.unparked, .requeued = raw.requeued, .have_more = raw.have_more, .be_fair = raw.be_fair };
    }
};

/// The decision of a filter about one waiter.
pub const Filter = enum(u32) {
    /// Unpark it, and go on to the next.
    unpark = c.BLITZ_FILTER_UNPARK,
    /// Leave it, and go on to the next.
    skip = c.BLITZ_FILTER_SKIP,
    /// Leave it and all that come after it.
    stop = c.BLITZ_FILTER_STOP,
};

/// The operation that `unparkRequeue` performs.
pub const Requeue = enum(u32) {
    /// Do nothing.
    abort = c.BLITZ_REQUEUE_ABORT,
    /// Unpark the first one, and move the others.
    unpark_one_move_rest = c.BLITZ_REQUEUE_UNPARK_ONE_MOVE_REST,
    /// Move all.
    move_all = c.BLITZ_REQUEUE_MOVE_ALL,
    /// Unpark the first one, and leave the others.
    unpark_one = c.BLITZ_REQUEUE_UNPARK_ONE,
    /// Move the first one, and leave the others.
    move_one = c.BLITZ_REQUEUE_MOVE_ONE,
};

/// Parks the caller under `key` until it is unparked, and returns the token of the unpark. The key is the address of
/// an object of the caller, and is not read. No wait ends without an unpark before the deadline. What was done before
/// the unpark is visible afterwards.
///
/// Methods of the context: `validate(self) bool` decides, while the queue is locked, whether the caller parks;
/// `beforeSleep(self) void` runs when it is in the queue, which is not locked any more; and
/// `timedOut(self, key: *const anyopaque, is_last: bool) void` runs, while the queue is locked, if it leaves the queue
/// without an unpark.
pub fn park(key: *const anyopaque, context: anytype, options: ParkOptions) ParkError!usize {
    const Context = Of(@TypeOf(context));
    const callbacks: c.blitz_park_callbacks = .{
        .validate = if (comptime Context.has("validate")) Context.validate else null,
        .before_sleep = if (comptime Context.has("beforeSleep")) Context.beforeSleep else null,
        .timed_out = if (comptime Context.has("timedOut")) Context.timedOut else null,
    };
    var token: usize = 0;
    const result = c.blitz_park(key, &callbacks, Context.erase(context), options.token, options.deadline.ns(), &token);
    try errors.check(ParkError, result);
    return token;
}

/// Unparks the thread or fiber that has been parked under `key` for longest.
///
/// A method of the context: `unparked(self, result: Result) usize` runs while the queue is locked, also if none was
/// parked, and returns the token for the unparked one.
pub fn unparkOne(key: *const anyopaque, context: anytype) Result {
    const Context = Of(@TypeOf(context));
    var raw: c.blitz_unpark_result = undefined;
    errors.expectOk(c.blitz_unpark_one(key, Context.callback(), Context.erase(context), &raw));
    return .of(raw);
}

/// Unparks all that are parked under `key`, which get `token`, and returns their number.
pub fn unparkAll(key: *const anyopaque, token: usize) usize {
    var unparked: usize = undefined;
    errors.expectOk(c.blitz_unpark_all(key, token, &unparked));
    return unparked;
}

/// Unparks those under `key` that the context chooses, in the order in which they parked.
///
/// Methods of the context: `filter(self, token: usize) Filter`, which it must have, decides by the token of each;
/// and `unparked` of `unparkOne`.
pub fn unparkFilter(key: *const anyopaque, context: anytype) Result {
    const Context = Of(@TypeOf(context));
    var raw: c.blitz_unpark_result = undefined;
    errors.expectOk(c.blitz_unpark_filter(key, Context.filter, Context.callback(), Context.erase(context), &raw));
    return .of(raw);
}

/// Unparks or moves those that are parked under `from`: moved ones are parked under `to` then, after those that are
/// there already.
///
/// Methods of the context: `requeue(self) Requeue`, which it must have, chooses the operation while both queues are
/// locked; and `unparked` of `unparkOne`, unless that was an abort.
pub fn unparkRequeue(from: *const anyopaque, to: *const anyopaque, context: anytype) Result {
    const Context = Of(@TypeOf(context));
    var raw: c.blitz_unpark_result = undefined;
    errors.expectOk(c.blitz_unpark_requeue(from, to, Context.requeue, Context.callback(), Context.erase(context), &raw));
    return .of(raw);
}

/// The methods of a context as functions of C.
fn Of(comptime Pointer: type) type {
    return struct {
        fn has(comptime name: []const u8) bool {
            if (Pointer == @TypeOf(null)) return false;
            return @hasDecl(@typeInfo(Pointer).pointer.child, name);
        }

        fn erase(context: Pointer) ?*anyopaque {
            if (Pointer == @TypeOf(null)) return null;
            return @ptrCast(@constCast(context));
        }

        fn of(argument: ?*anyopaque) Pointer {
            return @ptrCast(@alignCast(argument.?));
        }

        fn callback() c.blitz_unpark_callback {
            return if (comptime has("unparked")) unparked else null;
        }

        fn validate(argument: ?*anyopaque) callconv(.c) bool {
            return of(argument).validate();
        }

        fn beforeSleep(argument: ?*anyopaque) callconv(.c) void {
            of(argument).beforeSleep();
        }

        fn timedOut(argument: ?*anyopaque, key: *const anyopaque, is_last: bool) callconv(.c) void {
            of(argument).timedOut(key, is_last);
        }

        fn unparked(argument: ?*anyopaque, raw: *const c.blitz_unpark_result) callconv(.c) usize {
            return of(argument).unparked(Result.of(raw.*));
        }

        fn filter(argument: ?*anyopaque, token: usize) callconv(.c) u32 {
            return @backingInt(@as(Filter, of(argument).filter(token)));
        }

        fn requeue(argument: ?*anyopaque) callconv(.c) u32 {
            return @backingInt(@as(Requeue, of(argument).requeue()));
        }
    };
}

const testing = @import("testing.zig");

/// A lock of one byte: 0 free, 1 locked, 2 with waiters, which are parked under its address.
const ByteLock = struct {
    state: std.atomic.Value(u8) = .init(0),

    fn lock(byte: *ByteLock) !void {
        if (byte.state.cmpxchgStrong(0, 1, .acquire, .monotonic) == null) return;
        return byte.lockContended();
    }

    fn lockContended(byte: *ByteLock) !void {
        while (byte.state.swap(2, .acquire) != 0) {
            _ = park(byte, byte, .{}) catch |err| switch (err) {
                error.Changed => {},
                else => return err,
            };
        }
    }

    pub fn validate(byte: *ByteLock) bool {
        return byte.state.load(.monotonic) == 2;
    }

    fn unlock(byte: *ByteLock) void {
        if (byte.state.swap(0, .release) == 2) _ = unparkOne(byte, null);
    }

    /// For waiters that move here.
    pub fn requeue(byte: *ByteLock) Requeue {
        const seen = byte.state.cmpxchgStrong(1, 2, .monotonic, .monotonic) orelse return .move_all;
        return if (seen == 2) .move_all else .unpark_one_move_rest;
    }
};

test park {
    const Context = struct {
        parks: bool,
        key: ?*const anyopaque = null,
        is_last: bool = false,

        pub fn validate(context: *@This()) bool {
            return context.parks;
        }

        pub fn timedOut(context: *@This(), key: *const anyopaque, is_last: bool) void {
            context.key = key;
            context.is_last = is_last;
        }
    };
    const key: u8 = 0;
    var context: Context = .{ .parks = false };
    try std.testing.expectError(error.Changed, park(&key, &context, .{}));
    context.parks = true;
    try std.testing.expectError(error.TimedOut, park(&key, &context, .{ .deadline = .passed }));
    try std.testing.expect(context.key == @as(*const anyopaque, &key) and context.is_last);
    try std.testing.expectEqual(0, unparkAll(&key, 0));
    try std.testing.expectEqual(0, unparkOne(&key, null).unparked);
}

test "a lock of one byte" {
    const Shared = struct {
        byte: ByteLock = .{},
        count: u32 = 0,

        fn work(shared: *@This()) !void {
            for (0..500) |i| {
                try shared.byte.lock();
                defer shared.byte.unlock();
                shared.count += 1;
                if (i % 32 == 0) try testing.yield();
            }
        }
    };
    inline for (testing.flavours) |flavour| {
        var shared: Shared = .{};
        try testing.together(flavour, 4, Shared.work, .{&shared});
        try std.testing.expectEqual(2000, shared.count);
        try std.testing.expectEqual(0, shared.byte.state.load(.seq_cst));
    }
}

test unparkFilter {
    const Shared = struct {
        queued: std.atomic.Value(usize) = .init(0),
        index: std.atomic.Value(usize) = .init(0),
        key: u8 = 0,
        seen: Result = undefined,

        pub fn beforeSleep(shared: *@This()) void {
            _ = shared.queued.fetchAdd(1, .release);
        }

        pub fn filter(_: *@This(), token: usize) Filter {
            return if (token == 2) .unpark else .skip;
        }

        pub fn unparked(shared: *@This(), result: Result) usize {
            shared.seen = result;
            return 20;
        }

        fn work(shared: *@This()) !void {
            const mine = shared.index.fetchAdd(1, .monotonic);
            if (mine > 0) {
                const token = try park(&shared.key, shared, .{ .token = mine });
                return std.testing.expectEqual(if (mine == 2) @as(usize, 20) else 9, token);
            }
            while (shared.queued.load(.acquire) < 3) try testing.yield();
            const result = unparkFilter(&shared.key, shared);
            try std.testing.expectEqual(1, result.unparked);
            try std.testing.expect(result.have_more and std.meta.eql(result, shared.seen));
            try std.testing.expectEqual(2, unparkAll(&shared.key, 9));
        }
    };
    inline for (testing.flavours) |flavour| {
        var shared: Shared = .{};
        try testing.together(flavour, 4, Shared.work, .{&shared});
    }
}

test unparkRequeue {
    const Shared = struct {
        byte: ByteLock = .{},
        condition: u8 = 0,
        waiting: usize = 0,
        passed: usize = 0,
        index: std.atomic.Value(usize) = .init(0),
        is_open: bool = false,

        /// The lock is released when the caller is in the queue.
        pub fn beforeSleep(shared: *@This()) void {
            shared.byte.unlock();
        }

        fn work(shared: *@This()) !void {
            if (shared.index.fetchAdd(1, .monotonic) == 0) return shared.open();
            try shared.byte.lock();
            defer shared.byte.unlock();
            shared.waiting += 1;
            while (!shared.is_open) {
                _ = try park(&shared.condition, shared, .{});
                try shared.byte.lockContended();
            }
            shared.passed += 1;
        }

        fn open(shared: *@This()) !void {
            while (true) {
                try testing.yield();
                try shared.byte.lock();
                defer shared.byte.unlock();
                if (shared.waiting < 3) continue;
                shared.is_open = true;
                const result = unparkRequeue(&shared.condition, &shared.byte, &shared.byte);
                try std.testing.expectEqual(0, result.unparked);
                try std.testing.expectEqual(3, result.requeued);
                return;
            }
        }
    };
    inline for (testing.flavours) |flavour| {
        var shared: Shared = .{};
        try testing.together(flavour, 4, Shared.work, .{&shared});
        try std.testing.expectEqual(3, shared.passed);
    }
}
