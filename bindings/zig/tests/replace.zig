//! A program that another one replaces, in a fiber. Its output must be that of the other one.

const std = @import("std");
const blitz = @import("blitz_io");

pub fn main(init: std.process.Init) !void {
    var instance: blitz.Io = .init(init.gpa, .{});
    const io = instance.io();
    var future = try io.concurrent(std.process.replace, .{ io, std.process.ReplaceOptions{ .argv = &.{ "echo", "replaced" } } });
    return future.await(io);
}
