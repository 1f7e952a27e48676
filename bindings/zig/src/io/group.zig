//! Groups of tasks, each of which is a fiber.
//!
//! The group's token is a `State` in memory of its own, which the waiter of the group frees. A task
//! leaves the group as follows:
//!
//! 1. Under the lock, it takes itself out of the list and frees itself.
//! 2. It lowers `running`, and does not use the state afterwards.
//! 3. If `running` is 0 then, it wakes the waiter, which sleeps on `running`. The wake uses the
//!    address only, so the state may be freed.
//!
//! The waiter reads 0 only after step 2 of all tasks. It sleeps while `running` holds the value that
//! it has read, so no wake is lost.

const std = @import("std");
const Io = std.Io;
const Alignment = std.mem.Alignment;
const c = @import("../c.zig");
const futex = @import("futex.zig");
const Closure = @import("closure.zig").Closure;
const Instance = @import("instance.zig").Instance;

const Start = *const fn (context: *const anyopaque) void;

const State = struct {
    instance: *Instance,
    lock: c.blitz_mutex = .{},
    tasks: std.DoublyLinkedList = .{},
    canceled: bool = false,
    /// The number of tasks that have not ended.
    running: std.atomic.Value(u32) = .init(0),

    /// The state of a group, which is made if there is none.
    fn of(instance: *Instance, group: *Io.Group) std.mem.Allocator.Error!*State {
        if (group.token.load(.acquire)) |token| return @ptrCast(@alignCast(token));
        const state = try instance.gpa.create(State);
        state.* = .{ .instance = instance };
        const winner = group.token.cmpxchgStrong(null, state, .acq_rel, .acquire) orelse return state;
        instance.gpa.destroy(state);
        return @ptrCast(@alignCast(winner));
    }

    fn add(state: *State, task: *Task) Io.ConcurrentError!void {
        _ = c.blitz_mutex_lock(&state.lock);
        defer _ = c.blitz_mutex_unlock(&state.lock);
        // The task waits for the lock before it reads its handle.
        try state.instance.spawn(run, task, &task.header.fiber);
        state.tasks.append(&task.header.node);
        _ = state.running.fetchAdd(1, .monotonic);
        if (state.canceled) _ = c.blitz_task_cancel(task.header.fiber);
    }

    fn cancel(state: *State) void {
        _ = c.blitz_mutex_lock(&state.lock);
        defer _ = c.blitz_mutex_unlock(&state.lock);
        state.canceled = true;
        var next = state.tasks.first;
        while (next) |node| : (next = node.next) {
            const header: *Header = @alignCast(@fieldParentPtr("node", node));
            _ = c.blitz_task_cancel(header.fiber);
        }
    }

    /// Waits until all tasks have ended, and frees the state.
    fn finish(state: *State, group: *Io.Group) void {
        while (true) {
            const running = state.running.load(.acquire);
            if (running == 0) break;
            futex.sleep(&state.running.raw, running);
        }
        group.token.store(null, .release);
        state.instance.gpa.destroy(state);
    }
};

const Header = struct {
    state: *State,
    start: Start,
    fiber: *c.blitz_task,
    node: std.DoublyLinkedList.Node,
};
const Task = Closure(Header);

fn run(argument: ?*anyopaque) callconv(.c) ?*anyopaque {
    const task: *Task = @ptrCast(@alignCast(argument));
    const state = task.header.state;
    task.header.start(task.context());
    {
        _ = c.blitz_mutex_lock(&state.lock);
        defer _ = c.blitz_mutex_unlock(&state.lock);
        state.tasks.remove(&task.header.node);
        c.blitz_task_detach(task.header.fiber);
        task.destroy(state.instance.gpa);
    }
    const running = &state.running;
    if (running.fetchSub(1, .acq_rel) == 1) _ = c.blitz_futex_wake_all(&running.raw, c.BLITZ_FUTEX_PRIVATE);
    return null;
}

/// `groupAsync` of `std.Io`: starts a fiber, or calls the function at once without memory for one.
pub fn async(
    userdata: ?*anyopaque,
    group: *Io.Group,
    context: []const u8,
    context_alignment: Alignment,
    start: Start,
) void {
    concurrent(userdata, group, context, context_alignment, start) catch start(context.ptr);
}

/// `groupConcurrent` of `std.Io`: starts a fiber.
pub fn concurrent(
    userdata: ?*anyopaque,
    group: *Io.Group,
    context: []const u8,
    context_alignment: Alignment,
    start: Start,
) Io.ConcurrentError!void {
    const instance: *Instance = .of(userdata);
    const state = State.of(instance, group) catch return error.ConcurrencyUnavailable;
    const header: Header = .{ .state = state, .start = start, .fiber = undefined, .node = .{} };
    const task = Task.create(instance.gpa, header, context, context_alignment, 0, .@"1") catch
        return error.ConcurrencyUnavailable;
    errdefer task.destroy(instance.gpa);
    try state.add(task);
}

/// `groupAwait` of `std.Io`.
pub fn await(userdata: ?*anyopaque, group: *Io.Group, token: *anyopaque) Io.Cancelable!void {
    const state: *State = @ptrCast(@alignCast(token));
    defer state.finish(group);
    while (true) {
        const running = state.running.load(.acquire);
        if (running == 0) return;
        futex.wait(userdata, &state.running.raw, running, .none) catch |err| {
            state.cancel();
            return err;
        };
    }
}

/// `groupCancel` of `std.Io`.
pub fn cancel(userdata: ?*anyopaque, group: *Io.Group, token: *anyopaque) void {
    _ = userdata;
    const state: *State = @ptrCast(@alignCast(token));
    state.cancel();
    state.finish(group);
}
