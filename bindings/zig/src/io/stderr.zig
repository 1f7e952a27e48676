//! The lock of the standard error stream. The standard implementation's lock belongs to a thread, in
//! which other fibers run; so each fiber first takes this one, which it may take again.

const std = @import("std");
const Io = std.Io;
const c = @import("../c.zig");
const cancel = @import("cancel.zig");
const forward = @import("forward.zig");
const Instance = @import("instance.zig").Instance;

/// The lock of standard error.
pub const StderrLock = struct {
    mutex: c.blitz_mutex = .{},
    owner: std.atomic.Value(u64) = .init(0),
    /// The number of times that the owner has taken the lock.
    depth: usize = 0,

    fn caller() u64 {
        const fiber = c.blitz_fiber_id();
        return if (fiber != 0) fiber else @as(u64, 1) << 63 | std.Thread.getCurrentId();
    }

    fn release(own: *StderrLock) void {
        own.depth -= 1;
        if (own.depth != 0) return;
        own.owner.store(0, .monotonic);
        _ = c.blitz_mutex_unlock(&own.mutex);
    }
};

/// `lockStderr` of `std.Io`.
pub fn lock(userdata: ?*anyopaque, mode: ?Io.Terminal.Mode) Io.Cancelable!Io.LockedStderr {
    const instance: *Instance = .of(userdata);
    try cancel.check();
    const own = &instance.stderr;
    if (own.owner.load(.monotonic) != StderrLock.caller()) {
        _ = c.blitz_mutex_lock(&own.mutex);
        own.owner.store(StderrLock.caller(), .monotonic);
    }
    return locked(instance, mode);
}

/// `tryLockStderr` of `std.Io`.
pub fn tryLock(userdata: ?*anyopaque, mode: ?Io.Terminal.Mode) Io.Cancelable!?Io.LockedStderr {
    const instance: *Instance = .of(userdata);
    try cancel.check();
    const own = &instance.stderr;
    if (own.owner.load(.monotonic) != StderrLock.caller()) {
        if (c.blitz_mutex_try_lock(&own.mutex) != c.BLITZ_OK) return null;
        own.owner.store(StderrLock.caller(), .monotonic);
    }
    return try locked(instance, mode);
}

fn locked(instance: *Instance, mode: ?Io.Terminal.Mode) Io.Cancelable!Io.LockedStderr {
    instance.stderr.depth += 1;
    errdefer instance.stderr.release();
    const result = try forward.direct("lockStderr", instance, .{mode});
    // A write under the lock then suspends the fiber, and does not block its thread.
    instance.standard.stderr_writer.io = instance.io();
    return result;
}

/// `unlockStderr` of `std.Io`.
pub fn unlock(userdata: ?*anyopaque) void {
    const instance: *Instance = .of(userdata);
    const writer = &instance.standard.stderr_writer;
    if (writer.err) |err| {
        if (err == error.Canceled) {
            cancel.recancel();
            writer.err = null;
        }
    }
    const protection = cancel.swapProtection(.blocked);
    defer _ = cancel.swapProtection(protection);
    forward.direct("unlockStderr", instance, .{});
    instance.stderr.release();
}
