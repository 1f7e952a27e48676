//! The benchmark: tiers 1 to 3, fibers and echoes, against `std.Io.Threaded`, `std.Io.Evented` and `std.Thread`
//! in the same process, and with `--compare FILE` against Tokio as the Rust benchmark has measured it.

const std = @import("std");
const blitz = @import("blitz_io");
const document = @import("document.zig");
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
        try rows.append(arena, try scenario.measure(arena, row, cx, options.settings));
    }
    var buffer: [4096]u8 = undefined;
    var stdout: std.Io.File.Writer = .initStreaming(.stdout(), init.io, &buffer);
    const writer = &stdout.interface;
    const run: document.Document = try .of(arena, init.io, rows.items, options.settings, rust);
    if (options.json) {
        try std.json.Stringify.value(run, .{ .whitespace = .indent_2 }, writer);
        try writer.writeByte('\n');
    } else {
        try writeTable(writer, run.benchmarks.map.values(), rust != null);
    }
    try writer.flush();
    return 0;
}

fn readJson(io: std.Io, arena: std.mem.Allocator, path: []const u8) !std.json.Value {
    const text = try std.Io.Dir.cwd().readFileAlloc(io, path, arena, .limited(16 << 20));
    return std.json.parseFromSliceLeaky(std.json.Value, arena, text, .{});
}

fn writeTable(writer: *Writer, rows: []const document.Row, with_rust: bool) !void {
    var tier: u8 = 0;
    var score: Score = .{};
    for (rows) |row| {
        if (row.tier != tier) {
            tier = row.tier;
            try writer.print("\nTier {d}, ns per operation\n", .{tier});
            try writer.print("{s:<34} {s:>9}", .{ "", "blitz-io" });
            for (std.enums.values(scenario.Peer)) |peer| try writer.print(" {s:>11}", .{@tagName(peer)});
            if (with_rust) try writer.print(" {s:>9} {s:>9}", .{ "our Rust", "tokio" });
            try writer.print(" {s:>7} {s:>7}  winner\n", .{ "B/op", "alloc" });
        }
        try writer.print("{s:<34} {d:>9.1}", .{ row.title, row.ours.ns_per_op });
        for (std.enums.values(scenario.Peer)) |peer| try writeFigure(writer, 11, figureOf(row, @tagName(peer)));
        if (with_rust) {
            try writeFigure(writer, 9, row.our_rust);
            try writeFigure(writer, 9, figureOf(row, "tokio"));
        }
        try writer.print(" {d:>7.1} {d:>7.2}  ", .{ row.ours.bytes_per_op, row.ours.allocs_per_op });
        score.add(row);
        if (row.winner) |winner| try writer.print("{s} ({d:.2})\n", .{ winner, row.ratio.? }) else try writer.writeAll("-\n");
    }
    try writer.print("\n{d} won, {d} tied, {d} lost, {d} without a peer\n", .{ score.won, score.tied, score.lost, score.alone });
    try writer.writeAll("In parentheses: the best peer's figure divided by ours. A tie: its 95 % interval contains 1.\n");
    if (!memory.is_supported) try writer.writeAll("Allocations are counted with glibc only.\n");
}

/// The numbers of rows that were won, tied and lost, and of those without a peer.
const Score = struct {
    won: usize = 0,
    tied: usize = 0,
    lost: usize = 0,
    alone: usize = 0,

    fn add(score: *Score, row: document.Row) void {
        const winner = row.winner orelse {
            score.alone += 1;
            return;
        };
        if (std.mem.eql(u8, winner, "tie")) {
            score.tied += 1;
        } else if (std.mem.eql(u8, winner, "blitz-io")) {
            score.won += 1;
        } else score.lost += 1;
    }
};

fn figureOf(row: document.Row, peer: []const u8) ?f64 {
    const figures = row.peers.map.get(peer) orelse return null;
    return figures.ns_per_op;
}

fn writeFigure(writer: *Writer, comptime width: usize, figure: ?f64) !void {
    try writer.writeByte(' ');
    if (figure) |value| return writer.print("{d:>[1].1}", .{ value, width });
    try writer.print("{s:>[1]}", .{ "-", width });
}
