//! The statistics of the Rust benchmark: medians, and bootstrap intervals of their ratio. With the same
//! seed the same samples give the same interval as there.

const std = @import("std");
const Allocator = std.mem.Allocator;

/// Number of draws of the bootstrap.
const draws = 10_000;

/// A 95 % interval of a ratio.
pub const Interval = struct {
    low: f64,
    high: f64,

    /// Returns the position of the interval relative to 1.
    pub fn verdict(interval: Interval) Verdict {
        if (interval.low > 1) return .above;
        return if (interval.high < 1) .below else .tie;
    }
};

/// The conclusion from an interval.
pub const Verdict = enum { above, below, tie };

/// How the samples of two contenders belong together.
pub const Samples = enum {
    /// Sample `i` of one and sample `i` of the other were measured one after the other.
    paired,
    /// They come from two runs.
    unpaired,
};

/// Returns the median; of an even count, the mean of the two in the middle. Sorts the values.
pub fn median(values: []f64) f64 {
    std.mem.sort(f64, values, {}, std.sort.asc(f64));
    const middle = values.len / 2;
    return if (values.len % 2 == 1) values[middle] else (values[middle - 1] + values[middle]) / 2;
}

/// Returns the 95 % interval of the median of `over` divided by that of `under`. Asserts that there are
/// samples, and as many of both if they are paired.
pub fn ratio(gpa: Allocator, over: []const f64, under: []const f64, samples: Samples) Allocator.Error!Interval {
    std.debug.assert(over.len > 0 and under.len > 0);
    std.debug.assert(samples == .unpaired or over.len == under.len);
    const ratios = try gpa.alloc(f64, draws);
    defer gpa.free(ratios);
    const a = try gpa.alloc(f64, over.len);
    defer gpa.free(a);
    const b = try gpa.alloc(f64, under.len);
    defer gpa.free(b);
    var random: Random = .{};
    for (ratios) |*drawn| {
        switch (samples) {
            .paired => for (a, b) |*x, *y| {
                const pair = random.below(over.len);
                x.* = over[pair];
                y.* = under[pair];
            },
            .unpaired => {
                for (a) |*x| x.* = over[random.below(over.len)];
                for (b) |*y| y.* = under[random.below(under.len)];
            },
        }
        drawn.* = median(a) / median(b);
    }
    std.mem.sort(f64, ratios, {}, std.sort.asc(f64));
    const cut = draws / 40;
    return .{ .low = ratios[cut], .high = ratios[draws - 1 - cut] };
}

/// SplitMix64.
const Random = struct {
    state: u64 = 0x6C62_272E_07BB_0142,

    fn next(random: *Random) u64 {
        random.state +%= 0x9E37_79B9_7F4A_7C15;
        var z = random.state;
        z = (z ^ (z >> 30)) *% 0xBF58_476D_1CE4_E5B9;
        z = (z ^ (z >> 27)) *% 0x94D0_49BB_1331_11EB;
        return z ^ (z >> 31);
    }

    fn below(random: *Random, bound: usize) usize {
        return @intCast((@as(u128, random.next()) * bound) >> 64);
    }
};
