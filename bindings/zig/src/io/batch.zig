//! Batches of operations. A fiber does each operation, and the caller waits for the first that ends.
//!
//! 1. The caller starts a fiber for each submitted operation, which is pending then.
//! 2. A fiber that has done its operation stores the result, and links itself in `ended`. Then it
//!    raises `changes`, wakes the caller, and uses nothing of the batch afterwards.
//! 3. The caller takes the list, joins each fiber of it, and completes its operation.
//!
//! The caller reads `changes` before it takes the list, and sleeps while `changes` holds that value.
//! So it takes each fiber that was linked before, and a later one changes the value.

const std = @import("std");
const Io = std.Io;
const c = @import("../c.zig");
const cancel_state = @import("cancel.zig");
const time = @import("time.zig");
const operation = @import("operation.zig");
const Instance = @import("instance.zig").Instance;

const State = struct {
    ended: std.atomic.Value(?*Pending) = .init(null),
    changes: std.atomic.Value(u32) = .init(0),
};

/// An operation that a fiber does.
const Pending = struct {
    instance: *Instance,
    state: *State,
    does: Io.Operation,
    index: Io.Operation.OptionalIndex,
    result: Io.Cancelable!Io.Operation.Result = undefined,
    next: ?*Pending = null,
    fiber: *c.blitz_task = undefined,

    fn run(argument: ?*anyopaque) callconv(.c) ?*anyopaque {
        const pending: *Pending = @ptrCast(@alignCast(argument));
        const state = pending.state;
        pending.result = operation.operate(pending.instance, pending.does);
        pending.next = state.ended.load(.monotonic);
        while (state.ended.cmpxchgWeak(pending.next, pending, .release, .monotonic)) |head| pending.next = head;
        // The caller joins this fiber before it frees the state.
        _ = state.changes.fetchAdd(1, .release);
        _ = c.blitz_futex_wake_all(&state.changes.raw, c.BLITZ_FUTEX_PRIVATE);
        return null;
    }
};

/// `batchAwaitAsync` of `std.Io`: waits until an operation has ended.
pub fn awaitAsync(userdata: ?*anyopaque, batch: *Io.Batch) Io.Cancelable!void {
    return wait(.of(userdata), batch, c.BLITZ_NEVER) catch |err| switch (err) {
        error.Canceled => |e| e,
        error.Timeout => unreachable,
        error.ConcurrencyUnavailable => operateFirst(.of(userdata), batch, c.BLITZ_NEVER) catch |failed| switch (failed) {
            error.Canceled => |e| e,
            error.Timeout => unreachable,
        },
    };
}

/// `batchAwaitConcurrent` of `std.Io`: waits until an operation has ended, with a timeout.
pub fn awaitConcurrent(userdata: ?*anyopaque, batch: *Io.Batch, timeout: Io.Timeout) Io.Batch.AwaitConcurrentError!void {
    const instance: *Instance = .of(userdata);
    return wait(instance, batch, time.deadline(instance, timeout));
}

/// Does the first submitted operation in the calling fiber. After an error it is submitted still, so
/// there is nothing to cancel: `std.Io.operateTimeout` relies on that.
fn operateFirst(instance: *Instance, batch: *Io.Batch, deadline: u64) (Io.Cancelable || Io.Timeout.Error)!void {
    if (batch.completed.head != .none or batch.submitted.head == .none) return;
    const index = batch.submitted.head;
    const submission = batch.storage[index.toIndex()].submission;
    const result = try operation.until(instance, submission.operation, deadline);
    batch.submitted.head = submission.node.next;
    if (submission.node.next == .none) batch.submitted.tail = .none;
    complete(batch, index, result);
}

fn wait(instance: *Instance, batch: *Io.Batch, deadline: u64) Io.Batch.AwaitConcurrentError!void {
    try cancel_state.check();
    const alone = batch.submitted.head != .none and batch.submitted.head == batch.submitted.tail;
    if (alone and batch.pending.head == .none and batch.completed.head == .none) return operateFirst(instance, batch, deadline);
    while (batch.submitted.head != .none) try start(instance, batch);
    const state = stateOf(batch) orelse return;
    while (true) {
        const seen = state.changes.load(.acquire);
        takeEnded(batch, state);
        if (batch.completed.head != .none or batch.pending.head == .none) return;
        const result = c.blitz_futex_wait_until(&state.changes.raw, seen, c.BLITZ_FUTEX_PRIVATE, deadline);
        if (result == c.BLITZ_ECANCELED and c.blitz_fiber_is_cancelled()) return cancel_state.acknowledge();
        if (result == c.BLITZ_ETIMEDOUT) {
            takeEnded(batch, state);
            return if (batch.completed.head == .none) error.Timeout;
        }
    }
}

