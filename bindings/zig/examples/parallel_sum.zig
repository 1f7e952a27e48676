//! Sums numbers in parallel: a loop over parts, and halves that are joined.

const std = @import("std");
const blitz = @import("blitz_io");

pub fn main(init: std.process.Init) !void {
    const numbers = try init.gpa.alloc(u64, 1_000_000);
    defer init.gpa.free(numbers);
    try blitz.parallelFor(.{ .end = numbers.len }, numbers, fill);

    var total: std.atomic.Value(u64) = .init(0);
    try blitz.parallelFor(.{ .end = numbers.len }, Sum{ .numbers = numbers, .total = &total }, Sum.add);

    const expected = numbers.len * (numbers.len - 1) / 2;
    if (total.load(.seq_cst) != expected) return error.WrongSum;
    if (try sum(numbers) != expected) return error.WrongSum;
    std.debug.print("the sum of {d} numbers is {d}, with {d} threads\n", .{
        numbers.len, expected, blitz.Pool.default.threads(),
    });
}

fn fill(numbers: []u64, begin: usize, end: usize) void {
    for (numbers[begin..end], begin..) |*number, i| number.* = i;
}

const Sum = struct {
    numbers: []const u64,
    total: *std.atomic.Value(u64),

    fn add(sum_: Sum, begin: usize, end: usize) void {
        var part: u64 = 0;
        for (sum_.numbers[begin..end]) |number| part += number;
        _ = sum_.total.fetchAdd(part, .monotonic);
    }
};

/// Adds the halves of the numbers in parallel, and the halves of these again.
fn sum(numbers: []const u64) blitz.pool.Error!u64 {
    if (numbers.len < 10_000) {
        var part: u64 = 0;
        for (numbers) |number| part += number;
        return part;
    }
    const middle = numbers.len / 2;
    const halves = try blitz.Pool.default.join(sum, .{numbers[0..middle]}, sum, .{numbers[middle..]});
    return try halves[0] + try halves[1];
}
