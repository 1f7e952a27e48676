//! Channels between threads and fibers.
//!
//! Each channel has a sending and a receiving end, which `init` makes together. An end may move to
//! another thread or fiber; its owner ends it with `deinit`.
//!
//! | channel | senders | receivers | an element goes to |
//! |---|---|---|---|
//! | `Channel` | many | one | the receiver |
//! | `MpmcChannel` | many | many | one receiver |
//! | `Oneshot` | one, once | one | the receiver |
//! | `Broadcast` | many | many | every receiver |
//! | `Watch` | many | many | every receiver, which sees the latest only |
//!
//! Elements are copied as bytes, up to 1 GiB each. Elements that were not received when a channel
//! ends are dropped: if an element owns something, receive the rest first.

const std = @import("std");
const c = @import("c.zig");
const errors = @import("errors.zig");
const Deadline = @import("deadline.zig").Deadline;

/// The kinds of channels.
pub const Kind = enum { channel, mpmc, oneshot, broadcast, watch };

/// A capacity without a limit, for `Channel` and `MpmcChannel`.
pub const unbounded = c.BLITZ_UNBOUNDED;

/// A channel with many senders and one receiver. Sending waits while it is full.
///
/// ```zig
/// var channel = try Channel(u32).init(16);
/// defer channel.deinit();
/// try channel.sender.send(7);
/// const value = try channel.receiver.recv();
/// ```
pub fn Channel(comptime T: type) type {
    return struct {
        sender: Sender(T, .channel),
        receiver: Receiver(T, .channel),

        const Self = @This();

        /// Makes a channel with room for `capacity` elements, 1 to 16,777,216 or `unbounded`, else
        /// `error.InvalidArgument`.
        pub fn init(capacity: usize) error{InvalidArgument}!Self {
            var channel: Self = undefined;
            const result = c.blitz_mpsc_new(sizeOf(T), capacity, &channel.sender.raw, &channel.receiver.raw);
            try errors.check(error{InvalidArgument}, result);
            return channel;
        }

        /// Ends both ends, if neither has moved elsewhere.
        pub fn deinit(channel: *Self) void {
            channel.sender.deinit();
            channel.receiver.deinit();
        }
    };
}

/// A channel with many senders and many receivers; each element goes to one receiver. Sending waits
/// while it is full.
pub fn MpmcChannel(comptime T: type) type {
    return struct {
        sender: Sender(T, .mpmc),
        receiver: Receiver(T, .mpmc),

        const Self = @This();

        /// Makes a channel with room for `capacity` elements, up to 16,777,216 or `unbounded`, else
        /// `error.InvalidArgument`. With 0 a sender waits until a receiver has taken its element.
        pub fn init(capacity: usize) error{InvalidArgument}!Self {
            var channel: Self = undefined;
            const result = c.blitz_mpmc_new(sizeOf(T), capacity, &channel.sender.raw, &channel.receiver.raw);
            try errors.check(error{InvalidArgument}, result);
            return channel;
        }

        /// Ends both ends, if neither has moved elsewhere.
        pub fn deinit(channel: *Self) void {
            channel.sender.deinit();
            channel.receiver.deinit();
        }
    };
}

/// A channel for a single element. Sending does not wait; a second element gets `error.Closed`.
pub fn Oneshot(comptime T: type) type {
    return struct {
        sender: Sender(T, .oneshot),
        receiver: Receiver(T, .oneshot),

        const Self = @This();

        /// Makes a channel.
        pub fn init() Self {
            var channel: Self = undefined;
            errors.expectOk(c.blitz_oneshot_new(sizeOf(T), &channel.sender.raw, &channel.receiver.raw));
            return channel;
        }

        /// Ends both ends, if neither has moved elsewhere.
        pub fn deinit(channel: *Self) void {
            channel.sender.deinit();
            channel.receiver.deinit();
        }
    };
}

/// A channel whose receivers all get every element that is sent after they came. Sending does not
/// wait: a receiver that is too slow misses elements, and its next call returns `error.Lagged` once.
/// Without a receiver, sending returns `error.Closed`.
pub fn Broadcast(comptime T: type) type {
    return struct {
        sender: Sender(T, .broadcast),
        receiver: Receiver(T, .broadcast),

        const Self = @This();

        /// Makes a channel that keeps at least `capacity` elements, 1 to 16,777,216, else
        /// `error.InvalidArgument`.
        pub fn init(capacity: usize) error{InvalidArgument}!Self {
            var channel: Self = undefined;
            const result = c.blitz_broadcast_new(sizeOf(T), capacity, &channel.sender.raw, &channel.receiver.raw);
            try errors.check(error{InvalidArgument}, result);
            return channel;
        }

        /// Ends both ends, if neither has moved elsewhere.
        pub fn deinit(channel: *Self) void {
            channel.sender.deinit();
            channel.receiver.deinit();
        }
    };
}

