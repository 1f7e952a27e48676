//! A benchmark of a lock of your own against `blitz.Mutex`, with the rules of our own benchmark: both do the same
//! work, they take turns, each iteration is verified, and the result is a median.

const std = @import("std");
const blitz = @import("blitz_io");

// ANCHOR: yours
/// The lock that you have written: threads take numbers, and wait for theirs.
const TicketLock = struct {
    next: std.atomic.Value(u32) = .init(0),
    serving: std.atomic.Value(u32) = .init(0),

    const init: TicketLock = .{};

    fn lock(ticket: *TicketLock) void {
        const mine = ticket.next.fetchAdd(1, .monotonic);
        while (ticket.serving.load(.acquire) != mine) std.Thread.yield() catch {};
    }

    fn unlock(ticket: *TicketLock) void {
        ticket.serving.store(ticket.serving.raw + 1, .release);
    }
};
// ANCHOR_END: yours

// ANCHOR: body
/// Threads that work at the same time, and the operations of each.
const threads = 2;
const each = 20_000;

/// One iteration: returns its time in nanoseconds, or an error if an increment was lost.
fn iterate(comptime Lock: type) !u64 {
    const Shared = struct {
        lock: Lock = .init,
        count: u64 = 0,
        start: blitz.Barrier = .init(threads + 1),

        fn work(shared: *@This()) void {
            _ = shared.start.wait() catch unreachable;
            for (0..each) |_| {
                shared.lock.lock();
                shared.count += 1;
                shared.lock.unlock();
            }
        }
    };
    var shared: Shared = .{};
    var workers: [threads]std.Thread = undefined;
    for (&workers) |*worker| worker.* = try std.Thread.spawn(.{}, Shared.work, .{&shared});
    // The clock runs from the moment at which all threads are there.
    _ = try shared.start.wait();
    const begin = blitz.Deadline.now().ns();
    for (workers) |worker| worker.join();
    const time = blitz.Deadline.now().ns() - begin;
    if (shared.count != threads * each) return error.WorkLost;
    return time;
}
// ANCHOR_END: body

// ANCHOR: turns
const warmups = 2;
const iterations = 10;

pub fn main() !void {
    const contenders = .{ .{ "yours", TicketLock }, .{ "blitz-io", blitz.Mutex } };
    var times: [contenders.len][iterations]u64 = undefined;
    for (0..warmups + iterations) |iteration| {
        // They take turns, so that what else the machine does disturbs both alike.
        inline for (contenders, &times) |contender, *samples| {
            const time = try iterate(contender[1]);
            if (iteration >= warmups) samples[iteration - warmups] = time;
        }
    }
    inline for (contenders, &times) |contender, *samples| {
        std.mem.sort(u64, samples, {}, std.sort.asc(u64));
        const median: f64 = @floatFromInt(samples[iterations / 2]);
        std.debug.print("{s}: {d:.1} ns for a lock and an unlock\n", .{ contender[0], median / (threads * each) });
    }
}
// ANCHOR_END: turns
