//! The types and functions of `src/c.zig` are those of `blitz.h`, which `zig translate-c` has translated. What
//! differs does not compile.

const std = @import("std");
const declared = @import("declared");
const header = @import("header");

comptime {
    @setEvalBranchQuota(100_000);
    for (std.meta.declarations(declared)) |name| {
        const ours = @field(declared, name);
        const is_struct = @TypeOf(ours) == type and @typeInfo(ours) == .@"struct";
        if (is_struct) compareTypes(name, ours, @field(header, name));
        const is_function = @typeInfo(@TypeOf(ours)) == .@"fn";
        if (is_function) compareFunctions(name, @TypeOf(ours), @TypeOf(@field(header, name)));
    }
}

fn compareTypes(comptime name: []const u8, comptime Our: type, comptime Their: type) void {
    same(name, @sizeOf(Our), @sizeOf(Their));
    same(name, @alignOf(Our), @alignOf(Their));
    same(name, std.meta.fieldNames(Our).len, std.meta.fieldNames(Their).len);
    for (std.meta.fieldNames(Our)) |field| {
        same(name ++ "." ++ field, @offsetOf(Our, field), @offsetOf(Their, field));
        same(name ++ "." ++ field, @sizeOf(@FieldType(Our, field)), @sizeOf(@FieldType(Their, field)));
    }
}

fn compareFunctions(comptime name: []const u8, comptime Our: type, comptime Their: type) void {
    const ours = @typeInfo(Our).@"fn";
    const theirs = @typeInfo(Their).@"fn";
    same(name, @sizeOf(ours.return_type.?), @sizeOf(theirs.return_type.?));
    same(name, ours.param_types.len, theirs.param_types.len);
    for (ours.param_types, theirs.param_types) |A, B| same(name, @sizeOf(A.?), @sizeOf(B.?));
}

fn same(comptime name: []const u8, comptime ours: usize, comptime theirs: usize) void {
    if (ours != theirs) @compileError(name ++ " differs from that of blitz.h");
}