/// A channel that keeps the latest element. `recv` waits for one that the receiver has not seen;
/// `latest` does not wait. Sending replaces the element and does not wait.
pub fn Watch(comptime T: type) type {
    return struct {
        sender: Sender(T, .watch),
        receiver: Receiver(T, .watch),

        const Self = @This();

        /// Makes a channel whose latest element is `initial`.
        pub fn init(initial: T) Self {
            var channel: Self = undefined;
            errors.expectOk(c.blitz_watch_new(sizeOf(T), @ptrCast(&initial), &channel.sender.raw, &channel.receiver.raw));
            return channel;
        }

        /// Ends both ends, if neither has moved elsewhere.
        pub fn deinit(channel: *Self) void {
            channel.sender.deinit();
            channel.receiver.deinit();
        }
    };
}

fn sizeOf(comptime T: type) usize {
    if (@sizeOf(T) > c.BLITZ_ELEMENT_MAX) @compileError("an element of a channel has 1 GiB at most");
    return @sizeOf(T);
}

/// The sending end of a channel. Any thread or fiber may use it, several at once.
pub fn Sender(comptime T: type, comptime kind: Kind) type {
    return struct {
        raw: *c.blitz_sender,

        const Self = @This();

        /// Ends this sender. The channel is closed when its last sender has ended.
        pub fn deinit(sender: *Self) void {
            c.blitz_sender_free(sender.raw);
            sender.* = undefined;
        }

        /// Sends an element, waiting while the channel is full. After an error it was not sent.
        /// `error.Closed` means that nothing can receive it any more.
        pub fn send(sender: Self, value: T) error{ Closed, Canceled }!void {
            return errors.check(error{ Closed, Canceled }, c.blitz_send(sender.raw, @ptrCast(&value)));
        }

        /// Sends an element, waiting until the deadline at most.
        pub fn sendUntil(sender: Self, value: T, deadline: Deadline) error{ Closed, Canceled, TimedOut }!void {
            const result = c.blitz_send_until(sender.raw, @ptrCast(&value), deadline.ns());
            return errors.check(error{ Closed, Canceled, TimedOut }, result);
        }

        /// Sends an element if there is room. Does not wait.
        pub fn trySend(sender: Self, value: T) error{ Closed, Full }!void {
            return errors.check(error{ Closed, Full }, c.blitz_try_send(sender.raw, @ptrCast(&value)));
        }

        /// Returns another sender of the same channel.
        pub fn clone(sender: Self) Self {
            if (kind == .oneshot) @compileError("a channel for a single element has a single sender");
            var copy: Self = undefined;
            errors.expectOk(c.blitz_sender_clone(sender.raw, &copy.raw));
            return copy;
        }

        /// Returns another receiver, which gets the values sent from now on.
        pub fn subscribe(sender: Self) Receiver(T, kind) {
            if (kind != .broadcast and kind != .watch) @compileError("only Broadcast and Watch have subscribers");
            var receiver: Receiver(T, kind) = undefined;
            errors.expectOk(c.blitz_sender_subscribe(sender.raw, &receiver.raw));
            return receiver;
        }

        /// Closes the channel for all its ends. Its elements can still be received. Does not wait.
        pub fn close(sender: Self) void {
            if (kind != .mpmc) @compileError("only MpmcChannel is closed by a sender: end the senders of others");
            errors.expectOk(c.blitz_sender_close(sender.raw));
        }

        /// Waits until nothing can receive any more, until the deadline at most.
        pub fn waitClosed(sender: Self, deadline: Deadline) error{ TimedOut, Canceled, Busy }!void {
            const result = c.blitz_sender_wait_closed(sender.raw, deadline.ns());
            return errors.check(error{ TimedOut, Canceled, Busy }, result);
        }

        /// Returns `true` if sending would return `error.Closed`. Does not wait.
        pub fn isClosed(sender: Self) bool {
            return c.blitz_sender_is_closed(sender.raw);
        }
    };
}

