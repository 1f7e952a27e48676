//! Functions that have the signatures of the entries of `std.Io`, made at compile time.

const std = @import("std");
const Io = std.Io;

/// The names of all entries.
pub const names = @typeInfo(Io.VTable).@"struct".field_names;

fn Signature(comptime name: []const u8) type {
    return @typeInfo(@FieldType(Io.VTable, name)).pointer.child;
}

/// The result type of an entry.
pub fn Result(comptime name: []const u8) type {
    return @typeInfo(Signature(name)).@"fn".return_type.?;
}

/// Returns an entry that calls `body`, a generic function of the name, the userdata, and the other arguments
/// as a tuple.
pub fn of(comptime name: []const u8, comptime body: anytype) @FieldType(Io.VTable, name) {
    const P = @typeInfo(Signature(name)).@"fn".param_types;
    const R = Result(name);
    return switch (P.len) {
        1 => struct {
            fn f(u: ?*anyopaque) R {
                return body(name, u, .{});
            }
        }.f,
        2 => struct {
            fn f(u: ?*anyopaque, a: P[1].?) R {
                return body(name, u, .{a});
            }
        }.f,
        3 => struct {
            fn f(u: ?*anyopaque, a: P[1].?, b: P[2].?) R {
                return body(name, u, .{ a, b });
            }
        }.f,
        4 => struct {
            fn f(u: ?*anyopaque, a: P[1].?, b: P[2].?, d: P[3].?) R {
                return body(name, u, .{ a, b, d });
            }
        }.f,
        5 => struct {
            fn f(u: ?*anyopaque, a: P[1].?, b: P[2].?, d: P[3].?, e: P[4].?) R {
                return body(name, u, .{ a, b, d, e });
            }
        }.f,
        6 => struct {
            fn f(u: ?*anyopaque, a: P[1].?, b: P[2].?, d: P[3].?, e: P[4].?, g: P[5].?) R {
                return body(name, u, .{ a, b, d, e, g });
            }
        }.f,
        else => @compileError("an entry with more arguments: " ++ name),
    };
}
