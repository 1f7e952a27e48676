//! Single operations: reads and writes of files, sockets and devices.

const std = @import("std");
const Io = std.Io;
const c = @import("../c.zig");
const cancel = @import("cancel.zig");
const forward = @import("forward.zig");
const message = @import("message.zig");
const no_wait = @import("no_wait.zig");
const ready = @import("ready.zig");
const stream = @import("stream.zig");
const Instance = @import("instance.zig").Instance;

/// `operate` of `std.Io`.
pub fn operate(userdata: ?*anyopaque, operation: Io.Operation) Io.Cancelable!Io.Operation.Result {
    return until(.of(userdata), operation, c.BLITZ_NEVER) catch |err| switch (err) {
        error.Canceled => |e| e,
        error.Timeout => unreachable, // without a deadline
    };
}

/// Does an operation, or nothing if it would have to wait longer than until the deadline.
pub fn until(instance: *Instance, operation: Io.Operation, deadline: u64) ready.Error!Io.Operation.Result {
    try cancel.check();
    switch (operation) {
        .file_read_streaming => |o| return ofFile(instance, operation, o.file, .read, deadline),
        .file_write_streaming => |o| return ofFile(instance, operation, o.file, .write, deadline),
        .device_io_control => return forward.call("operate", instance, .{operation}),
        .net_read => |o| return .{ .net_read = stream.read(instance, o, deadline) catch |err| switch (err) {
            error.Canceled, error.Timeout => |e| return e,
            else => |e| e,
        } },
        .net_write => |o| return .{ .net_write = stream.write(instance, o, deadline) catch |err| switch (err) {
            error.Canceled, error.Timeout => |e| return e,
            else => |e| e,
        } },
        .net_receive => |o| return .{ .net_receive = try message.receive(instance, o, deadline) },
        .net_send => |o| return .{ .net_send = try message.send(instance, o, deadline) },
    }
}

/// Reads or writes a file without waiting. If that fails, lets other tasks run, as one may be at the other
/// end of a pipe, and tries again; then waits for a pipe or a terminal, and tries again. Regular files are
/// always ready. What is left for the standard implementation: files that are not in memory, terminals,
/// and errors.
fn ofFile(
    instance: *Instance,
    operation: Io.Operation,
    file: Io.File,
    direction: ready.Direction,
    deadline: u64,
) ready.Error!Io.Operation.Result {
    if (c.blitz_is_fiber() or deadline != c.BLITZ_NEVER) {
        if (no_wait.operate(operation)) |result| return result;
        try ready.yield();
        if (no_wait.operate(operation)) |result| return result;
        ready.wait(file.handle, direction, deadline) catch |err| switch (err) {
            error.Canceled, error.Timeout => |e| return e,
            error.SystemResources, error.Unexpected => {},
        };
        if (no_wait.operate(operation)) |result| return result;
    }
    return forward.call("operate", instance, .{operation});
}
