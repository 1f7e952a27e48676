//! A run as the JSON document of `blitz bench --json`: the same fields with the same meaning, and
//! `language` in the metadata.

const std = @import("std");
const builtin = @import("builtin");
const blitz = @import("blitz_io");
const scenario = @import("scenario.zig");
const stats = @import("stats.zig");
const Allocator = std.mem.Allocator;
const Value = std.json.Value;

/// One run.
pub const Document = struct {
    metadata: Metadata,
    interrupted: bool = false,
    heap_bytes_per_op: ?HeapBytes,
    benchmarks: std.json.ArrayHashMap(Row),

    /// Judges the rows. `rust` is the document of the Rust benchmark, if there is one.
    pub fn of(
        arena: Allocator,
        io: std.Io,
        measured: []const scenario.Measured,
        settings: scenario.Settings,
        rust: ?Value,
    ) !Document {
        var document: Document = .{
            .metadata = try .describe(arena, io, settings),
            .heap_bytes_per_op = null,
            .benchmarks = .{},
        };
        for (measured) |row| try document.benchmarks.map.put(arena, row.scenario.id, try .of(arena, row, rust));
        document.heap_bytes_per_op = .of(document.benchmarks.map.values());
        return document;
    }
};

/// The program that ran, and its machine.
pub const Metadata = struct {
    runtime: []const u8 = "blitz-io",
    version: []const u8,
    sync_ops: u64,
    channel_ops: u64,
    async_ops: u64,
    iterations: usize,
    warmup: usize,
    workers: usize = scenario.Settings.workers,
    cpu: []const u8,
    cores: usize,
    os: []const u8 = @tagName(builtin.os.tag) ++ " " ++ @tagName(builtin.cpu.arch),
    kernel: []const u8,
    hog: usize = 0,
    cpus: []const usize = &.{},
    measured_at: []const u8,
    language: []const u8 = "zig",

    fn describe(arena: Allocator, io: std.Io, settings: scenario.Settings) !Metadata {
        return .{
            .version = blitz.version(),
            .sync_ops = scenario.sync_ops / settings.divisor,
            .channel_ops = scenario.channel_ops / settings.divisor,
            .async_ops = scenario.task_ops / settings.divisor,
            .iterations = settings.iterations,
            .warmup = settings.warmup,
            .cpu = cpuName(arena, io) orelse "unknown " ++ @tagName(builtin.cpu.arch),
            .cores = std.Thread.getCpuCount() catch 1,
            .kernel = try kernel(arena),
            .measured_at = try now(arena, io),
        };
    }
};

fn cpuName(arena: Allocator, io: std.Io) ?[]const u8 {
    const file = std.Io.Dir.cwd().openFile(io, "/proc/cpuinfo", .{}) catch return null;
    defer file.close(io);
    // The file has no length.
    var buffer: [4096]u8 = undefined;
    var reader = file.readerStreaming(io, &buffer);
    const text = reader.interface.allocRemaining(arena, .limited(1 << 20)) catch return null;
    var lines = std.mem.splitScalar(u8, text, '\n');
    while (lines.next()) |line| {
        if (!std.mem.startsWith(u8, line, "model name") and !std.mem.startsWith(u8, line, "Model")) continue;
        const colon = std.mem.findScalar(u8, line, ':') orelse return null;
        return std.mem.trim(u8, line[colon + 1 ..], " \t");
    }
    return null;
}

fn kernel(arena: Allocator) Allocator.Error![]const u8 {
    const name = std.posix.uname();
    return arena.dupe(u8, std.mem.sliceTo(&name.release, 0));
}

/// The time in UTC, to the second.
fn now(arena: Allocator, io: std.Io) Allocator.Error![]const u8 {
    const seconds: u64 = @intCast(std.Io.Clock.real.now(io).toSeconds());
    const since: std.time.epoch.EpochSeconds = .{ .secs = seconds };
    const year = since.getEpochDay().calculateYearDay();
    const day = year.calculateMonthDay();
    const time = since.getDaySeconds();
    return std.fmt.allocPrint(arena, "{d:0>4}-{d:0>2}-{d:0>2}T{d:0>2}:{d:0>2}:{d:0>2}Z", .{
        year.year,              day.month.numeric(),       day.day_index + 1,
        time.getHoursIntoDay(), time.getMinutesIntoHour(), time.getSecondsIntoMinute(),
    });
}

/// The figures of one contender.
pub const Figures = struct {
    ns_per_op: f64,
    ops_per_sec: f64,
    median_ns: u64,
    min_ns: u64,
    ops_per_iter: u64,
    bytes_per_op: f64,
    allocs_per_op: f64,
    verified: bool,
    /// The time of an operation in each iteration, in order.
    samples: []const f64,

    fn of(arena: Allocator, measured: scenario.Figures) Allocator.Error!Figures {
        const ops: f64 = @floatFromInt(measured.ops);
        const samples = try arena.alloc(f64, measured.samples.len);
        for (samples, measured.samples) |*per_op, ns| per_op.* = @as(f64, @floatFromInt(ns)) / ops;
        const median = stats.median(try arena.dupe(f64, samples));
        return .{
            .ns_per_op = median,
            .ops_per_sec = 1e9 / median,
            .median_ns = @round(median * ops),
            .min_ns = std.mem.min(u64, measured.samples),
            .ops_per_iter = measured.ops,
            .bytes_per_op = @as(f64, @floatFromInt(measured.memory.bytes)) / ops,
            .allocs_per_op = @as(f64, @floatFromInt(measured.memory.allocations)) / ops,
            .verified = true,
            .samples = samples,
        };
    }
};

