//! Pipelines: items from a source go through stages in parallel, and to a sink in their order.

const std = @import("std");
const c = @import("c.zig");
const errors = @import("errors.zig");

/// Settings of a pipeline.
pub const Options = struct {
    /// The number of threads that work in all, up to 1,024. 0: one for each processor.
    workers: usize = 0,
    /// The most items in memory. 0: 4 for each worker.
    capacity: usize = 0,
    /// If true, the sink gets the items in any order.
    unordered: bool = false,
    /// Cancels the run from another thread or fiber.
    control: ?Control = null,
    /// Gets the progress of a run that failed.
    diagnostics: ?*Diagnostics = null,
};

/// The progress of a run.
pub const Diagnostics = struct {
    /// The number of items that the sink has taken, without a gap.
    written: u64 = 0,
    /// The item that failed, counted from 0, if a callback failed.
    failed_item: u64 = 0,
};

/// Cancels one run of a pipeline. Any thread or fiber may use it.
pub const Control = struct {
    raw: *c.blitz_pipeline_control,

    /// Makes a control.
    pub fn init() Control {
        var raw: *c.blitz_pipeline_control = undefined;
        errors.expectOk(c.blitz_pipeline_control_new(&raw));
        return .{ .raw = raw };
    }

    /// Frees the control, after the run.
    pub fn deinit(control: *Control) void {
        c.blitz_pipeline_control_free(control.raw);
        control.* = undefined;
    }

    /// Cancels the run: callbacks that run come to their end, and no more begin. Does not wait.
    pub fn cancel(control: Control) void {
        errors.expectOk(c.blitz_pipeline_cancel(control.raw));
    }
};

/// Runs a pipeline to its end, and returns the number of taken items. Suspends the calling fiber
/// while other threads run it, or works in the calling thread.
///
/// An item is a pointer. The parts are pointers to structs of the caller with these functions, which
/// must not wait for each other:
///
/// * `source.next() !?*Item` makes the next item, or null at the end. Its calls do not overlap.
/// * `stage.run(*Item) !?*Next` for each element of the tuple `stages`: works on an item, which may
///   become another one, or null to leave it out. Several threads call it at once.
/// * `sink.take(*Item) !void` takes an item over, in the order of the source. Its calls do not overlap.
/// * `Sink.free(*Item) void`, if the type of the sink has such a public function, frees an item that does not
///   come to the sink after a failure. All stages must then leave the type of the items as it is.
///
/// An error of a part ends the run and is returned: everything before the failed item is written, and
/// nothing after it (if the pipeline is ordered). A stage that fails leaves its item to the pipeline.
/// Other errors are `error.Canceled` after `Control.cancel`, and
/// `error.InvalidArgument` for too many workers. Cancelling the calling fiber does not end the run.
pub fn run(source: anytype, stages: anytype, sink: anytype, options: Options) anyerror!u64 {
    const Source = @TypeOf(source.*);
    const Sink = @TypeOf(sink.*);
    var raw_stages: [stages.len]c.blitz_stage = undefined;
    inline for (stages, &raw_stages) |stage, *raw| {
        raw.* = .{ .function = StageOf(@TypeOf(stage.*)).run, .argument = @constCast(stage) };
    }
    const pipeline: c.blitz_pipeline = .{
        .source = SourceOf(Source).next,
        .source_argument = @constCast(source),
        .stages = &raw_stages,
        .stage_count = raw_stages.len,
        .sink = SinkOf(Sink).take,
        .sink_argument = @constCast(sink),
        .free_item = if (@hasDecl(Sink, "free")) FreeOf(Sink).free else null,
        .workers = options.workers,
        .capacity = options.capacity,
        .unordered = options.unordered,
        .control = if (options.control) |control| control.raw else null,
    };
    var result: c.blitz_pipeline_result = .{};
    const status = c.blitz_pipeline_run(&pipeline, &result);
    if (options.diagnostics) |diagnostics| {
        diagnostics.* = .{ .written = result.written, .failed_item = result.failed_item };
    }
    if (status == c.BLITZ_ECALLBACK) return toError(result.callback_result);
    try errors.check(error{ Canceled, InvalidArgument }, status);
    return result.written;
}

/// The number of an error, as a callback returns it to the library.
fn toNumber(err: anyerror) c_int {
    return -@as(c_int, @intFromError(err));
}

fn toError(number: c_int) anyerror {
    return @errorFromInt(@as(u16, @intCast(-number)));
}

fn SourceOf(comptime Source: type) type {
    return struct {
        fn next(argument: ?*anyopaque, item: *?*anyopaque) callconv(.c) c_int {
            const source: *Source = @ptrCast(@alignCast(argument.?));
            item.* = (source.next() catch |err| return toNumber(err)) orelse return 0;
            return 1;
        }
    };
}

