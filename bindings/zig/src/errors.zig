//! All errors of the library as one error set.
//!
//! A function names the errors that it can return; `Error` has all of them. An error of the operating
//! system has the name that Zig's standard library gives it, or is `error.SystemError`: then
//! `lastError` tells which.

const std = @import("std");
const c = @import("c.zig");

/// Every error that a function of this package returns.
pub const Error = LibraryError || SystemError;

/// Errors of the library itself.
pub const LibraryError = error{
    /// An argument is out of range, or does not fit to the state of the object.
    InvalidArgument,
    /// The deadline passed.
    TimedOut,
    /// The other side was freed or has ended, or the object was closed.
    Closed,
    /// The channel is full, or the segment has as many senders or receivers as it allows.
    Full,
    /// The channel is empty.
    Empty,
    /// The operation would have to wait.
    WouldBlock,
    /// A panic was caught inside the library. `lastError` has its text.
    Panicked,
    /// The fiber was cancelled, or its runtime shuts down.
    Canceled,
    /// A receiver was too slow and missed values.
    Lagged,
    /// The word does not hold the expected value.
    Changed,
    /// Another thread or fiber uses the object, which allows only one.
    Busy,
    /// The value or the buffer is larger, or smaller, than the object allows.
    WrongSize,
    /// The operating system lacks a feature that this needs.
    Unsupported,
    /// The object was made before a `fork`, and this is the child process.
    Forked,
    /// The shared memory does not have the form that it must have.
    Corrupt,
    /// Another participant died, and the operation cannot be completed without it.
    Broken,
    /// The library has another ABI version than these declarations.
    AbiMismatch,
    /// The name is in use with other settings.
    SettingsMismatch,
    /// A callback of the caller reported a failure.
    CallbackFailed,
    /// The end of the file or stream came before the buffer was full.
    EndOfStream,
    /// The system's resolver has no address of the host, or does not work.
    UnknownHost,
};

/// Errors of the operating system.
pub const SystemError = error{
    AccessDenied,
    AddressInUse,
    AddressUnavailable,
    BadDescriptor,
    BrokenPipe,
    ConnectionAborted,
    ConnectionRefused,
    ConnectionResetByPeer,
    ConnectionTimedOut,
    DiskQuota,
    FileBusy,
    FileNotFound,
    FileTooBig,
    HostUnreachable,
    InputOutput,
    Interrupted,
    IsDir,
    NameTooLong,
    NetworkUnreachable,
    NoDevice,
    NoSpaceLeft,
    NotDir,
    PathAlreadyExists,
    PermissionDenied,
    ProcessFdQuotaExceeded,
    ReadOnlyFileSystem,
    SocketUnconnected,
    SymLinkLoop,
    SystemFdQuotaExceeded,
    SystemResources,
    /// Another error of the operating system. `lastError` tells which.
    SystemError,
};

/// Returns details on the last error of this thread or fiber, in English, or "" if there are none.
///
/// The text is valid until the next error of this thread or fiber, or its end.
pub fn lastError() [:0]const u8 {
    return std.mem.span(c.blitz_last_error());
}

/// Turns the result of a function of the C interface into an error of `Set`.
///
/// An error that is not in `Set` is a mistake of the caller, such as an object that was freed. The
/// program then ends with a message that names it.
pub inline fn check(comptime Set: type, result: c_int) Set!void {
    if (result != c.BLITZ_OK) return fail(Set, result);
}

/// Expects a function of the C interface to succeed, as it does if its object is used correctly.
pub inline fn expectOk(result: c_int) void {
    if (result != c.BLITZ_OK) misuse(result);
}

fn fail(comptime Set: type, result: c_int) Set {
    @branchHint(.cold);
    const err = fromResult(result);
    inline for (comptime @typeInfo(Set).error_set.error_names.?) |name| {
        if (err == @field(Error, name)) return @field(Set, name);
    }
    misuse(result);
}

fn misuse(result: c_int) noreturn {
    @branchHint(.cold);
    const name = c.blitz_error_name(result);
    std.debug.panic("blitz-io: {s} ({d}): {s}", .{ name, result, lastError() });
}

