//! Fibers, and functions that block: starting, joining, cancelling and sleeping.

const std = @import("std");
const c = @import("c.zig");
const errors = @import("errors.zig");
const Deadline = @import("deadline.zig").Deadline;
const Allocator = std.mem.Allocator;

/// Errors of starting a task.
pub const SpawnError = errors.Error || Allocator.Error;

/// Errors of waiting for a task.
pub const JoinError = error{
    /// The calling fiber is cancelled, or the task did not run because its runtime has ended. The
    /// handle is the caller's still.
    Canceled,
    /// Another call waits for the task.
    Busy,
    /// The task was started before a `fork`, and this is the child process.
    Forked,
};

/// Settings of a fiber.
pub const FiberOptions = struct {
    /// The size of the stack in bytes, 16 KiB to 1 GiB, rounded up to whole pages. 0: the default.
    stack_size: usize = 0,
    /// The name, in UTF-8, which the message about an overflow of the stack has. It is copied.
    name: ?[:0]const u8 = null,
};

/// The type that a function returns.
pub fn ReturnType(comptime function: anytype) type {
    return @typeInfo(@TypeOf(function)).@"fn".return_type orelse
        @compileError("the return type of a task must not depend on its arguments");
}

/// Starts a fiber that calls `function` with `args`, in the runtime that runs the caller, or else in
/// one of the process. See `Runtime.spawn`; this allocates with `std.heap.c_allocator`.
pub fn spawn(
    comptime function: anytype,
    args: std.meta.ArgsTuple(@TypeOf(function)),
) SpawnError!JoinHandle(ReturnType(function)) {
    return start(std.heap.c_allocator, null, .{}, function, args);
}

/// Calls `function` with `args` in a thread that may block, of the runtime that runs the caller, or
/// else of one of the process. See `Runtime.spawnBlocking`.
pub fn spawnBlocking(
    comptime function: anytype,
    args: std.meta.ArgsTuple(@TypeOf(function)),
) SpawnError!JoinHandle(ReturnType(function)) {
    return startBlocking(std.heap.c_allocator, null, function, args);
}

/// A task that was started: a fiber, or a function that blocks. The owner ends it with `join` or
/// `detach`.
pub fn JoinHandle(comptime T: type) type {
    return struct {
        raw: *c.blitz_task,
        box: *Outcome(T),

        const Self = @This();

        /// The result of `join`: that of the function, with the errors of the join too.
        pub const Joined = Merged(JoinError, T);

        /// Waits until the task has ended, and returns the result of its function. All effects of
        /// the task are visible afterwards.
        ///
        /// It frees the task, unless an error of `JoinError` comes from this call: `hasEnded` is then
        /// false, or the task did not run at all.
        pub fn join(handle: *Self) Joined {
            return handle.joinRaw(JoinError, .never);
        }

        /// Waits as `join` does, until the deadline at most. After `error.TimedOut` from this call
        /// the handle is the caller's still.
        pub fn joinUntil(handle: *Self, deadline: Deadline) Merged(JoinError || error{TimedOut}, T) {
            return handle.joinRaw(JoinError || error{TimedOut}, deadline);
        }

        fn joinRaw(handle: *Self, comptime Set: type, deadline: Deadline) Merged(Set, T) {
            try errors.check(Set, c.blitz_task_join(handle.raw, deadline.ns(), null));
            const result = handle.box.result;
            handle.box.release();
            handle.* = undefined;
            return result;
        }

        /// Lets the task go on without a handle. Its result is dropped.
        pub fn detach(handle: *Self) void {
            c.blitz_task_detach(handle.raw);
            handle.box.release();
            handle.* = undefined;
        }

        /// Cancels a fiber: its waits, the current one and those that come, return `error.Canceled`,
        /// except those for mutexes and read-write locks. The fiber ends when its function returns.
        /// Does not wait. Asserts that the task is a fiber.
        pub fn cancel(handle: *Self) void {
            errors.expectOk(c.blitz_task_cancel(handle.raw));
        }

        /// Returns `true` if the task has ended. Does not wait.
        pub fn hasEnded(handle: *Self) bool {
            return c.blitz_task_is_done(handle.raw);
        }
    };
}

/// `T` with the errors of `Set` added.
fn Merged(comptime Set: type, comptime T: type) type {
    return switch (@typeInfo(T)) {
        .error_union => |result| (Set || result.error_set)!result.payload,
        else => Set!T,
    };
}

