//! The entries of `std.Io`, and what does each of them.

const std = @import("std");
const Io = std.Io;
const cancel = @import("cancel.zig");
const forward = @import("forward.zig");

const batch = @import("batch.zig");
const child = @import("child.zig");
const future = @import("future.zig");
const futex = @import("futex.zig");
const group = @import("group.zig");
const lookup = @import("lookup.zig");
const operation = @import("operation.zig");
const socket = @import("socket.zig");
const stderr = @import("stderr.zig");
const time = @import("time.zig");

/// Entries of ours.
const own = .{
    .crashHandler = crashHandler,
    .async = future.async,
    .concurrent = future.concurrent,
    .await = future.await,
    .cancel = future.cancel,
    .groupAsync = group.async,
    .groupConcurrent = group.concurrent,
    .groupAwait = group.await,
    .groupCancel = group.cancel,
    .recancel = recancel,
    .swapCancelProtection = swapCancelProtection,
    .checkCancel = checkCancel,
    .futexWait = futex.wait,
    .futexWaitUncancelable = futex.waitUncancelable,
    .futexWake = futex.wake,
    .operate = operation.operate,
    .batchAwaitAsync = batch.awaitAsync,
    .batchAwaitConcurrent = batch.awaitConcurrent,
    .batchCancel = batch.cancel,
    .lockStderr = stderr.lock,
    .tryLockStderr = stderr.tryLock,
    .unlockStderr = stderr.unlock,
    .childWait = child.wait,
    .sleep = time.sleep,
    .netAccept = socket.accept,
    .netClose = socket.close,
    .netConnectIp = socket.connectIp,
    .netLookup = lookup.lookup,
};

/// Entries that only look something up in this process, or make a system call that never waits.
const never_wait = [_][]const u8{
    "progressParentFile",          "inheritParentDir", "inheritParentFile", "now",
    "clockResolution",             "random",           "netListenIp",       "netBindIp",
    "netSocketCreatePair",         "netWriteFile",     "netShutdown",       "fileIsTty",
    "fileSupportsAnsiEscapeCodes",
};

pub const vtable: Io.VTable = make: {
    @setEvalBranchQuota(100_000);
    var made: Io.VTable = undefined;
    for (@typeInfo(@TypeOf(own)).@"struct".field_names ++ never_wait) |name| {
        if (!@hasField(Io.VTable, name)) @compileError("std.Io has no entry " ++ name);
    }
    for (@typeInfo(Io.VTable).@"struct".field_names) |name| {
        @field(made, name) = if (@hasField(@TypeOf(own), name))
            @field(own, name)
        else
            forward.entry(name, if (neverWaits(name)) .here else .pool);
    }
    break :make made;
};

fn neverWaits(name: []const u8) bool {
    for (never_wait) |other| {
        if (std.mem.eql(u8, name, other)) return true;
    }
    return false;
}

fn crashHandler(userdata: ?*anyopaque) void {
    _ = userdata;
    // What the process prints in its last moments is not cancelled.
    cancel.begin();
}

fn recancel(userdata: ?*anyopaque) void {
    _ = userdata;
    cancel.recancel();
}

fn swapCancelProtection(userdata: ?*anyopaque, new: Io.CancelProtection) Io.CancelProtection {
    _ = userdata;
    return cancel.swapProtection(new);
}

fn checkCancel(userdata: ?*anyopaque) Io.Cancelable!void {
    _ = userdata;
    return cancel.check();
}
