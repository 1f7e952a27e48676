//! A participant in a segment that programs in four languages share, in Zig. README.md has the protocol.

const std = @import("std");
const blitz = @import("blitz_io");
const ipc = blitz.ipc;

const max_padding = 300;
const max_message = 4096;
const max_senders = 64;
const fnv_start: u64 = 0xcbf29ce484222325;

const Head = extern struct {
    origin: u64,
    size: u64,
    before: u64 = 0,
    sender: u64,
    number: u64,
    is_last: u64,
    checksum: u64 = 0,

    const part = 3 * @sizeOf(u64);

    fn padding(head: *const Head) usize {
        return @intCast((head.sender * 31 + head.number * 7) % max_padding);
    }

    fn sum(head: *const Head, bytes: []const u8) u64 {
        const words = [_]u64{ head.sender, head.number, head.is_last };
        return fnv(fnv(fnv_start, std.mem.sliceAsBytes(&words)), bytes);
    }
};

fn fnv(start: u64, bytes: []const u8) u64 {
    var hash = start;
    for (bytes) |byte| hash = (hash ^ byte) *% 0x100000001b3;
    return hash;
}

extern "c" fn getchar() c_int;

fn waitForLine() void {
    while (true) {
        const each = getchar();
        if (each == '\n' or each < 0) return;
    }
}

/// Writes a line to the standard output, in one piece.
fn say(comptime format: []const u8, values: anytype) !void {
    var buffer: [1024]u8 = undefined;
    const line = try std.fmt.bufPrint(&buffer, format ++ "\n", values);
    if (std.c.write(1, line.ptr, line.len) != line.len) return error.WriteFailed;
}

/// Joins, again while another participant joins, or while the sender before still holds the only place.
fn joined(comptime End: type, name: [:0]const u8, options: ipc.Options) !End {
    while (true) {
        const end = End.open(name, options) catch |err| switch (err) {
            error.Busy, error.Full => {
                try blitz.sleep(std.time.ns_per_ms);
                continue;
            },
            else => return err,
        };
        try say("joined", .{});
        return end;
    }
}

fn sendOne(sender: ipc.Sender, id: u64, number: u64, is_last: bool) !void {
    var head: Head = .{ .origin = id, .size = 0, .sender = id, .number = number, .is_last = @intFromBool(is_last) };
    const size = @sizeOf(Head) + head.padding();
    const room = try sender.loan(size, .never);
    for (room[@sizeOf(Head)..], 0..) |*byte, at| byte.* = @truncate(number + at);
    head.size = size - Head.part;
    head.checksum = head.sum(room[@sizeOf(Head)..]);
    @memcpy(room[0..@sizeOf(Head)], std.mem.asBytes(&head));
    try sender.sendLoan(size);
}

fn sendAll(name: [:0]const u8, options: ipc.Options, id: u64, phases: []const u64) !void {
    var sender = try joined(ipc.Sender, name, options);
    defer sender.deinit();
    var number: u64 = 0;
    for (phases, 0..) |count, phase| {
        waitForLine();
        const end = if (count == 0) std.math.maxInt(u64) else number + count;
        while (number < end) {
            try sendOne(sender, id, number, phase + 1 == phases.len and number + 1 == end);
            number += 1;
            if (number % 64 == 0) try say("at {d}", .{number});
        }
        try say("sent {d}", .{number});
    }
}

/// What a receiver has seen.
const Seen = struct {
    next: [max_senders]u64 = @splat(0),
    total: u64 = 0,
    ended: u64 = 0,
    order: u64 = fnv_start,

    fn takeIn(seen: *Seen, message: []const u8) !void {
        if (message.len < @sizeOf(Head)) return error.ShortMessage;
        var head: Head = undefined;
        @memcpy(std.mem.asBytes(&head), message[0..@sizeOf(Head)]);
        const padding = message[@sizeOf(Head)..];
        if (head.size != message.len - Head.part or head.before != 0 or head.sender >= max_senders or
            padding.len != head.padding() or head.checksum != head.sum(padding)) return error.TornMessage;
        const next = &seen.next[@intCast(head.sender)];
        if (head.number != next.*) return error.Gap;
        next.* += 1;
        const words = [_]u64{ head.sender, head.number };
        seen.order = fnv(seen.order, std.mem.sliceAsBytes(&words));
        seen.ended += head.is_last;
        seen.total += 1;
    }
};

fn receiveAll(name: [:0]const u8, options: ipc.Options, lasts: u64, stall: u64) !void {
    var receiver = try joined(ipc.Receiver, name, options);
    defer receiver.deinit();
    var seen: Seen = .{};
    while (seen.ended < lasts) {
        const message = receiver.take(.never) catch |err| switch (err) {
            // No sender has joined, or all have left: another one comes.
            error.Closed => {
                try blitz.sleep(std.time.ns_per_ms);
                continue;
            },
            else => return err,
        };
        try seen.takeIn(message);
        try receiver.release();
        if (seen.total % 64 == 0) try say("at {d}", .{seen.total});
        if (seen.total == stall) {
            try say("stalled", .{});
            waitForLine();
        }
    }
    var counts: [512]u8 = undefined;
    var len: usize = 0;
    for (seen.next, 0..) |count, id| if (count > 0) {
        len += (try std.fmt.bufPrint(counts[len..], " {d}:{d}", .{ id, count })).len;
    };
    try say("end {x:0>16}{s}", .{ seen.order, counts[0..len] });
}

pub fn main(init: std.process.Init) !void {
    const arena = init.arena.allocator();
    const args = try init.minimal.args.toSlice(arena);
    if (args.len < 6) return error.Usage;
    const is_route = std.mem.eql(u8, args[1], "route");
    const options: ipc.Options = .{
        .kind = if (is_route) .route else .channel,
        .capacity = 256,
        .max_len = max_message,
        .max_senders = if (is_route) 1 else 448,
    };
    var buffer: [256]u8 = undefined;
    const name = try std.fmt.bufPrintSentinel(&buffer, "libipc-..{s}", .{args[2]}, 0);
    const numbers = try arena.alloc(u64, args.len - 4);
    for (args[4..], numbers) |text, *number| number.* = try std.fmt.parseInt(u64, text, 10);
    if (std.mem.eql(u8, args[3], "send")) return sendAll(name, options, numbers[0], numbers[1..]);
    return receiveAll(name, options, numbers[0], numbers[1]);
}