/// Returns the error for a negative result of a function of the C interface.
pub fn fromResult(result: c_int) Error {
    return switch (result) {
        c.BLITZ_EINVAL => error.InvalidArgument,
        c.BLITZ_ETIMEDOUT => error.TimedOut,
        c.BLITZ_ECLOSED => error.Closed,
        c.BLITZ_EFULL => error.Full,
        c.BLITZ_EEMPTY => error.Empty,
        c.BLITZ_EAGAIN => error.WouldBlock,
        c.BLITZ_EPANIC => error.Panicked,
        c.BLITZ_ECANCELED => error.Canceled,
        c.BLITZ_ELAGGED => error.Lagged,
        c.BLITZ_ECHANGED => error.Changed,
        c.BLITZ_EBUSY => error.Busy,
        c.BLITZ_ESIZE => error.WrongSize,
        c.BLITZ_EUNSUPPORTED => error.Unsupported,
        c.BLITZ_EFORKED => error.Forked,
        c.BLITZ_ECORRUPT => error.Corrupt,
        c.BLITZ_EBROKEN => error.Broken,
        c.BLITZ_EABI => error.AbiMismatch,
        c.BLITZ_EMISMATCH => error.SettingsMismatch,
        c.BLITZ_ECALLBACK => error.CallbackFailed,
        c.BLITZ_EEOF => error.EndOfStream,
        c.BLITZ_EHOST => error.UnknownHost,
        else => fromErrno(c.blitz_os_error(result)),
    };
}

fn fromErrno(number: c_int) SystemError {
    const errno: std.posix.E = @fromBackingInt(@intCast(number));
    return switch (errno) {
        .ACCES => error.AccessDenied,
        .ADDRINUSE => error.AddressInUse,
        .ADDRNOTAVAIL => error.AddressUnavailable,
        .BADF => error.BadDescriptor,
        .PIPE => error.BrokenPipe,
        .CONNABORTED => error.ConnectionAborted,
        .CONNREFUSED => error.ConnectionRefused,
        .CONNRESET => error.ConnectionResetByPeer,
        .TIMEDOUT => error.ConnectionTimedOut,
        .DQUOT => error.DiskQuota,
        .TXTBSY => error.FileBusy,
        .NOENT => error.FileNotFound,
        .FBIG => error.FileTooBig,
        .HOSTUNREACH => error.HostUnreachable,
        .IO => error.InputOutput,
        .INTR => error.Interrupted,
        .ISDIR => error.IsDir,
        .NAMETOOLONG => error.NameTooLong,
        .NETUNREACH => error.NetworkUnreachable,
        .NODEV, .NXIO => error.NoDevice,
        .NOSPC => error.NoSpaceLeft,
        .NOTDIR => error.NotDir,
        .EXIST => error.PathAlreadyExists,
        .PERM => error.PermissionDenied,
        .MFILE => error.ProcessFdQuotaExceeded,
        .ROFS => error.ReadOnlyFileSystem,
        .NOTCONN => error.SocketUnconnected,
        .LOOP => error.SymLinkLoop,
        .NFILE => error.SystemFdQuotaExceeded,
        .NOMEM, .NOBUFS, .AGAIN => error.SystemResources,
        else => error.SystemError,
    };
}

test "each number of the library has an error of its own" {
    var number: c_int = c.BLITZ_EINVAL;
    var seen: usize = 0;
    while (number >= c.BLITZ_EHOST) : (number -= 1) {
        inline for (comptime @typeInfo(LibraryError).error_set.error_names.?) |name| {
            if (fromResult(number) == @field(Error, name)) seen += 1;
        }
    }
    try std.testing.expectEqual(21, seen);
}

test "errors of the system have names, and the rest is a system error" {
    const E = std.posix.E;
    try std.testing.expectEqual(error.FileNotFound, fromResult(-@as(c_int, @backingInt(E.NOENT))));
    try std.testing.expectEqual(error.SystemError, fromResult(-@as(c_int, @backingInt(E.XDEV))));
    try std.testing.expectEqual(error.SystemError, fromResult(17));
}

test "an error set keeps the error" {
    const Set = error{ TimedOut, Canceled };
    try check(Set, c.BLITZ_OK);
    try std.testing.expectError(error.Canceled, check(Set, c.BLITZ_ECANCELED));
}
