//! The benchmark: tiers 1 to 3, fibers and echoes, against `std.Io.Threaded`, `std.Io.Evented` and `std.Thread`
//! in the same process, and with `--compare FILE` against Tokio as the Rust benchmark has measured it.

const std = @import("std");
const blitz = @import("blitz_io");
const memory = @import("memory.zig");
const scenario = @import("scenario.zig");
const Measured = scenario.Measured;
const Writer = std.Io.Writer;

const scenarios = @import("locks.zig").scenarios ++ @import("channels.zig").scenarios ++ @import("tasks.zig").scenarios ++ @import("fibers.zig").scenarios ++ @import("echo.zig").scenarios;

const usage =
    \\options: --json            write JSON instead of a table
    \\         --quick           a tenth of the operations, few iterations
    \\         --iterations N    iterations that count (10)
    \\         --filter TEXT     only rows whose id contains this
    \\         --compare FILE    the JSON of `blitz bench --json`, to compare with Tokio
    \\
;

const Options = struct {
    json: bool = false,
    settings: scenario.Settings = .{},
    filter: []const u8 = "",
    compare: ?[]const u8 = null,

    fn parse(args: []const [:0]const u8) error{Usage}!Options {
        var options: Options = .{};
        var i: usize = 0;
        while (i < args.len) : (i += 1) {
            if (std.mem.eql(u8, args[i], "--json")) {
                options.json = true;
            } else if (std.mem.eql(u8, args[i], "--quick")) {
                options.settings = .{ .warmup = 1, .iterations = 3, .divisor = 10 };
            } else {
                const name = args[i];
                i += 1;
                if (i == args.len) return error.Usage;
                if (std.mem.eql(u8, name, "--iterations")) {
                    options.settings.iterations = std.fmt.parseInt(u16, args[i], 10) catch return error.Usage;
                    if (options.settings.iterations == 0) return error.Usage;
                } else if (std.mem.eql(u8, name, "--filter")) {
                    options.filter = args[i];
                } else if (std.mem.eql(u8, name, "--compare")) {
                    options.compare = args[i];
                } else return error.Usage;
            }
        }
        return options;
    }
};

pub fn main(init: std.process.Init) !u8 {
    const arena = init.arena.allocator();
    const args = try init.minimal.args.toSlice(arena);
    const options = Options.parse(args[1..]) catch {
        std.debug.print("{s}", .{usage});
        return 2;
    };
    const rust: ?std.json.Value = if (options.compare) |path| try readJson(init.io, arena, path) else null;

    var runtime = try blitz.Runtime.init(std.heap.c_allocator, .{ .workers = scenario.Settings.workers });
    defer runtime.deinit();
    var threaded: std.Io.Threaded = .init(std.heap.c_allocator, .{});
    defer threaded.deinit();
    const cx: scenario.Context = .{
        .ops = 0,
        .gpa = std.heap.c_allocator,
        .runtime = &runtime,
        .io = threaded.io(),
    };

    var rows: std.ArrayList(Measured) = .empty;
    for (scenarios) |row| {
        if (std.mem.find(u8, row.id, options.filter) == null) continue;
        try rows.append(arena, try scenario.measure(row, cx, options.settings));
    }
    var buffer: [4096]u8 = undefined;
    var stdout: std.Io.File.Writer = .initStreaming(.stdout(), init.io, &buffer);
    const writer = &stdout.interface;
    if (options.json) {
        try writeJson(writer, rows.items, options.settings, rust);
    } else {
        try writeTable(writer, rows.items, rust);
    }
    try writer.flush();
    return 0;
}

fn readJson(io: std.Io, arena: std.mem.Allocator, path: []const u8) !std.json.Value {
    const text = try std.Io.Dir.cwd().readFileAlloc(io, path, arena, .limited(16 << 20));
    return std.json.parseFromSliceLeaky(std.json.Value, arena, text, .{});
}

/// The figure of a contender in the JSON of the Rust benchmark, in nanoseconds for each operation.
fn rustFigure(rust: ?std.json.Value, row: scenario.Scenario, peer: ?[]const u8) ?f64 {
    const root = rust orelse return null;
    const benchmarks = member(root, "benchmarks") orelse return null;
    var found = member(benchmarks, row.rust orelse row.id) orelse return null;
    if (peer) |name| found = member(member(found, "peers") orelse return null, name) orelse return null;
    return switch (member(found, "ns_per_op") orelse return null) {
        .float => |value| value,
        .integer => |value| @floatFromInt(value),
        else => null,
    };
}

fn member(value: std.json.Value, name: []const u8) ?std.json.Value {
    return switch (value) {
        .object => |object| object.get(name),
        else => null,
    };
}

/// A peer of a row, with nanoseconds for each operation.
const Peer = struct { name: []const u8, ns: f64 };

/// Zig's own peers, and Tokio.
const Peers = [std.enums.values(scenario.Peer).len + 1]Peer;

fn peers(buffer: *Peers, row: Measured, rust: ?std.json.Value) []const Peer {
    var list: std.ArrayList(Peer) = .initBuffer(buffer);
    for (std.enums.values(scenario.Peer)) |peer| if (row.peers.get(peer)) |figures| {
        list.appendAssumeCapacity(.{ .name = @tagName(peer), .ns = figures.nsPerOp() });
    };
    if (rustFigure(rust, row.scenario, "tokio")) |ns| list.appendAssumeCapacity(.{ .name = "tokio", .ns = ns });
    return list.items;
}