/// The receiving end of a channel. Any thread or fiber may use it. Several at once may use that of an
/// `MpmcChannel`; with the others a second call at the same time returns `error.Busy`.
pub fn Receiver(comptime T: type, comptime kind: Kind) type {
    return struct {
        raw: *c.blitz_receiver,

        const Self = @This();

        const own_errors = if (kind == .broadcast) error{ Closed, Busy, Lagged } else error{ Closed, Busy };

        /// Errors of `recv`. `error.Closed` means that the channel is empty and closed.
        pub const RecvError = own_errors || error{Canceled};
        /// Errors of `recvUntil`.
        pub const RecvUntilError = own_errors || error{ Canceled, TimedOut };
        /// Errors of `tryRecv`.
        pub const TryRecvError = own_errors || error{Empty};

        /// Ends this receiver. Elements that were not received are dropped with the last one.
        pub fn deinit(receiver: *Self) void {
            c.blitz_receiver_free(receiver.raw);
            receiver.* = undefined;
        }

        /// Receives an element, waiting while the channel is empty. After an error nothing was
        /// received.
        pub fn recv(receiver: Self) RecvError!T {
            var value: T = undefined;
            try errors.check(RecvError, c.blitz_recv(receiver.raw, @ptrCast(&value)));
            return value;
        }

        /// Receives an element, waiting until the deadline at most.
        pub fn recvUntil(receiver: Self, deadline: Deadline) RecvUntilError!T {
            var value: T = undefined;
            try errors.check(RecvUntilError, c.blitz_recv_until(receiver.raw, @ptrCast(&value), deadline.ns()));
            return value;
        }

        /// Receives an element if there is one. Does not wait.
        pub fn tryRecv(receiver: Self) TryRecvError!T {
            var value: T = undefined;
            try errors.check(TryRecvError, c.blitz_try_recv(receiver.raw, @ptrCast(&value)));
            return value;
        }

        /// Returns the latest element, and counts it as seen. Does not wait.
        pub fn latest(receiver: Self) error{Busy}!T {
            if (kind != .watch) @compileError("only Watch has a latest element");
            var value: T = undefined;
            try errors.check(error{Busy}, c.blitz_receiver_latest(receiver.raw, @ptrCast(&value)));
            return value;
        }

        /// Returns another receiver. That of an `MpmcChannel` takes elements from the same channel;
        /// the others get what is sent from now on.
        pub fn clone(receiver: Self) error{Busy}!Self {
            if (kind == .channel or kind == .oneshot) @compileError("this channel has a single receiver");
            var copy: Self = undefined;
            try errors.check(error{Busy}, c.blitz_receiver_clone(receiver.raw, &copy.raw));
            return copy;
        }

        /// Closes the channel for its senders. Its elements can still be received. Does not wait.
        pub fn close(receiver: Self) error{Busy}!void {
            if (kind == .broadcast or kind == .watch) @compileError("end the receivers of Broadcast and Watch");
            return errors.check(error{Busy}, c.blitz_receiver_close(receiver.raw));
        }

        /// Returns the number of elements that wait for this receiver, which other calls may change at once.
        pub fn len(receiver: Self) usize {
            return c.blitz_receiver_len(receiver.raw);
        }
    };
}

const testing = @import("testing.zig");
const task = @import("task.zig");

test Channel {
    var channel = try Channel(u32).init(2);
    var sender = channel.sender;
    var receiver = channel.receiver;
    try sender.send(1);
    try sender.trySend(2);
    try std.testing.expectError(error.Full, sender.trySend(3));
    try std.testing.expectError(error.TimedOut, sender.sendUntil(3, .passed));
    try std.testing.expectEqual(2, receiver.len());
    try std.testing.expectEqual(1, receiver.recv());
    var other = sender.clone();
    sender.deinit();
    try std.testing.expectEqual(2, receiver.tryRecv());
    try std.testing.expectError(error.Empty, receiver.tryRecv());
    try std.testing.expectError(error.TimedOut, receiver.recvUntil(.passed));
    try other.send(4);
    other.deinit();
    try std.testing.expectEqual(4, receiver.recv());
    try std.testing.expectError(error.Closed, receiver.recv());
    receiver.deinit();
    try std.testing.expectError(error.InvalidArgument, Channel(u32).init(0));
    channel = undefined;
}

