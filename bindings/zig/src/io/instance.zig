//! Our runtime as an implementation of `std.Io`.

const std = @import("std");
const Io = std.Io;
const c = @import("../c.zig");
const cancel = @import("cancel.zig");
const vtable = @import("vtable.zig").vtable;
const StderrLock = @import("stderr.zig").StderrLock;
const Watches = @import("watches.zig").Watches;

/// An implementation of `std.Io` whose tasks are fibers. `Runtime.io` makes one; this is for other
/// settings, and for the runtime of the process.
///
/// It must not be moved after the first call of `io`. Threads that are no fibers may use it too:
/// their waits block them.
///
/// ```zig
/// var runtime = try blitz.Runtime.init(gpa, .{});
/// defer runtime.deinit();
/// var instance = blitz.Io.init(gpa, .{ .runtime = runtime.raw });
/// defer instance.deinit();
/// const io = instance.io();
/// ```
pub const Instance = struct {
    gpa: std.mem.Allocator,
    runtime: ?*c.blitz_runtime,
    stack_size: usize,
    /// Does the entries that are plain system calls.
    standard: Io.Threaded,
    stderr: StderrLock = .{},
    watches: Watches = .{},

    /// Settings of an `Instance`.
    pub const Options = struct {
        /// The runtime that runs the tasks, for example `Runtime.raw`. `null`: the one of the process.
        runtime: ?*c.blitz_runtime = null,
        /// The size of a task's stack in bytes. A task uses memory only for the pages that it touches.
        stack_size: usize = 8 * 1024 * 1024,
        /// The environment, for child processes and for terminals.
        environ: std.process.Environ = .empty,
        /// The name of the program, which some systems need to find its executable.
        argv0: Io.Threaded.Argv0 = .empty,
    };

    /// Several threads use `gpa`, which is for tasks. A broken pipe is an error of the write from here
    /// on, as it is with `std.Io.Threaded`.
    pub fn init(gpa: std.mem.Allocator, options: Options) Instance {
        return .{
            .gpa = gpa,
            .runtime = options.runtime,
            .stack_size = options.stack_size,
            .standard = .init(gpa, .{ .environ = options.environ, .argv0 = options.argv0 }),
        };
    }

    /// An instance that exists from the beginning, on the runtime of the process, and is not freed.
    pub const static: Instance = .{
        .gpa = std.heap.smp_allocator,
        .runtime = null,
        .stack_size = (Options{}).stack_size,
        .standard = standard: {
            var standard: Io.Threaded = .init_single_threaded;
            standard.allocator = std.heap.smp_allocator;
            break :standard standard;
        },
    };

    /// Frees the instance. All futures, groups and batches must have been awaited or cancelled.
    pub fn deinit(instance: *Instance) void {
        instance.standard.deinit();
        instance.watches.deinit(instance.gpa);
        instance.* = undefined;
    }

    /// Returns the interface, which is valid until `deinit`.
    pub fn io(instance: *Instance) Io {
        return .{ .userdata = instance, .vtable = &vtable };
    }

    /// Returns the instance to which the `userdata` of an interface points.
    pub fn of(userdata: ?*anyopaque) *Instance {
        return @ptrCast(@alignCast(userdata));
    }

    /// Starts a fiber.
    pub fn spawn(
        instance: *Instance,
        function: c.blitz_task_function,
        argument: *anyopaque,
        fiber: **c.blitz_task,
    ) Io.ConcurrentError!void {
        const settings: c.blitz_fiber_settings = .{ .stack_size = instance.stack_size };
        const result = c.blitz_spawn(instance.runtime, &settings, function, argument, fiber);
        if (result != c.BLITZ_OK) return error.ConcurrencyUnavailable;
    }

    /// Runs a function in a thread of the blocking pool, and suspends the calling fiber until it ends.
    /// Returns `false` if there is no such thread: the function did not run then.
    pub fn runBlocking(instance: *Instance, function: c.blitz_task_function, argument: *anyopaque) bool {
        var task: *c.blitz_task = undefined;
        if (c.blitz_spawn_blocking(instance.runtime, function, argument, &task) != c.BLITZ_OK) return false;
        // The function uses the stack of the fiber, so nothing ends this wait but the function.
        cancel.begin();
        defer cancel.end();
        const joined = c.blitz_task_join(task, c.BLITZ_NEVER, null);
        if (joined == c.BLITZ_OK) return true;
        if (joined == c.BLITZ_EPANIC) @panic("a panic of the library ended a blocking function");
        c.blitz_task_detach(task);
        return false;
    }
};
