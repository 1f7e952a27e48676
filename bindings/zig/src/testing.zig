//! Common parts of the tests of this package.

const std = @import("std");
const task = @import("task.zig");
const Runtime = @import("runtime.zig").Runtime;

/// The workers of a test.
pub const Flavour = enum { threads, fibers, mixed };

/// All flavours.
pub const flavours = [_]Flavour{ .threads, .fibers, .mixed };

/// Lets others run.
pub const yield = task.yield;

/// Calls `function` in a number of threads or fibers at the same time, and returns the first error of
/// one of them.
pub fn together(
    flavour: Flavour,
    comptime count: usize,
    comptime function: anytype,
    args: std.meta.ArgsTuple(@TypeOf(function)),
) !void {
    var runtime = try Runtime.init(std.testing.allocator, .{ .workers = 2 });
    defer runtime.deinit();
    const Worker = union(enum) {
        thread: std.Thread,
        fiber: task.JoinHandle(anyerror!void),
    };
    const run = struct {
        fn inThread(result: *anyerror!void, arguments: @TypeOf(args)) void {
            result.* = @call(.auto, function, arguments);
        }
        fn inFiber(arguments: @TypeOf(args)) anyerror!void {
            return @call(.auto, function, arguments);
        }
    };
    var results: [count]anyerror!void = undefined;
    var workers: [count]Worker = undefined;
    for (&workers, &results, 0..) |*worker, *result, i| {
        const is_fiber = flavour == .fibers or (flavour == .mixed and i % 2 == 0);
        worker.* = if (is_fiber)
            .{ .fiber = try runtime.spawn(run.inFiber, .{args}) }
        else
            .{ .thread = try std.Thread.spawn(.{}, run.inThread, .{ result, args }) };
    }
    for (&workers, &results) |*worker, *result| switch (worker.*) {
        .thread => |thread| thread.join(),
        .fiber => |*fiber| result.* = fiber.join(),
    };
    for (results) |result| try result;
}