test "a receiver that goes away closes the channel" {
    var channel = try Channel([3]u64).init(unbounded);
    defer channel.sender.deinit();
    for (0..100) |i| try channel.sender.send(@splat(i));
    try channel.receiver.close();
    try std.testing.expect(channel.sender.isClosed());
    try std.testing.expectError(error.Closed, channel.sender.send(@splat(0)));
    for (0..100) |i| try std.testing.expectEqual([3]u64{ i, i, i }, channel.receiver.recv());
    channel.receiver.deinit();
    try channel.sender.waitClosed(.never);
}

test "elements without a size are counted" {
    var channel = try Channel(void).init(1);
    defer channel.deinit();
    try channel.sender.send({});
    try std.testing.expectError(error.Full, channel.sender.trySend({}));
    try channel.receiver.recv();
}

test MpmcChannel {
    var channel = try MpmcChannel(u8).init(1);
    defer channel.deinit();
    var second = try channel.receiver.clone();
    defer second.deinit();
    try channel.sender.send(1);
    try std.testing.expectEqual(1, second.recv());
    try channel.sender.send(2);
    channel.sender.close();
    try std.testing.expectError(error.Closed, channel.sender.send(3));
    try std.testing.expectEqual(2, channel.receiver.recv());
    try std.testing.expectError(error.Closed, second.recv());
}

test "every element of many senders comes to one of many receivers" {
    const each = 500;
    const Shared = struct {
        sender: Sender(u64, .mpmc),
        receiver: Receiver(u64, .mpmc),
        index: std.atomic.Value(usize) = .init(0),
        senders: std.atomic.Value(usize) = .init(2),
        sum: std.atomic.Value(u64) = .init(0),
        count: std.atomic.Value(usize) = .init(0),

        fn work(shared: *@This()) !void {
            if (shared.index.fetchAdd(1, .monotonic) % 2 == 0) {
                for (1..each + 1) |i| try shared.sender.send(i);
                if (shared.senders.fetchSub(1, .seq_cst) == 1) shared.sender.close();
                return;
            }
            while (shared.receiver.recv()) |value| {
                _ = shared.sum.fetchAdd(value, .monotonic);
                _ = shared.count.fetchAdd(1, .monotonic);
            } else |err| try std.testing.expectEqual(error.Closed, err);
        }
    };
    inline for (.{ 0, 4 }) |capacity| inline for (testing.flavours) |flavour| {
        var channel = try MpmcChannel(u64).init(capacity);
        defer channel.deinit();
        var shared: Shared = .{ .sender = channel.sender, .receiver = channel.receiver };
        try testing.together(flavour, 4, Shared.work, .{&shared});
        try std.testing.expectEqual(2 * each, shared.count.load(.seq_cst));
        try std.testing.expectEqual(each * (each + 1), shared.sum.load(.seq_cst));
    };
}

test Oneshot {
    var channel: Oneshot([]const u8) = .init();
    defer channel.deinit();
    try std.testing.expectError(error.Empty, channel.receiver.tryRecv());
    try channel.sender.send("once");
    try std.testing.expectError(error.Closed, channel.sender.send("twice"));
    try std.testing.expectEqualStrings("once", try channel.receiver.recv());
}

test Broadcast {
    var channel = try Broadcast(u32).init(2);
    defer channel.deinit();
    var second = channel.sender.subscribe();
    defer second.deinit();
    try channel.sender.send(1);
    try channel.sender.send(2);
    try std.testing.expectEqual(1, second.recv());
    try channel.sender.send(3);
    try std.testing.expectEqual(2, second.recv());
    try std.testing.expectEqual(3, second.recv());
    try std.testing.expectError(error.Lagged, channel.receiver.recv());
    try std.testing.expectEqual(2, channel.receiver.recv());
}

test Watch {
    var channel: Watch(u32) = .init(1);
    defer channel.deinit();
    try std.testing.expectEqual(1, channel.receiver.latest());
    try std.testing.expectError(error.TimedOut, channel.receiver.recvUntil(.passed));
    try channel.sender.send(2);
    try channel.sender.send(3);
    try std.testing.expectEqual(3, channel.receiver.recv());
    var second = channel.sender.subscribe();
    defer second.deinit();
    try std.testing.expectEqual(3, second.latest());
}

test "a fiber that waits for an element is cancelled" {
    var channel = try Channel(u32).init(1);
    defer channel.deinit();
    const receive = struct {
        fn receive(receiver: Receiver(u32, .channel)) !u32 {
            return receiver.recv();
        }
    }.receive;
    var handle = try task.spawn(receive, .{channel.receiver});
    handle.cancel();
    try std.testing.expectError(error.Canceled, handle.join());
}
