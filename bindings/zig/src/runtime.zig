//! A runtime: worker threads that run fibers.

const std = @import("std");
const c = @import("c.zig");
const errors = @import("errors.zig");
const task = @import("task.zig");
const Deadline = @import("deadline.zig").Deadline;
const Io = @import("io/instance.zig").Instance;
const OnceLock = @import("once_lock.zig").OnceLock;

/// A runtime. Any thread or fiber may use it, several at once.
///
/// ```zig
/// var runtime = try Runtime.init(gpa, .{});
/// defer runtime.deinit();
/// var handle = try runtime.spawn(add, .{ 1, 2 });
/// const sum = try handle.join();
/// ```
pub const Runtime = struct {
    raw: *c.blitz_runtime,
    gpa: std.mem.Allocator,
    /// The instance that `io` has made.
    instance: OnceLock(Io) = .init,

    /// Settings of a runtime.
    pub const Options = struct {
        /// The number of worker threads, up to 1,024. 0: one for each processor.
        workers: usize = 0,
        /// The most threads for functions that block. 0: 512.
        blocking_threads: usize = 0,
        /// The name of the threads, in UTF-8. It is copied.
        thread_name: ?[:0]const u8 = null,
    };

    /// Starts a runtime. `gpa` is for the arguments and results of its tasks; several threads use it.
    ///
    /// Returns `error.InvalidArgument` for an option that is out of range.
    pub fn init(gpa: std.mem.Allocator, options: Options) errors.Error!Runtime {
        const settings: c.blitz_runtime_settings = .{
            .workers = options.workers,
            .blocking_threads = options.blocking_threads,
            .thread_name = if (options.thread_name) |name| name.ptr else null,
        };
        var raw: *c.blitz_runtime = undefined;
        try errors.check(errors.Error, c.blitz_runtime_new(&settings, &raw));
        return .{ .raw = raw, .gpa = gpa };
    }

    /// Shuts the runtime down without a deadline, and frees it. Do not call it in a fiber of the
    /// runtime itself.
    pub fn deinit(runtime: *Runtime) void {
        c.blitz_runtime_free(runtime.raw);
        if (runtime.instance.get()) |instance| instance.deinit();
        runtime.* = undefined;
    }

    /// Returns this runtime as an implementation of `std.Io`, which is valid until `deinit`. Await or
    /// cancel all futures, groups and batches before. The runtime must not be moved after the first call.
    ///
    /// `Io.init` makes one with other settings, such as the size of a task's stack.
    pub fn io(runtime: *Runtime) std.Io {
        return runtime.instance.getOrInit(Io.init, .{ runtime.gpa, .{ .runtime = runtime.raw } }).io();
    }

    /// Shuts the runtime down: no more fibers begin, and the waits of its fibers return
    /// `error.Canceled`. Waits until all have ended, until the deadline at most; fibers that are left
    /// then keep running. A second call waits for the remaining fibers.
    pub fn shutdown(runtime: *Runtime, deadline: Deadline) error{ TimedOut, InvalidArgument, Forked }!void {
        const result = c.blitz_runtime_shutdown(runtime.raw, deadline.ns());
        return errors.check(error{ TimedOut, InvalidArgument, Forked }, result);
    }

    /// Returns the number of fibers and other tasks that have not ended.
    pub fn tasks(runtime: *Runtime) usize {
        return c.blitz_runtime_tasks(runtime.raw);
    }

    /// Starts a fiber that calls `function` with `args`. See `JoinHandle` for how it ends.
    pub fn spawn(
        runtime: *Runtime,
        comptime function: anytype,
        args: std.meta.ArgsTuple(@TypeOf(function)),
    ) task.SpawnError!task.JoinHandle(task.ReturnType(function)) {
        return task.start(runtime.gpa, runtime.raw, .{}, function, args);
    }

    /// Starts a fiber as `spawn` does, with options.
    pub fn spawnWith(
        runtime: *Runtime,
        options: task.FiberOptions,
        comptime function: anytype,
        args: std.meta.ArgsTuple(@TypeOf(function)),
    ) task.SpawnError!task.JoinHandle(task.ReturnType(function)) {
        return task.start(runtime.gpa, runtime.raw, options, function, args);
    }

    /// Calls `function` with `args` in a thread that may block. It is not a fiber: its waits block
    /// the thread, and it cannot be cancelled.
    pub fn spawnBlocking(
        runtime: *Runtime,
        comptime function: anytype,
        args: std.meta.ArgsTuple(@TypeOf(function)),
    ) task.SpawnError!task.JoinHandle(task.ReturnType(function)) {
        return task.startBlocking(runtime.gpa, runtime.raw, function, args);
    }
};

test Runtime {
    const add = struct {
        fn add(a: u32, b: u32) u32 {
            std.debug.assert(task.isFiber());
            return a + b;
        }
    }.add;
    var runtime = try Runtime.init(std.testing.allocator, .{ .workers = 2, .thread_name = "test" });
    defer runtime.deinit();
    var handle = try runtime.spawn(add, .{ 1, 2 });
    try std.testing.expectEqual(3, handle.join());
    try std.testing.expectError(
        error.InvalidArgument,
        Runtime.init(std.testing.allocator, .{ .workers = c.BLITZ_WORKERS_MAX + 1 }),
    );
}

test "a runtime is an implementation of std.Io" {
    const Task = struct {
        fn add(a: u32, b: u32) u32 {
            std.debug.assert(task.isFiber());
            return a + b;
        }
    };
    var runtime = try Runtime.init(std.testing.allocator, .{ .workers = 1 });
    defer runtime.deinit();
    const io = runtime.io();
    try std.testing.expectEqual(io, runtime.io());
    var future = try io.concurrent(Task.add, .{ 1, 2 });
    try std.testing.expectEqual(3, future.await(io));
}

test "a shutdown cancels what waits" {
    const sleep = struct {
        fn sleep(started: *std.atomic.Value(bool)) error{Canceled}!void {
            started.store(true, .seq_cst);
            return task.sleepUntil(.never);
        }
    }.sleep;
    var started: std.atomic.Value(bool) = .init(false);
    var runtime = try Runtime.init(std.testing.allocator, .{ .workers = 1 });
    defer runtime.deinit();
    var handle = try runtime.spawn(sleep, .{&started});
    while (!started.load(.seq_cst)) try task.yield();
    try runtime.shutdown(.never);
    try std.testing.expectEqual(0, runtime.tasks());
    try std.testing.expectError(error.Closed, runtime.spawn(sleep, .{&started}));
    try std.testing.expectError(error.Canceled, handle.join());
}

test "a function that blocks runs in a thread" {
    const inThread = struct {
        fn inThread() bool {
            return !task.isFiber();
        }
    }.inThread;
    var runtime = try Runtime.init(std.testing.allocator, .{ .workers = 1 });
    defer runtime.deinit();
    var handle = try runtime.spawnBlocking(inThread, .{});
    try std.testing.expect(try handle.join());
}
