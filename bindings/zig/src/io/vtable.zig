//! The entries of `std.Io`, and their implementations.

const std = @import("std");
const Io = std.Io;
const cancel = @import("cancel.zig");
const entry = @import("entry.zig");
const forward = @import("forward.zig");

const batch = @import("batch.zig");
const child = @import("child.zig");
const future = @import("future.zig");
const futex = @import("futex.zig");
const group = @import("group.zig");
const interface = @import("interface.zig");
const lookup = @import("lookup.zig");
const operation = @import("operation.zig");
const owner = @import("owner.zig");
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
    .dirSetFileOwner = owner.set,
    .fileClose = socket.closeFiles,
    .lockStderr = stderr.lock,
    .tryLockStderr = stderr.tryLock,
    .unlockStderr = stderr.unlock,
    .childWait = child.wait,
    .sleep = time.sleep,
    .netAccept = socket.accept,
    .netClose = socket.close,
    .netConnectIp = socket.connectIp,
    .netInterfaceName = interface.name,
    .netListenIp = socket.made("netListenIp", forward.here),
    .netBindIp = socket.made("netBindIp", forward.here),
    .netSocketCreatePair = socket.made("netSocketCreatePair", forward.here),
    .netListenUnix = socket.made("netListenUnix", forward.pool),
    .netConnectUnix = socket.made("netConnectUnix", forward.pool),
    .netLookup = lookup.lookup,
};

/// Entries that only look something up in this process, or make a system call that never waits.
const never_wait = [_][]const u8{
    "progressParentFile", "inheritParentDir",            "inheritParentFile", "now",
    "clockResolution",    "random",                      "netWriteFile",      "netShutdown",
    "fileIsTty",          "fileSupportsAnsiEscapeCodes",
};

/// Entries whose system calls may wait, for a disk or another process: the blocking pool does them.
const may_wait = [_][]const u8{
    "dirCreateDir",           "dirCreateDirPath",        "dirCreateDirPathOpen",      "dirOpenDir",
    "dirStat",                "dirStatFile",             "dirAccess",                 "dirCreateFile",
    "dirCreateFileAtomic",    "dirOpenFile",             "dirClose",                  "dirRead",
    "dirRealPath",            "dirRealPathFile",         "dirDeleteFile",             "dirDeleteDir",
    "dirRename",              "dirRenamePreserve",       "dirSymLink",                "dirReadLink",
    "dirSetOwner",            "dirSetPermissions",       "dirSetFilePermissions",     "dirSetTimestamps",
    "dirHardLink",            "fileStat",                "fileLength",                "fileWritePositional",
    "fileWriteFileStreaming", "fileWriteFilePositional", "fileReadPositional",        "fileSeekBy",
    "fileSeekTo",             "fileSync",                "fileEnableAnsiEscapeCodes", "fileSetLength",
    "fileSetOwner",           "fileSetPermissions",      "fileSetTimestamps",         "fileLock",
    "fileTryLock",            "fileUnlock",              "fileDowngradeLock",         "fileRealPath",
    "fileHardLink",           "fileMemoryMapCreate",     "fileMemoryMapDestroy",      "fileMemoryMapSetLength",
    "fileMemoryMapRead",      "fileMemoryMapWrite",      "processExecutableOpen",     "processExecutablePath",
    "processCurrentPath",     "processSetCurrentDir",    "processSetCurrentPath",     "processReplace",
    "processSpawn",           "childKill",               "randomSecure",              "netInterfaceNameResolve",
};

/// Our implementation of `std.Io`. Each entry stands in one of the three lists above: an entry of another
/// version of Zig is an error of the compiler until a list has it.
pub const vtable: Io.VTable = make: {
    @setEvalBranchQuota(100_000);
    var made: Io.VTable = undefined;
    const own_names = @typeInfo(@TypeOf(own)).@"struct".field_names;
    for (own_names ++ never_wait ++ may_wait) |name| {
        if (!@hasField(Io.VTable, name)) @compileError("std.Io has no entry " ++ name);
    }
    for (entry.names) |name| {
        const is_own: usize = @intFromBool(@hasField(@TypeOf(own), name));
        const is_here: usize = @intFromBool(isIn(&never_wait, name));
        const is_in_pool: usize = @intFromBool(isIn(&may_wait, name));
        if (is_own + is_here + is_in_pool != 1) @compileError("not in one list: the entry " ++ name ++ " of std.Io");
        @field(made, name) = if (is_own == 1)
            @field(own, name)
        else
            entry.of(name, if (is_here == 1) forward.here else forward.pool);
    }
    break :make made;
};

fn isIn(names: []const []const u8, name: []const u8) bool {
    for (names) |other| {
        if (std.mem.eql(u8, name, other)) return true;
    }
    return false;
}

fn crashHandler(userdata: ?*anyopaque) void {
    _ = userdata;
    // Output of a process that is about to end is not cancelled.
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

test "no entry is one that fails or panics in the standard library" {
    // `Io.failing` has an entry of this kind for each operation that it lacks.
    inline for (entry.names) |name| {
        const ours: *const anyopaque = @ptrCast(@field(vtable, name));
        const failing: *const anyopaque = @ptrCast(@field(Io.failing.vtable, name));
        try std.testing.expect(ours != failing);
    }
}

test {
    _ = @import("every_entry.zig");
    _ = @import("ready.zig");
    _ = @import("socket.zig");
}