fn stateOf(batch: *Io.Batch) ?*State {
    return @ptrCast(@alignCast(batch.userdata));
}

/// Starts a fiber for the first submitted operation.
fn start(instance: *Instance, batch: *Io.Batch) Io.ConcurrentError!void {
    const state = stateOf(batch) orelse made: {
        const state = instance.gpa.create(State) catch return error.ConcurrencyUnavailable;
        state.* = .{};
        batch.userdata = state;
        break :made state;
    };
    const index = batch.submitted.head;
    const storage = &batch.storage[index.toIndex()];
    const submission = storage.submission;
    const pending = instance.gpa.create(Pending) catch return error.ConcurrencyUnavailable;
    errdefer instance.gpa.destroy(pending);
    pending.* = .{ .instance = instance, .state = state, .does = submission.operation, .index = index };
    try instance.spawn(Pending.run, pending, &pending.fiber);
    batch.submitted.head = submission.node.next;
    if (submission.node.next == .none) batch.submitted.tail = .none;
    const last = batch.pending.tail;
    storage.* = .{ .pending = .{
        .node = .{ .prev = last, .next = .none },
        .tag = submission.operation,
        .userdata = @splat(0),
    } };
    storage.pending.userdata[0] = @intFromPtr(pending);
    if (last == .none) batch.pending.head = index else batch.storage[last.toIndex()].pending.node.next = index;
    batch.pending.tail = index;
}

/// Completes the operations whose fibers have ended. A cancelled operation is unused again.
fn takeEnded(batch: *Io.Batch, state: *State) void {
    // The list has the last one first.
    var next = state.ended.swap(null, .acquire);
    var in_order: ?*Pending = null;
    while (next) |pending| {
        next = pending.next;
        pending.next = in_order;
        in_order = pending;
    }
    while (in_order) |pending| {
        in_order = pending.next;
        const index = pending.index;
        const node = batch.storage[index.toIndex()].pending.node;
        if (node.prev == .none) batch.pending.head = node.next else batch.storage[node.prev.toIndex()].pending.node.next = node.next;
        if (node.next == .none) batch.pending.tail = node.prev else batch.storage[node.next.toIndex()].pending.node.prev = node.prev;
        if (pending.result) |result| complete(batch, index, result) else |_| unuse(batch, index);
        join(pending);
    }
}

fn join(pending: *Pending) void {
    cancel_state.begin();
    defer cancel_state.end();
    if (c.blitz_task_join(pending.fiber, c.BLITZ_NEVER, null) != c.BLITZ_OK) @panic("a fiber of a batch did not run");
    pending.instance.gpa.destroy(pending);
}

fn complete(batch: *Io.Batch, index: Io.Operation.OptionalIndex, result: Io.Operation.Result) void {
    const last = batch.completed.tail;
    if (last == .none) batch.completed.head = index else batch.storage[last.toIndex()].completion.node.next = index;
    batch.storage[index.toIndex()] = .{ .completion = .{ .node = .{ .next = .none }, .result = result } };
    batch.completed.tail = index;
}

fn unuse(batch: *Io.Batch, index: Io.Operation.OptionalIndex) void {
    const last = batch.unused.tail;
    if (last == .none) batch.unused.head = index else batch.storage[last.toIndex()].unused.next = index;
    batch.storage[index.toIndex()] = .{ .unused = .{ .prev = last, .next = .none } };
    batch.unused.tail = index;
}

/// `batchCancel` of `std.Io`: cancels the pending operations, and frees the state of the batch.
pub fn cancel(userdata: ?*anyopaque, batch: *Io.Batch) void {
    const instance: *Instance = .of(userdata);
    const state = stateOf(batch) orelse return;
    var index = batch.pending.head;
    while (index != .none) {
        const storage = batch.storage[index.toIndex()].pending;
        const pending: *Pending = @ptrFromInt(storage.userdata[0]);
        _ = c.blitz_task_cancel(pending.fiber);
        index = storage.node.next;
    }
    while (true) {
        const seen = state.changes.load(.acquire);
        takeEnded(batch, state);
        if (batch.pending.head == .none) break;
        @import("futex.zig").sleep(&state.changes.raw, seen);
    }
    instance.gpa.destroy(state);
    batch.userdata = null;
}