/// The result of a task, and its memory. The task and its handle each have a reference.
fn Outcome(comptime T: type) type {
    return struct {
        result: T = undefined,
        references: std.atomic.Value(u8) = .init(2),
        destroy: *const fn (box: *@This()) void,

        fn release(box: *@This()) void {
            if (box.references.fetchSub(1, .acq_rel) == 1) box.destroy(box);
        }
    };
}

/// Arguments and outcome of one task, in one allocation.
fn Box(comptime function: anytype) type {
    const T = ReturnType(function);
    return struct {
        outcome: Outcome(T),
        args: std.meta.ArgsTuple(@TypeOf(function)),
        gpa: Allocator,

        const Self = @This();

        fn init(gpa: Allocator, args: std.meta.ArgsTuple(@TypeOf(function))) Allocator.Error!*Self {
            const box = try gpa.create(Self);
            box.* = .{ .outcome = .{ .destroy = destroy }, .args = args, .gpa = gpa };
            return box;
        }

        fn destroy(outcome: *Outcome(T)) void {
            const box: *Self = @alignCast(@fieldParentPtr("outcome", outcome));
            box.gpa.destroy(box);
        }

        fn run(argument: ?*anyopaque) callconv(.c) ?*anyopaque {
            const box: *Self = @ptrCast(@alignCast(argument.?));
            box.outcome.result = @call(.auto, function, box.args);
            box.outcome.release();
            return null;
        }

        /// Called instead of `run` if the task never begins.
        fn drop(argument: ?*anyopaque) callconv(.c) void {
            const box: *Self = @ptrCast(@alignCast(argument.?));
            box.outcome.release();
        }
    };
}

/// Starts a fiber in a runtime, see `Runtime.spawn`.
pub fn start(
    gpa: Allocator,
    runtime: ?*c.blitz_runtime,
    options: FiberOptions,
    comptime function: anytype,
    args: std.meta.ArgsTuple(@TypeOf(function)),
) SpawnError!JoinHandle(ReturnType(function)) {
    const box = try Box(function).init(gpa, args);
    errdefer box.outcome.release();
    var raw: *c.blitz_task = undefined;
    const settings: c.blitz_fiber_settings = .{
        .stack_size = options.stack_size,
        .name = if (options.name) |name| name.ptr else null,
    };
    const Task = Box(function);
    const result = c.blitz_spawn_owned(runtime, &settings, Task.run, Task.drop, box, &raw);
    try errors.check(errors.Error, result);
    return .{ .raw = raw, .box = &box.outcome };
}

/// Starts a function that blocks, see `Runtime.spawnBlocking`.
pub fn startBlocking(
    gpa: Allocator,
    runtime: ?*c.blitz_runtime,
    comptime function: anytype,
    args: std.meta.ArgsTuple(@TypeOf(function)),
) SpawnError!JoinHandle(ReturnType(function)) {
    const box = try Box(function).init(gpa, args);
    errdefer box.outcome.release();
    var raw: *c.blitz_task = undefined;
    const Task = Box(function);
    const result = c.blitz_spawn_blocking_owned(runtime, Task.run, Task.drop, box, &raw);
    try errors.check(errors.Error, result);
    return .{ .raw = raw, .box = &box.outcome };
}

/// Calls `function` with `args` in a fiber, and cancels the fiber at the deadline.
///
/// Returns the result of the function, or `error.TimedOut` if it gave up with `error.Canceled` after
/// the deadline. A function that does not wait is not interrupted. If the calling fiber is cancelled,
/// so is the function.
pub fn timeout(
    deadline: Deadline,
    comptime function: anytype,
    args: std.meta.ArgsTuple(@TypeOf(function)),
) Merged(SpawnError, ReturnType(function)) {
    var handle = try spawn(function, args);
    const joined = c.blitz_task_join(handle.raw, deadline.ns(), null);
    const end = errors.check(error{ Canceled, TimedOut }, joined);
    if (std.meta.isError(end)) {
        handle.cancel();
        const mask = CancelMask.begin();
        defer mask.end();
        errors.expectOk(c.blitz_task_join(handle.raw, c.BLITZ_NEVER, null));
    }
    const result = handle.box.result;
    handle.box.release();
    if (@typeInfo(@TypeOf(result)) == .error_union) {
        _ = result catch |err| if (err == error.Canceled) try end;
    }
    return result;
}

/// Suspends the calling fiber, or blocks the calling thread, for a number of nanoseconds.
pub fn sleep(nanoseconds: u64) error{Canceled}!void {
    return errors.check(error{Canceled}, c.blitz_sleep_ns(nanoseconds));
}

/// Suspends the calling fiber, or blocks the calling thread, until the deadline.
pub fn sleepUntil(deadline: Deadline) error{Canceled}!void {
    return errors.check(error{Canceled}, c.blitz_sleep_until(deadline.ns()));
}