/// One scenario.
pub const Row = struct {
    tier: u8,
    title: []const u8,
    threads: usize,
    compares: []const u8 = "ns_per_op",
    ours: Figures,
    peers: std.json.ArrayHashMap(Figures) = .{},
    best_peer: ?[]const u8 = null,
    ratio: ?f64 = null,
    ratio_ci95: ?[2]f64 = null,
    winner: ?[]const u8 = null,
    /// Our own figure in Rust. Not in the JSON.
    our_rust: ?f64 = null,

    fn of(arena: Allocator, measured: scenario.Measured, rust: ?Value) !Row {
        var row: Row = .{
            .tier = measured.scenario.tier,
            .title = measured.scenario.title,
            .threads = measured.scenario.threads(),
            .ours = try .of(arena, measured.ours),
        };
        for (std.enums.values(scenario.Peer)) |peer| if (measured.peers.get(peer)) |figures| {
            try row.peers.map.put(arena, @tagName(peer), try .of(arena, figures));
        };
        if (rustRow(rust, measured.scenario)) |there| {
            row.our_rust = (try parse(arena, there)).ns_per_op;
            const theirs = member(member(there, "peers"), tokio);
            if (theirs) |figures| try row.peers.map.put(arena, tokio, try parse(arena, figures));
        }
        try row.judge(arena);
        return row;
    }

    /// A difference that the table does not show, in nanoseconds: less than half a cycle.
    const resolution = 0.1;

    /// Compares with the fastest peer. The row is a tie if the interval of the ratio contains 1. Two processes
    /// may lay a loop out differently, which costs parts of a cycle: against Tokio, a difference below the
    /// resolution of the table is a tie too.
    fn judge(row: *Row, arena: Allocator) Allocator.Error!void {
        var best: ?[]const u8 = null;
        for (row.peers.map.keys(), row.peers.map.values()) |name, figures| {
            if (best == null or figures.ns_per_op < row.peers.map.get(best.?).?.ns_per_op) best = name;
        }
        const name = best orelse return;
        const peer = row.peers.map.get(name).?;
        // Tokio was measured in another process.
        const samples: stats.Samples = if (std.mem.eql(u8, name, tokio)) .unpaired else .paired;
        const interval = try stats.ratio(arena, peer.samples, row.ours.samples, samples);
        row.best_peer = name;
        row.ratio = peer.ns_per_op / row.ours.ns_per_op;
        row.ratio_ci95 = .{ interval.low, interval.high };
        const is_same = samples == .unpaired and @abs(peer.ns_per_op - row.ours.ns_per_op) < resolution;
        row.winner = if (is_same) "tie" else switch (interval.verdict()) {
            .above => "blitz-io",
            .below => name,
            .tie => "tie",
        };
    }

    /// Writes the row with the fields of `ours` in it.
    pub fn jsonStringify(row: Row, json: anytype) !void {
        try json.beginObject();
        try writeFields(json, row, &.{ "tier", "title", "threads", "compares" });
        try writeFields(json, row.ours, comptime std.meta.fieldNames(Figures));
        try writeFields(json, row, &.{ "peers", "best_peer", "ratio", "ratio_ci95", "winner" });
        try json.endObject();
    }
};

fn writeFields(json: anytype, value: anytype, comptime names: []const []const u8) !void {
    inline for (names) |name| {
        try json.objectField(name);
        try json.write(@field(value, name));
    }
}

const tokio = "tokio";

/// The row of the Rust benchmark with which a scenario is compared.
fn rustRow(rust: ?Value, of: scenario.Scenario) ?Value {
    return member(member(rust, "benchmarks"), of.rust orelse of.id);
}

fn member(value: ?Value, name: []const u8) ?Value {
    return switch (value orelse return null) {
        .object => |object| object.get(name),
        else => null,
    };
}

/// Reads figures of the Rust benchmark, which may have more fields.
fn parse(arena: Allocator, value: Value) !Figures {
    return std.json.parseFromValueLeaky(Figures, arena, value, .{ .ignore_unknown_fields = true });
}

/// Bytes allocated for an operation: the means of the rows of tiers 1 to 3 that Tokio has too.
pub const HeapBytes = struct {
    rows: usize = 0,
    @"blitz-io": f64 = 0,
    tokio: f64 = 0,
    ratio: ?f64 = null,

    fn of(rows: []const Row) ?HeapBytes {
        var heap: HeapBytes = .{};
        for (rows) |row| {
            if (row.tier > 3) continue;
            const theirs = row.peers.map.get(tokio) orelse continue;
            heap.rows += 1;
            heap.@"blitz-io" += row.ours.bytes_per_op;
            heap.tokio += theirs.bytes_per_op;
        }
        if (heap.rows == 0) return null;
        const count: f64 = @floatFromInt(heap.rows);
        heap.@"blitz-io" /= count;
        heap.tokio /= count;
        if (heap.@"blitz-io" > 0) heap.ratio = heap.tokio / heap.@"blitz-io";
        return heap;
    }
};
