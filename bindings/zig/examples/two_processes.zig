//! Two processes: one sends numbers over a route in shared memory, the other sums them.
//!
//! The program starts itself again as the sender.

const std = @import("std");
const blitz = @import("blitz_io");
const ipc = blitz.ipc;

const count = 100_000;
const options: ipc.Options = .{ .kind = .route, .max_len = 64 };

pub fn main(init: std.process.Init) !void {
    const args = try init.minimal.args.toSlice(init.arena.allocator());
    if (args.len > 1) return sendAll(args[1]);

    var name: [64]u8 = undefined;
    const segment = try std.fmt.bufPrintSentinel(&name, "zig-example-{d}", .{std.os.linux.getpid()}, 0);
    var receiver = try ipc.Receiver.open(segment, options);
    defer receiver.deinit();

    const program = try std.process.executablePathAlloc(init.io, init.arena.allocator());
    var sender = try blitz.process.Child.spawn(.{
        .program = program,
        .arguments = &.{segment.ptr},
        .kill_on_deinit = true,
    });
    defer sender.deinit();

    var sum: u64 = 0;
    var received: u64 = 0;
    while (received < count) : (received += 1) {
        var buffer: [8]u8 = undefined;
        const message = try receiver.recv(&buffer);
        sum += std.mem.readInt(u64, message[0..8], .little);
    }
    const exit = try sender.wait(.never);
    if (!std.meta.eql(exit, .{ .status = 0 })) return error.SenderFailed;
    if (sum != count * (count - 1) / 2) return error.WrongSum;
    std.debug.print("received {d} messages of another process\n", .{received});
}

fn sendAll(segment: [:0]const u8) !void {
    var sender = try ipc.Sender.open(segment, options);
    defer sender.deinit();
    for (0..count) |i| {
        // Written in place: nothing is copied.
        const room = try sender.loan(8, .never);
        std.mem.writeInt(u64, room[0..8], i, .little);
        try sender.sendLoan(8);
    }
}