/// Lets other fibers of this thread run, or other threads if the caller is not a fiber.
pub fn yield() error{Canceled}!void {
    return errors.check(error{Canceled}, c.blitz_yield());
}

/// Returns `true` if the caller runs in a fiber.
pub fn isFiber() bool {
    return c.blitz_is_fiber();
}

/// Returns the number of the calling fiber, which no other fiber of this process has; null in a
/// thread.
pub fn fiberId() ?u64 {
    const id = c.blitz_fiber_id();
    return if (id == 0) null else id;
}

/// Returns `true` if the waits of the calling fiber return `error.Canceled`; false in a thread.
pub fn isCanceled() bool {
    return c.blitz_fiber_is_cancelled();
}

/// A part of a fiber in which its waits are not cancelled, for example to clean up. Parts may be
/// nested. In a thread it has no effect.
///
/// ```zig
/// const mask = CancelMask.begin();
/// defer mask.end();
/// try channel.sender.send(last_words);
/// ```
pub const CancelMask = struct {
    is_fiber: bool,

    /// Begins a part in which the waits of the calling fiber are not cancelled.
    pub fn begin() CancelMask {
        return .{ .is_fiber = c.blitz_fiber_mask_cancel(true) == c.BLITZ_OK };
    }

    /// Ends the part. Call it in the fiber that began it.
    pub fn end(mask: CancelMask) void {
        if (mask.is_fiber) errors.expectOk(c.blitz_fiber_mask_cancel(false));
    }
};

test spawn {
    const divide = struct {
        fn divide(a: u32, b: u32) error{DivisionByZero}!u32 {
            return if (b == 0) error.DivisionByZero else a / b;
        }
    }.divide;
    var good = try spawn(divide, .{ 6, 3 });
    try std.testing.expectEqual(2, good.join());
    var bad = try spawn(divide, .{ 6, 0 });
    try std.testing.expectError(error.DivisionByZero, bad.join());
}

test spawnBlocking {
    var handle = try spawnBlocking(isFiber, .{});
    try std.testing.expect(!try handle.join());
}

test "a fiber that is cancelled ends its wait" {
    const work = struct {
        fn work(cleaned: *bool) error{Canceled}!void {
            defer cleaned.* = true;
            sleepUntil(.never) catch |err| {
                std.debug.assert(isCanceled() and fiberId() != null);
                const mask = CancelMask.begin();
                defer mask.end();
                std.debug.assert(!isCanceled());
                try sleep(1000);
                return err;
            };
        }
    }.work;
    var cleaned = false;
    var handle = try spawn(work, .{&cleaned});
    try std.testing.expectError(error.TimedOut, handle.joinUntil(.passed));
    try std.testing.expect(!handle.hasEnded());
    handle.cancel();
    try std.testing.expectError(error.Canceled, handle.join());
    try std.testing.expect(cleaned);
}

test "a task without a handle goes on" {
    const work = struct {
        fn work(done: *@import("event.zig").Event) void {
            done.set();
        }
    }.work;
    var done: @import("event.zig").Event = .init(.manual);
    var handle = try spawn(work, .{&done});
    handle.detach();
    try done.wait();
}

test timeout {
    const functions = struct {
        fn quick(value: u32) u32 {
            return value;
        }
        fn slow() error{Canceled}!u32 {
            try sleepUntil(.never);
            return 1;
        }
        fn late(value: u32) u32 {
            sleepUntil(.never) catch {};
            return value;
        }
        fn outer(started: *std.atomic.Value(bool)) !u32 {
            started.store(true, .seq_cst);
            return timeout(.never, slow, .{});
        }
    };
    try std.testing.expectEqual(7, timeout(.never, functions.quick, .{7}));
    try std.testing.expectError(error.TimedOut, timeout(.passed, functions.slow, .{}));
    try std.testing.expectEqual(7, timeout(.passed, functions.late, .{7}));

    var started: std.atomic.Value(bool) = .init(false);
    var handle = try spawn(functions.outer, .{&started});
    while (!started.load(.seq_cst)) try yield();
    handle.cancel();
    try std.testing.expectError(error.Canceled, handle.join());
}

test "threads have no number, and mask nothing" {
    try std.testing.expectEqual(null, fiberId());
    try std.testing.expect(!isCanceled());
    CancelMask.begin().end();
    try yield();
    const begin = Deadline.now();
    try sleep(1000);
    try std.testing.expect(Deadline.now().ns() >= begin.ns() + 1000);
}
