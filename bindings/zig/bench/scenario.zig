//! Scenarios, and the measurement of their contenders.

const std = @import("std");
const blitz = @import("blitz_io");
const evented = @import("evented.zig");
const memory = @import("memory.zig");

/// The extent of a measurement.
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

/// The parameters of a contender.
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

/// Zig's own implementations, which are measured in this process.
pub const Peer = enum {
    /// `std.Io.Threaded`.
    @"io-threaded",
    /// `std.Io.Evented`.
    @"io-evented",
    /// Threads of `std.Thread`.
    @"std-thread",
};

/// An operation that is measured.
pub const Scenario = struct {
    tier: u8,
    id: []const u8,
    title: []const u8,
    ops: u64,
    ours: Body,
    /// The operation with `std.Io`, if it has one.
    io: ?Body = null,
    /// The operation with `std.Thread`, if it has one.
    thread: ?Body = null,
    /// Worker threads, those of `std.Io.Evented` too. 0: one for each processor.
    workers: usize = Settings.workers,
    /// `std.Io.Evented` implements the functions that `io` calls.
    on_evented: bool = true,
    /// The row of the Rust benchmark with which `compare` compares; null is `id`.
    rust: ?[]const u8 = null,

    /// Returns the number of threads that work at the same time.
    pub fn threads(scenario: Scenario) usize {
        if (scenario.tier < 3) return 1;
        return if (scenario.workers == 0) std.Thread.getCpuCount() catch 1 else scenario.workers;
    }

    fn bodyOf(scenario: Scenario, peer: Peer) ?Body {
        return switch (peer) {
            .@"io-threaded" => scenario.io,
            .@"io-evented" => if (evented.is_supported and scenario.on_evented) scenario.io else null,
            .@"std-thread" => scenario.thread,
        };
    }
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
    /// The time of each iteration, in order.
    samples: []const u64,
    ops: u64,
    memory: memory.Counts,
};

/// The figures of a scenario.
pub const Measured = struct {
    scenario: Scenario,
    ours: Figures,
    peers: std.EnumArray(Peer, ?Figures),
};

/// Runs a scenario: the contenders take turns, and the first turn goes to another contender in each
/// iteration. The samples are the caller's.
pub fn measure(gpa: std.mem.Allocator, scenario: Scenario, base: Context, settings: Settings) !Measured {
    var cx = base;
    cx.ops = @max(1, scenario.ops / settings.divisor);
    var storage: [1 + std.enums.values(Peer).len]Contender = undefined;
    var contenders: std.ArrayList(Contender) = .initBuffer(&storage);
    contenders.appendAssumeCapacity(.{ .peer = null, .body = scenario.ours });
    for (std.enums.values(Peer)) |peer| {
        if (scenario.bodyOf(peer)) |body| contenders.appendAssumeCapacity(.{ .peer = peer, .body = body });
    }
    const all = contenders.items;
    for (0..settings.warmup + settings.iterations) |iteration| {
        for (0..all.len) |turn| {
            const contender = &all[(iteration + turn) % all.len];
            const counted = try contender.iterate(&cx, scenario.workers, iteration + 1 == settings.warmup);
            if (counted.memory) |counts| contender.memory = counts;
            contender.ops = counted.sample.ops;
            if (iteration >= settings.warmup) try contender.samples.append(gpa, counted.sample.ns);
        }
    }
    var measured: Measured = .{ .scenario = scenario, .ours = all[0].figures(), .peers = .initFill(null) };
    for (all[1..]) |*contender| measured.peers.set(contender.peer.?, contender.figures());
    return measured;
}

/// The result of one iteration, and its allocations, if they were counted.
pub const Counted = struct {
    sample: Sample,
    memory: ?memory.Counts,
};

/// Runs a body once.
pub fn run(body: Body, cx: *const Context, counts: bool) anyerror!Counted {
    if (counts) memory.begin();
    const sample = try body(cx);
    return .{ .sample = sample, .memory = if (counts) memory.end() else null };
}

const Contender = struct {
    /// null is this package.
    peer: ?Peer,
    body: Body,
    samples: std.ArrayList(u64) = .empty,
    memory: memory.Counts = .{},
    ops: u64 = 0,

    fn iterate(contender: *const Contender, cx: *const Context, workers: usize, counts: bool) !Counted {
        if (contender.peer == .@"io-evented") return evented.run(contender.body, cx, workers, counts);
        return run(contender.body, cx, counts);
    }

    fn figures(contender: *const Contender) Figures {
        return .{ .samples = contender.samples.items, .ops = contender.ops, .memory = contender.memory };
    }
};