fn best(list: []const Peer) ?Peer {
    var result: ?Peer = null;
    for (list) |peer| if (result == null or peer.ns < result.?.ns) {
        result = peer;
    };
    return result;
}

fn writeTable(writer: *Writer, rows: []const Measured, rust: ?std.json.Value) !void {
    var tier: u8 = 0;
    for (rows) |row| {
        if (row.scenario.tier != tier) {
            tier = row.scenario.tier;
            try writer.print("\nTier {d}, ns per operation\n", .{tier});
            try writer.print("{s:<34} {s:>9}", .{ "", "blitz-io" });
            for (std.enums.values(scenario.Peer)) |peer| try writer.print(" {s:>11}", .{@tagName(peer)});
            if (rust != null) try writer.print(" {s:>9} {s:>9}", .{ "our Rust", "tokio" });
            try writer.print(" {s:>7} {s:>7}  winner\n", .{ "B/op", "alloc" });
        }
        try writer.print("{s:<34} {d:>9.1}", .{ row.scenario.title, row.ours.nsPerOp() });
        for (std.enums.values(scenario.Peer)) |peer| {
            try writer.writeByte(' ');
            try writeFigure(writer, 11, if (row.peers.get(peer)) |figures| figures.nsPerOp() else null);
        }
        if (rust != null) {
            try writer.writeByte(' ');
            try writeFigure(writer, 9, rustFigure(rust, row.scenario, null));
            try writer.writeByte(' ');
            try writeFigure(writer, 9, rustFigure(rust, row.scenario, "tokio"));
        }
        try writer.print(" {d:>7.1} {d:>7.2}  ", .{ row.ours.bytesPerOp(), row.ours.allocationsPerOp() });
        var buffer: Peers = undefined;
        if (best(peers(&buffer, row, rust))) |peer| {
            const ratio = peer.ns / row.ours.nsPerOp();
            try writer.print("{s} ({d:.2})\n", .{ if (ratio >= 1) "blitz-io" else peer.name, ratio });
        } else try writer.writeAll("-\n");
    }
    if (!memory.is_supported) try writer.writeAll("\nAllocations are counted with glibc only.\n");
}

fn writeFigure(writer: *Writer, comptime width: usize, figure: ?f64) !void {
    if (figure) |value| return writer.print("{d:>[1].1}", .{ value, width });
    try writer.print("{s:>[1]}", .{ "-", width });
}

fn writeJson(writer: *Writer, rows: []const Measured, settings: scenario.Settings, rust: ?std.json.Value) !void {
    var json: std.json.Stringify = .{ .writer = writer, .options = .{ .whitespace = .indent_2 } };
    try json.beginObject();
    try json.objectField("metadata");
    try json.write(.{
        .runtime = "blitz-io",
        .version = blitz.version(),
        .sync_ops = scenario.sync_ops / settings.divisor,
        .channel_ops = scenario.channel_ops / settings.divisor,
        .async_ops = scenario.task_ops / settings.divisor,
        .iterations = settings.iterations,
        .warmup = settings.warmup,
        .workers = scenario.Settings.workers,
        .language = "zig",
    });
    try json.objectField("benchmarks");
    try json.beginObject();
    for (rows) |row| {
        try json.objectField(row.scenario.id);
        try json.beginObject();
        try json.objectField("tier");
        try json.write(row.scenario.tier);
        try json.objectField("title");
        try json.write(row.scenario.title);
        try writeFigures(&json, row.ours);
        try json.objectField("peers");
        try json.beginObject();
        for (std.enums.values(scenario.Peer)) |peer| if (row.peers.get(peer)) |figures| {
            try json.objectField(@tagName(peer));
            try json.beginObject();
            try writeFigures(&json, figures);
            try json.endObject();
        };
        if (rustFigure(rust, row.scenario, "tokio")) |ns| {
            try json.objectField("tokio");
            try json.write(.{ .ns_per_op = ns });
        }
        try json.endObject();
        var buffer: Peers = undefined;
        if (best(peers(&buffer, row, rust))) |peer| {
            const ratio = peer.ns / row.ours.nsPerOp();
            try json.objectField("best_peer");
            try json.write(peer.name);
            try json.objectField("ratio");
            try json.write(ratio);
            try json.objectField("winner");
            try json.write(if (ratio >= 1) "blitz-io" else peer.name);
        }
        try json.endObject();
    }
    try json.endObject();
    try json.endObject();
    try writer.writeByte('\n');
}

fn writeFigures(json: *std.json.Stringify, figures: scenario.Figures) !void {
    const fields = .{
        .ns_per_op = figures.nsPerOp(),
        .ops_per_sec = 1e9 / figures.nsPerOp(),
        .median_ns = figures.median_ns,
        .min_ns = figures.min_ns,
        .ops_per_iter = figures.ops,
        .bytes_per_op = figures.bytesPerOp(),
        .allocs_per_op = figures.allocationsPerOp(),
        .verified = true,
    };
    inline for (comptime std.meta.fieldNames(@TypeOf(fields))) |name| {
        try json.objectField(name);
        try json.write(@field(fields, name));
    }
}
