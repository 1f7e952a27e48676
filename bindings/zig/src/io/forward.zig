//! Entries that are plain system calls: the standard implementation does them.
//!
//! In a fiber they run in a thread of the blocking pool, so that no worker is blocked, and the fiber
//! is suspended until they return. A thread that is no worker calls them itself.

const std = @import("std");
const Io = std.Io;
const c = @import("../c.zig");
const cancel = @import("cancel.zig");
const entries = @import("entry.zig");
const Instance = @import("instance.zig").Instance;
const Result = entries.Result;

/// Returns `true` if an entry is a cancelation point.
fn isCancelable(comptime name: []const u8) bool {
    const set = switch (@typeInfo(Result(name))) {
        .error_union => |info| info.error_set,
        else => return false,
    };
    for (@typeInfo(set).error_set.error_names.?) |error_name| {
        if (std.mem.eql(u8, error_name, "Canceled")) return true;
    }
    return false;
}

/// Does an entry of the standard implementation, in a thread that may block.
pub fn call(comptime name: []const u8, instance: *Instance, arguments: anytype) Result(name) {
    if (comptime isCancelable(name)) try cancel.check();
    const Standard = struct {
        fn f(to: *Instance, with: @TypeOf(arguments)) Result(name) {
            return direct(name, to, with);
        }
    };
    return inPool(instance, Result(name), Standard.f, .{ instance, arguments });
}

/// Calls a function that may block: in a thread of the blocking pool if the caller is a fiber.
pub fn inPool(instance: *Instance, comptime R: type, comptime function: anytype, arguments: anytype) R {
    if (!c.blitz_is_fiber()) return @call(.auto, function, arguments);
    const Call = struct {
        arguments: @TypeOf(arguments),
        result: R,

        fn run(argument: ?*anyopaque) callconv(.c) ?*anyopaque {
            const self: *@This() = @ptrCast(@alignCast(argument));
            self.result = @call(.auto, function, self.arguments);
            return null;
        }
    };
    var made: Call = .{ .arguments = arguments, .result = undefined };
    if (!instance.runBlocking(Call.run, &made)) return @call(.auto, function, arguments);
    return made.result;
}

/// Does an entry of the standard implementation in the calling thread.
pub fn direct(comptime name: []const u8, instance: *Instance, arguments: anytype) Result(name) {
    const standard = instance.standard.io();
    const userdata: ?*anyopaque = standard.userdata;
    return @call(.auto, @field(standard.vtable, name), .{userdata} ++ arguments);
}

/// The entry that forwards to the standard implementation, in the blocking pool.
pub fn pool(comptime name: []const u8, userdata: ?*anyopaque, arguments: anytype) Result(name) {
    return call(name, .of(userdata), arguments);
}

/// The entry that forwards to the standard implementation, in the calling thread: for system calls that
/// never wait.
pub fn here(comptime name: []const u8, userdata: ?*anyopaque, arguments: anytype) Result(name) {
    if (comptime isCancelable(name)) try cancel.check();
    return direct(name, .of(userdata), arguments);
}
