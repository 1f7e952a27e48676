//! Entries that are plain system calls: the standard implementation does them.
//!
//! In a fiber they run in a thread of the blocking pool, so that no worker is blocked, and the fiber
//! is suspended meanwhile. A thread that is no worker calls them itself.

const std = @import("std");
const Io = std.Io;
const c = @import("../c.zig");
const cancel = @import("cancel.zig");
const Instance = @import("instance.zig").Instance;

fn Entry(comptime name: []const u8) type {
    return @typeInfo(@FieldType(Io.VTable, name)).pointer.child;
}

fn Result(comptime name: []const u8) type {
    return @typeInfo(Entry(name)).@"fn".return_type.?;
}

/// Whether an entry is a cancelation point.
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
    if (!c.blitz_is_fiber()) return direct(name, instance, arguments);
    const Call = struct {
        instance: *Instance,
        arguments: @TypeOf(arguments),
        result: Result(name),

        fn run(argument: ?*anyopaque) callconv(.c) ?*anyopaque {
            const self: *@This() = @ptrCast(@alignCast(argument));
            self.result = direct(name, self.instance, self.arguments);
            return null;
        }
    };
    var made: Call = .{ .instance = instance, .arguments = arguments, .result = undefined };
    if (!instance.runBlocking(Call.run, &made)) return direct(name, instance, arguments);
    return made.result;
}

/// Does an entry of the standard implementation in the calling thread.
pub fn direct(comptime name: []const u8, instance: *Instance, arguments: anytype) Result(name) {
    const standard = instance.standard.io();
    const userdata: ?*anyopaque = standard.userdata;
    return @call(.auto, @field(standard.vtable, name), .{userdata} ++ arguments);
}

const How = enum { pool, here };

/// The entry that forwards to the standard implementation: to the blocking pool, or in the calling
/// thread, for system calls that never wait.
pub fn entry(comptime name: []const u8, comptime how: How) @FieldType(Io.VTable, name) {
    const P = @typeInfo(Entry(name)).@"fn".param_types;
    const R = Result(name);
    const does = struct {
        fn it(userdata: ?*anyopaque, arguments: anytype) R {
            return switch (how) {
                .pool => call(name, .of(userdata), arguments),
                .here => here(name, .of(userdata), arguments),
            };
        }
    }.it;
    return switch (P.len) {
        1 => struct {
            fn f(u: ?*anyopaque) R {
                return does(u, .{});
            }
        }.f,
        2 => struct {
            fn f(u: ?*anyopaque, a: P[1].?) R {
                return does(u, .{a});
            }
        }.f,
        3 => struct {
            fn f(u: ?*anyopaque, a: P[1].?, b: P[2].?) R {
                return does(u, .{ a, b });
            }
        }.f,
        4 => struct {
            fn f(u: ?*anyopaque, a: P[1].?, b: P[2].?, d: P[3].?) R {
                return does(u, .{ a, b, d });
            }
        }.f,
        5 => struct {
            fn f(u: ?*anyopaque, a: P[1].?, b: P[2].?, d: P[3].?, e: P[4].?) R {
                return does(u, .{ a, b, d, e });
            }
        }.f,
        6 => struct {
            fn f(u: ?*anyopaque, a: P[1].?, b: P[2].?, d: P[3].?, e: P[4].?, g: P[5].?) R {
                return does(u, .{ a, b, d, e, g });
            }
        }.f,
        else => @compileError("an entry with more arguments: " ++ name),
    };
}

fn here(comptime name: []const u8, instance: *Instance, arguments: anytype) Result(name) {
    if (comptime isCancelable(name)) try cancel.check();
    return direct(name, instance, arguments);
}
