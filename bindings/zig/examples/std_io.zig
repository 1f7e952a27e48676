//! A program written against `std.Io` alone. It runs unchanged on `std.Io.Threaded` and on our
//! runtime.

const std = @import("std");
const Io = std.Io;
const blitz = @import("blitz_io");

/// Doubles numbers that come through a queue, in several tasks, and returns the sum.
fn program(io: Io) !u64 {
    var numbers_buffer: [8]u64 = undefined;
    var results_buffer: [8]u64 = undefined;
    var numbers: Io.Queue(u64) = .init(&numbers_buffer);
    var results: Io.Queue(u64) = .init(&results_buffer);

    var workers: Io.Group = .init;
    defer workers.cancel(io);
    for (0..4) |_| try workers.concurrent(io, double, .{ io, &numbers, &results });
    var producer = try io.concurrent(produce, .{ io, &numbers });
    defer producer.cancel(io) catch {};

    var sum: u64 = 0;
    for (0..1000) |_| sum += try results.getOne(io);
    try producer.await(io);
    try workers.await(io);
    return sum;
}

fn produce(io: Io, numbers: *Io.Queue(u64)) !void {
    defer numbers.close(io);
    for (0..1000) |number| try numbers.putOne(io, number);
}

fn double(io: Io, numbers: *Io.Queue(u64), results: *Io.Queue(u64)) Io.Cancelable!void {
    while (numbers.getOne(io)) |number| {
        results.putOne(io, 2 * number) catch return;
    } else |err| switch (err) {
        error.Closed => {},
        error.Canceled => |e| return e,
    }
}

pub fn main() !void {
    const gpa = std.heap.smp_allocator;

    var threaded: Io.Threaded = .init(gpa, .{});
    defer threaded.deinit();
    const on_threads = try program(threaded.io());

    var instance: blitz.Io = .init(gpa, .{});
    defer instance.deinit();
    const on_fibers = try program(instance.io());

    std.debug.print("std.Io.Threaded: {d}, blitz-io: {d}\n", .{ on_threads, on_fibers });
    if (on_threads != 999_000 or on_fibers != on_threads) return error.WrongSum;
}
