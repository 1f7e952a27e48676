//! Fork-join: loops and calls in parallel.

const std = @import("std");
const c = @import("c.zig");
const errors = @import("errors.zig");

/// Errors of fork-join.
pub const Error = error{
    /// This is a child process, and its parent has used the pool.
    Forked,
};

/// A pool of threads for fork-join. Any thread or fiber may use it, several at once. Most programs
/// need none but `default`.
pub const Pool = struct {
    raw: ?*c.blitz_pool,

    /// The pool of the process, with a thread for each processor. It needs no `deinit`.
    pub const default: Pool = .{ .raw = null };

    /// Makes a pool with a number of threads, 1 to 1,024; 0 is one for each processor.
    pub fn init(count: usize) error{ InvalidArgument, Unsupported }!Pool {
        var raw: *c.blitz_pool = undefined;
        try errors.check(error{ InvalidArgument, Unsupported }, c.blitz_pool_new(count, &raw));
        return .{ .raw = raw };
    }

    /// Frees the pool. Does not wait.
    pub fn deinit(pool: *Pool) void {
        c.blitz_pool_free(pool.raw);
        pool.* = undefined;
    }

    /// Returns the number of threads.
    pub fn threads(pool: Pool) usize {
        return c.blitz_pool_threads(pool.raw);
    }

    /// A loop of `parallelFor`.
    pub const Range = struct {
        /// The first index.
        begin: usize = 0,
        /// The index after the last. It is not less than `begin`.
        end: usize,
        /// The most indices of a part; 0 lets the library choose.
        grain: usize = 0,
    };

    /// Calls `body(context, begin, end)` for parts that together are the indices of the range, each
    /// once, in parallel and in any order. Returns when all have ended, and everything that they did
    /// is visible. A part must not wait for another.
    pub fn parallelFor(
        pool: Pool,
        range: Range,
        context: anytype,
        comptime body: fn (context: @TypeOf(context), begin: usize, end: usize) void,
    ) Error!void {
        const Context = @TypeOf(context);
        const call = struct {
            fn call(argument: ?*anyopaque, begin: usize, end: usize) callconv(.c) void {
                const copy: *const Context = @ptrCast(@alignCast(argument.?));
                body(copy.*, begin, end);
            }
        }.call;
        std.debug.assert(range.begin <= range.end);
        const argument: *anyopaque = @ptrCast(@constCast(&context));
        const result = c.blitz_parallel_for(pool.raw, range.begin, range.end, range.grain, call, argument);
        return errors.check(Error, result);
    }

    /// Calls two functions, in parallel if a thread is free, and returns both results when both have
    /// ended. Both may call this again.
    pub fn join(
        pool: Pool,
        comptime one: anytype,
        one_args: std.meta.ArgsTuple(@TypeOf(one)),
        comptime other: anytype,
        other_args: std.meta.ArgsTuple(@TypeOf(other)),
    ) Error!struct { Call(one).Result, Call(other).Result } {
        var calls = .{ Call(one){ .args = one_args }, Call(other){ .args = other_args } };
        const result = c.blitz_join(pool.raw, Call(one).run, &calls[0], Call(other).run, &calls[1]);
        try errors.check(Error, result);
        return .{ calls[0].result, calls[1].result };
    }

    /// Calls `body(scope, context)` in a thread of the pool or in the calling thread, and returns when
    /// it and all jobs of the scope have ended.
    pub fn scope(
        pool: Pool,
        context: anytype,
        comptime body: fn (scope: Scope, context: @TypeOf(context)) void,
    ) Error!void {
        const Context = @TypeOf(context);
        const call = struct {
            fn call(raw: *c.blitz_scope, argument: ?*anyopaque) callconv(.c) void {
                const copy: *const Context = @ptrCast(@alignCast(argument.?));
                body(.{ .raw = raw }, copy.*);
            }
        }.call;
        const argument: *anyopaque = @ptrCast(@constCast(&context));
        return errors.check(Error, c.blitz_scope_run(pool.raw, call, argument));
    }
};

/// A scope of jobs, which end before the call that made the scope.
pub const Scope = struct {
    raw: *c.blitz_scope,

    /// Adds a job: `job(argument)` runs in a thread of the pool. `argument` is a pointer to a value
    /// that lives until the end of the scope. Call it in the scope's body or in one of its jobs.
    pub fn spawn(
        scope: Scope,
        argument: anytype,
        comptime job: fn (argument: @TypeOf(argument)) void,
    ) void {
        const Pointer = @TypeOf(argument);
        const call = struct {
            fn call(raw: ?*anyopaque) callconv(.c) void {
                const pointer: Pointer = @ptrCast(@alignCast(raw.?));
                job(pointer);
            }
        }.call;
        errors.expectOk(c.blitz_scope_spawn(scope.raw, call, @ptrCast(@constCast(argument))));
    }
};

/// Calls `body` for parts of a range in the pool of the process, see `Pool.parallelFor`.
///
/// ```zig
/// try parallelFor(.{ .end = values.len }, values, struct {
///     fn square(slice: []u64, begin: usize, end: usize) void {
///         for (slice[begin..end]) |*value| value.* *= value.*;
///     }
/// }.square);
/// ```
pub fn parallelFor(
    range: Pool.Range,
    context: anytype,
    comptime body: fn (context: @TypeOf(context), begin: usize, end: usize) void,
) Error!void {
    return Pool.default.parallelFor(range, context, body);
}

/// A function with its arguments and its result.
fn Call(comptime function: anytype) type {
    return struct {
        args: std.meta.ArgsTuple(@TypeOf(function)),
        result: Result = undefined,

        const Result = @typeInfo(@TypeOf(function)).@"fn".return_type.?;

        fn run(argument: ?*anyopaque) callconv(.c) void {
            const call: *@This() = @ptrCast(@alignCast(argument.?));
            call.result = @call(.auto, function, call.args);
        }
    };
}

const testing = @import("testing.zig");

test parallelFor {
    const square = struct {
        fn square(values: []u64, begin: usize, end: usize) void {
            for (values[begin..end]) |*value| value.* *= value.*;
        }
    }.square;
    var values: [1000]u64 = undefined;
    for (&values, 0..) |*value, i| value.* = i;
    try parallelFor(.{ .end = values.len, .grain = 7 }, @as([]u64, &values), square);
    for (values, 0..) |value, i| try std.testing.expectEqual(i * i, value);
    try parallelFor(.{ .begin = 3, .end = 3 }, @as([]u64, &values), square);
}

fn fibonacci(n: u64) u64 {
    if (n < 2) return n;
    const results = Pool.default.join(fibonacci, .{n - 1}, fibonacci, .{n - 2}) catch unreachable;
    return results[0] + results[1];
}

test "joins nest, in threads and fibers" {
    const work = struct {
        fn work() !void {
            try std.testing.expectEqual(610, fibonacci(15));
        }
    }.work;
    inline for (testing.flavours) |flavour| try testing.together(flavour, 2, work, .{});
}

test Scope {
    const Counter = std.atomic.Value(u32);
    const functions = struct {
        fn body(scope: Scope, counter: *Counter) void {
            for (0..100) |_| scope.spawn(counter, job);
        }
        fn job(counter: *Counter) void {
            _ = counter.fetchAdd(1, .monotonic);
        }
    };
    var pool = try Pool.init(2);
    defer pool.deinit();
    try std.testing.expectEqual(2, pool.threads());
    var counter: Counter = .init(0);
    try pool.scope(&counter, functions.body);
    try std.testing.expectEqual(100, counter.load(.seq_cst));
    try std.testing.expectError(error.InvalidArgument, Pool.init(5000));
}
