//! Futures: a task is a fiber, and awaiting it joins the fiber.

const std = @import("std");
const Io = std.Io;
const Alignment = std.mem.Alignment;
const c = @import("../c.zig");
const cancel_state = @import("cancel.zig");
const Closure = @import("closure.zig").Closure;
const Instance = @import("instance.zig").Instance;

const Start = *const fn (context: *const anyopaque, result: *anyopaque) void;

const Task = struct {
    start: Start,
    fiber: *c.blitz_task,
    /// The task has reported a cancel request. Valid once the fiber has ended.
    acknowledged: bool,
};
const Future = Closure(Task);

/// `async` of `std.Io`: starts a fiber, or calls the function at once without memory for one.
pub fn async(
    userdata: ?*anyopaque,
    result: []u8,
    result_alignment: Alignment,
    context: []const u8,
    context_alignment: Alignment,
    start: Start,
) ?*Io.AnyFuture {
    return concurrent(userdata, result.len, result_alignment, context, context_alignment, start) catch {
        start(context.ptr, result.ptr);
        return null;
    };
}

/// `concurrent` of `std.Io`: starts a fiber.
pub fn concurrent(
    userdata: ?*anyopaque,
    result_len: usize,
    result_alignment: Alignment,
    context: []const u8,
    context_alignment: Alignment,
    start: Start,
) Io.ConcurrentError!*Io.AnyFuture {
    const instance: *Instance = .of(userdata);
    const task: Task = .{ .start = start, .fiber = undefined, .acknowledged = false };
    const future = Future.create(instance.gpa, task, context, context_alignment, result_len, result_alignment) catch
        return error.ConcurrencyUnavailable;
    errdefer future.destroy(instance.gpa);
    try instance.spawn(run, future, &future.header.fiber);
    return @ptrCast(future);
}

fn run(argument: ?*anyopaque) callconv(.c) ?*anyopaque {
    const future: *Future = @ptrCast(@alignCast(argument));
    future.header.start(future.context(), future.result());
    future.header.acknowledged = cancel_state.isAcknowledged();
    return null;
}

/// `await` of `std.Io`: waits for the fiber, and frees the future.
pub fn await(userdata: ?*anyopaque, any: *Io.AnyFuture, result: []u8, result_alignment: Alignment) void {
    _ = result_alignment;
    const future: *Future = @ptrCast(@alignCast(any));
    const joined = c.blitz_task_join(future.header.fiber, c.BLITZ_NEVER, null);
    if (joined == c.BLITZ_ECANCELED and c.blitz_fiber_is_cancelled()) {
        // The request of the waiting task becomes one of the task that it waits for.
        cancel_state.note();
        cancelAndJoin(future);
        if (!future.header.acknowledged) cancel_state.recancel();
    } else if (joined != c.BLITZ_OK) runHere(future, joined);
    finish(.of(userdata), future, result);
}

/// `cancel` of `std.Io`: cancels the fiber, then does what `await` does.
pub fn cancel(userdata: ?*anyopaque, any: *Io.AnyFuture, result: []u8, result_alignment: Alignment) void {
    _ = result_alignment;
    const future: *Future = @ptrCast(@alignCast(any));
    cancelAndJoin(future);
    finish(.of(userdata), future, result);
}

fn cancelAndJoin(future: *Future) void {
    _ = c.blitz_task_cancel(future.header.fiber);
    cancel_state.begin();
    defer cancel_state.end();
    const joined = c.blitz_task_join(future.header.fiber, c.BLITZ_NEVER, null);
    if (joined != c.BLITZ_OK) runHere(future, joined);
}

/// Runs a task whose fiber has not begun, because its runtime has ended.
fn runHere(future: *Future, joined: c_int) void {
    @branchHint(.cold);
    if (joined == c.BLITZ_EPANIC) @panic("a panic of the library ended a task");
    c.blitz_task_detach(future.header.fiber);
    future.header.start(future.context(), future.result());
}

fn finish(instance: *Instance, future: *Future, result: []u8) void {
    @memcpy(result, future.result());
    future.destroy(instance.gpa);
}