fn StageOf(comptime Stage: type) type {
    const Item = @typeInfo(@TypeOf(Stage.run)).@"fn".param_types[1].?;
    return struct {
        fn run(argument: ?*anyopaque, item: *?*anyopaque) callconv(.c) c_int {
            const stage: *Stage = @ptrCast(@alignCast(argument.?));
            const input: Item = @ptrCast(@alignCast(item.*.?));
            item.* = stage.run(input) catch |err| return toNumber(err);
            return 0;
        }
    };
}

fn SinkOf(comptime Sink: type) type {
    const Item = @typeInfo(@TypeOf(Sink.take)).@"fn".param_types[1].?;
    return struct {
        fn take(argument: ?*anyopaque, item: ?*anyopaque) callconv(.c) c_int {
            const sink: *Sink = @ptrCast(@alignCast(argument.?));
            const input: Item = @ptrCast(@alignCast(item.?));
            sink.take(input) catch |err| return toNumber(err);
            return 0;
        }
    };
}

fn FreeOf(comptime Sink: type) type {
    const Item = @typeInfo(@TypeOf(Sink.free)).@"fn".param_types[0].?;
    return struct {
        fn free(item: ?*anyopaque) callconv(.c) void {
            const input: Item = @ptrCast(@alignCast(item.?));
            Sink.free(input);
        }
    };
}

const testing = @import("testing.zig");

/// An item that frees itself.
const Number = struct {
    value: u64,

    fn init(value: u64) !*Number {
        const number = try std.testing.allocator.create(Number);
        number.* = .{ .value = value };
        return number;
    }
};

const Count = struct {
    next_value: u64 = 0,
    end: u64,

    fn next(source: *Count) !?*Number {
        if (source.next_value == source.end) return null;
        defer source.next_value += 1;
        return try Number.init(source.next_value);
    }
};

/// Squares even numbers, and leaves odd ones out.
const SquareEven = struct {
    fails_at: u64 = std.math.maxInt(u64),

    fn run(stage: *const SquareEven, number: *Number) !?*Number {
        if (number.value == stage.fails_at) return error.TooLarge;
        if (number.value % 2 != 0) {
            std.testing.allocator.destroy(number);
            return null;
        }
        number.value *= number.value;
        return number;
    }
};

const Collect = struct {
    values: std.ArrayList(u64) = .empty,

    fn take(sink: *Collect, number: *Number) !void {
        defer std.testing.allocator.destroy(number);
        try sink.values.append(std.testing.allocator, number.value);
    }

    pub fn free(number: *Number) void {
        std.testing.allocator.destroy(number);
    }
};

test run {
    const work = struct {
        fn work() !void {
            var source: Count = .{ .end = 200 };
            const stage: SquareEven = .{};
            var sink: Collect = .{};
            defer sink.values.deinit(std.testing.allocator);
            _ = try run(&source, .{&stage}, &sink, .{ .workers = 2 });
            try std.testing.expectEqual(100, sink.values.items.len);
            for (sink.values.items, 0..) |value, i| try std.testing.expectEqual(4 * i * i, value);
        }
    }.work;
    inline for (testing.flavours) |flavour| try testing.together(flavour, 2, work, .{});
}

test "an error of a stage ends the run and comes back" {
    var source: Count = .{ .end = 1000 };
    const stage: SquareEven = .{ .fails_at = 20 };
    var sink: Collect = .{};
    defer sink.values.deinit(std.testing.allocator);
    var diagnostics: Diagnostics = .{};
    const result = run(&source, .{&stage}, &sink, .{ .workers = 2, .diagnostics = &diagnostics });
    try std.testing.expectError(error.TooLarge, result);
    try std.testing.expectEqual(20, diagnostics.failed_item);
    try std.testing.expectEqual(10, sink.values.items.len);
}

test "a control cancels a run" {
    const CancelAt = struct {
        control: Control,
        taken: u64 = 0,

        fn take(sink: *@This(), number: *Number) !void {
            std.testing.allocator.destroy(number);
            sink.taken += 1;
            sink.control.cancel();
        }

        pub const free = Collect.free;
    };
    var control = Control.init();
    defer control.deinit();
    var source: Count = .{ .end = std.math.maxInt(u64) };
    var sink: CancelAt = .{ .control = control };
    try std.testing.expectError(error.Canceled, run(&source, .{}, &sink, .{ .control = control }));
    try std.testing.expect(sink.taken > 0);
    try std.testing.expectError(error.InvalidArgument, run(&source, .{}, &sink, .{ .workers = 5000 }));
}
