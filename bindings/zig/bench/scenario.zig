//! What a scenario is, and how its contenders are run.

const std = @import("std");
const blitz = @import("blitz_io");
const memory = @import("memory.zig");

/// How much is measured.
pub const Settings = struct {
    /// Iterations that are discarded. The last of them counts allocations.
    warmup: usize = 5,
    /// Iterations that count.
    iterations: usize = 10,
    /// Every iteration runs this part of the full number of operations.
    divisor: u64 = 1,

    /// Worker threads of tier 3.
    pub const workers = 4;
};

/// What a contender gets.
pub const Context = struct {
    ops: u64,
    gpa: std.mem.Allocator,
    runtime: *blitz.Runtime,
    io: std.Io,
};

/// The result of one iteration.
pub const Sample = struct {
    ns: u64,
    ops: u64,
};

/// One iteration of a contender. It verifies its work.
pub const Body = *const fn (cx: *const Context) anyerror!Sample;

/// An operation that is measured.
pub const Scenario = struct {
    tier: u8,
    id: []const u8,
    title: []const u8,
    ops: u64,
    ours: Body,
    /// The same operation with `std.Io.Threaded`, if it has one.
    threaded: ?Body = null,
    /// The row of the Rust benchmark with which `compare` compares; null is `id`.
    rust: ?[]const u8 = null,
};

/// Operations of one iteration, by tier.
pub const sync_ops = 1_000_000;
pub const channel_ops = 100_000;
pub const task_ops = 10_000;

/// A clock that began.
pub const Timer = struct {
    begin: u64,

    pub fn start() Timer {
        return .{ .begin = blitz.Deadline.now().ns() };
    }

    pub fn sample(timer: Timer, ops: u64) Sample {
        return .{ .ns = blitz.Deadline.now().ns() - timer.begin, .ops = ops };
    }
};

/// Fails if work was lost.
pub fn verify(expected: u64, found: u64) !void {
    if (expected == found) return;
    std.debug.print("verification: expected {d}, found {d}\n", .{ expected, found });
    return error.WorkLost;
}

/// The figures of one contender.
pub const Figures = struct {
    median_ns: u64,
    min_ns: u64,
    ops: u64,
    memory: memory.Counts,

    pub fn nsPerOp(figures: Figures) f64 {
        return ratio(figures.median_ns, figures.ops);
    }

    pub fn bytesPerOp(figures: Figures) f64 {
        return ratio(figures.memory.bytes, figures.ops);
    }

    pub fn allocationsPerOp(figures: Figures) f64 {
        return ratio(figures.memory.allocations, figures.ops);
    }

    fn ratio(a: u64, b: u64) f64 {
        return @as(f64, @floatFromInt(a)) / @as(f64, @floatFromInt(b));
    }
};

/// The figures of a scenario.
pub const Measured = struct {
    scenario: Scenario,
    ours: Figures,
    threaded: ?Figures,
};

/// Runs a scenario: the contenders take turns, and who goes first changes with each iteration.
pub fn measure(scenario: Scenario, base: Context, settings: Settings) !Measured {
    var cx = base;
    cx.ops = @max(1, scenario.ops / settings.divisor);
    var contenders: [2]Contender = .{
        .{ .body = scenario.ours },
        .{ .body = scenario.threaded orelse scenario.ours },
    };
    const count: usize = if (scenario.threaded == null) 1 else 2;
    defer for (&contenders) |*contender| contender.samples.deinit(cx.gpa);
    for (0..settings.warmup + settings.iterations) |iteration| {
        for (0..count) |turn| {
            const contender = &contenders[(iteration + turn) % count];
            if (iteration + 1 == settings.warmup) memory.begin();
            const sample = try contender.body(&cx);
            if (iteration + 1 == settings.warmup) contender.memory = memory.end();
            contender.ops = sample.ops;
            if (iteration >= settings.warmup) try contender.samples.append(cx.gpa, sample.ns);
        }
    }
    return .{
        .scenario = scenario,
        .ours = contenders[0].figures(),
        .threaded = if (count == 2) contenders[1].figures() else null,
    };
}

const Contender = struct {
    body: Body,
    samples: std.ArrayList(u64) = .empty,
    memory: memory.Counts = .{},
    ops: u64 = 0,

    fn figures(contender: *Contender) Figures {
        const samples = contender.samples.items;
        std.mem.sort(u64, samples, {}, std.sort.asc(u64));
        return .{
            .median_ns = samples[samples.len / 2],
            .min_ns = samples[0],
            .ops = contender.ops,
            .memory = contender.memory,
        };
    }
};
