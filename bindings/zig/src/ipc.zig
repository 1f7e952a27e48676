//! Messages between processes of one machine, in shared memory.
//!
//! Processes of one user that open the same name share a segment. A process that is killed leaves
//! nothing locked, and its messages that were sent can still be received.

const std = @import("std");
const c = @import("c.zig");
const errors = @import("errors.zig");
const Deadline = @import("deadline.zig").Deadline;
const Error = errors.Error;

/// Who gets a message.
pub const Kind = enum(u32) {
    /// One sender; every receiver gets every message.
    route = c.BLITZ_IPC_ROUTE,
    /// Many senders; every receiver gets every message, all in one order.
    channel = c.BLITZ_IPC_CHANNEL,
    /// Many senders; each message goes to one receiver.
    queue = c.BLITZ_IPC_QUEUE,
};

/// The behaviour of a sender while the ring is full.
pub const WhenFull = enum(u32) {
    /// It waits for the slowest receiver that is alive.
    block = c.BLITZ_IPC_BLOCK,
    /// It overwrites the oldest message; a receiver that missed some gets `error.Lagged`.
    drop_oldest = c.BLITZ_IPC_DROP_OLDEST,
    /// It gets `error.Full`.
    fail = c.BLITZ_IPC_FAIL,
};

/// Settings of a segment. The participant that makes the segment decides; others ask for the same, or
/// leave a number 0 to take the existing one.
pub const Options = struct {
    kind: Kind = .route,
    when_full: WhenFull = .block,
    /// The number of messages that the ring holds, rounded up to a power of two. 0: 1,024.
    capacity: usize = 0,
    /// The most bytes of a message. 0: 1,008.
    max_len: usize = 0,
    /// The most senders at once. 0: 64 (a route has one).
    max_senders: usize = 0,
    /// The most receivers at once. 0: 64.
    max_receivers: usize = 0,
    /// The permissions of the segment's file. 0: 0o600, the user alone.
    mode: u32 = 0,
    /// If true, a new receiver also gets the messages that are in the ring already.
    with_history: bool = false,
    /// If true, opening fails if there is no segment.
    must_exist: bool = false,
    /// The folder of the segment's file. Null: one of the user. It is copied.
    directory: ?[:0]const u8 = null,

    fn raw(options: Options) c.blitz_ipc_settings {
        return .{
            .kind = @backingInt(options.kind),
            .when_full = @backingInt(options.when_full),
            .capacity = options.capacity,
            .max_len = options.max_len,
            .max_senders = options.max_senders,
            .max_receivers = options.max_receivers,
            .mode = options.mode,
            .with_history = options.with_history,
            .must_exist = options.must_exist,
            .directory = if (options.directory) |directory| directory.ptr else null,
        };
    }
};

/// The sending end of a segment. Any thread or fiber may use it; a second call at the same time, and
/// a call between a loan and its end, return `error.Busy`.
pub const Sender = struct {
    raw: *c.blitz_ipc_sender,

    /// Joins the segment `name` as a sender, and makes it if there is none. Returns
    /// `error.InvalidArgument` for a name or setting that is not allowed, `error.SettingsMismatch` if
    /// the segment has others, and `error.Full` if it has as many senders as it allows.
    pub fn open(name: [:0]const u8, options: Options) Error!Sender {
        const settings = options.raw();
        var sender: Sender = undefined;
        try errors.check(Error, c.blitz_ipc_sender_open(name, &settings, &sender.raw));
        return sender;
    }

    /// Leaves the segment. A loan ends without sending.
    pub fn deinit(sender: *Sender) void {
        c.blitz_ipc_sender_free(sender.raw);
        sender.* = undefined;
    }

    /// Sends a message, waiting while the ring is full (with `WhenFull.block`). After an error it was
    /// not sent. Returns `error.WrongSize` if it is longer than `maxLen`.
    pub fn send(sender: Sender, message: []const u8) Error!void {
        return errors.check(Error, c.blitz_ipc_send(sender.raw, message.ptr, message.len));
    }

    /// Sends a message, waiting until the deadline at most.
    pub fn sendUntil(sender: Sender, message: []const u8, deadline: Deadline) Error!void {
        const result = c.blitz_ipc_send_until(sender.raw, message.ptr, message.len, deadline.ns());
        return errors.check(Error, result);
    }

    /// Sends a message if there is room, else returns `error.Full`. Does not wait.
    pub fn trySend(sender: Sender, message: []const u8) Error!void {
        return errors.check(Error, c.blitz_ipc_try_send(sender.raw, message.ptr, message.len));
    }

    /// Waits until the receivers of a queue have released every message that was sent before, until
    /// the deadline at most. What is left is lost when the last participant leaves, so a sender that
    /// may be the last one calls this before `deinit`.
    pub fn drained(sender: Sender, deadline: Deadline) Error!void {
        return errors.check(Error, c.blitz_ipc_drained(sender.raw, deadline.ns()));
    }

    /// Borrows room for a message of `len` bytes in shared memory, to write it in place, waiting until
    /// the deadline at most. It holds bytes of an older message. It is valid until `sendLoan` or
    /// `dropLoan`.
    pub fn loan(sender: Sender, len: usize, deadline: Deadline) Error![]u8 {
        var message: [*]u8 = undefined;
        try errors.check(Error, c.blitz_ipc_loan(sender.raw, len, deadline.ns(), &message));
        return message[0..len];
    }

    /// Sends the first `len` bytes of the loan, and ends the loan. Does not wait.
    pub fn sendLoan(sender: Sender, len: usize) Error!void {
        return errors.check(Error, c.blitz_ipc_loan_send(sender.raw, len));
    }

    /// Ends the loan without sending. Does not wait.
    pub fn dropLoan(sender: Sender) Error!void {
        return errors.check(Error, c.blitz_ipc_loan_drop(sender.raw));
    }

    /// Returns a descriptor that becomes readable after `trySendOrArm` has returned `error.Full`. The
    /// sender keeps it: do not close it, and do not read from it.
    pub fn doorbell(sender: Sender) Error!std.posix.fd_t {
        var fd: c_int = undefined;
        try errors.check(Error, c.blitz_ipc_sender_doorbell(sender.raw, &fd));
        return fd;
    }

    /// Sends a message as `trySend` does. After `error.Full` the doorbell becomes readable when this
    /// should be called again.
    pub fn trySendOrArm(sender: Sender, message: []const u8) Error!void {
        return errors.check(Error, c.blitz_ipc_try_send_or_arm(sender.raw, message.ptr, message.len));
    }

    /// Returns the most bytes of a message; 0 if another call uses the sender.
    pub fn maxLen(sender: Sender) usize {
        return c.blitz_ipc_max_len(sender.raw);
    }
};

/// The receiving end of a segment. Any thread or fiber may use it; a second call at the same time, and
/// a call while a message is held, return `error.Busy`.
pub const Receiver = struct {
    raw: *c.blitz_ipc_receiver,

    /// Joins the segment `name` as a receiver, and makes it if there is none. Errors are those of
    /// `Sender.open`.
    pub fn open(name: [:0]const u8, options: Options) Error!Receiver {
        const settings = options.raw();
        var receiver: Receiver = undefined;
        try errors.check(Error, c.blitz_ipc_receiver_open(name, &settings, &receiver.raw));
        return receiver;
    }

    /// Joins the segment `name` of a route or channel as a receiver for which no sender waits: it gets
    /// `error.Lagged` if it is too slow.
    pub fn observe(name: [:0]const u8, options: Options) Error!Receiver {
        const settings = options.raw();
        var receiver: Receiver = undefined;
        try errors.check(Error, c.blitz_ipc_observer_open(name, &settings, &receiver.raw));
        return receiver;
    }

    /// Leaves the segment. Gives back a message that it holds.
    pub fn deinit(receiver: *Receiver) void {
        c.blitz_ipc_receiver_free(receiver.raw);
        receiver.* = undefined;
    }

    /// Receives a message into the buffer, waiting until there is one, and returns the part of the
    /// buffer that it fills. `error.Closed` means that there is no message and no sender, in a queue
    /// also if all senders left before this receiver joined; `error.WrongSize` that the message is longer than the buffer, and stays.
    pub fn recv(receiver: Receiver, buffer: []u8) Error![]u8 {
        var count: usize = undefined;
        try errors.check(Error, c.blitz_ipc_recv(receiver.raw, buffer.ptr, buffer.len, &count));
        return buffer[0..count];
    }

    /// Receives a message, waiting until the deadline at most.
    pub fn recvUntil(receiver: Receiver, buffer: []u8, deadline: Deadline) Error![]u8 {
        var count: usize = undefined;
        const result = c.blitz_ipc_recv_until(receiver.raw, buffer.ptr, buffer.len, deadline.ns(), &count);
        try errors.check(Error, result);
        return buffer[0..count];
    }

    /// Receives a message if there is one, else returns `error.Empty`. Does not wait.
    pub fn tryRecv(receiver: Receiver, buffer: []u8) Error![]u8 {
        var count: usize = undefined;
        try errors.check(Error, c.blitz_ipc_try_recv(receiver.raw, buffer.ptr, buffer.len, &count));
        return buffer[0..count];
    }

    /// Receives a message and keeps it in shared memory, to read it in place, waiting until the
    /// deadline at most. It is valid until `release`; senders wait for a receiver that keeps a
    /// message. If you do not trust the other processes, use `recv`.
    pub fn take(receiver: Receiver, deadline: Deadline) Error![]const u8 {
        var message: [*]const u8 = undefined;
        var len: usize = undefined;
        try errors.check(Error, c.blitz_ipc_take(receiver.raw, deadline.ns(), &message, &len));
        return message[0..len];
    }

    /// Gives back the message of `take`.
    pub fn release(receiver: Receiver) Error!void {
        return errors.check(Error, c.blitz_ipc_release(receiver.raw));
    }

    /// Returns a descriptor that becomes readable after `tryRecvOrArm` has returned `error.Empty`. The
    /// receiver keeps it: do not close it, and do not read from it.
    pub fn doorbell(receiver: Receiver) Error!std.posix.fd_t {
        var fd: c_int = undefined;
        try errors.check(Error, c.blitz_ipc_receiver_doorbell(receiver.raw, &fd));
        return fd;
    }

    /// Receives a message as `tryRecv` does. After `error.Empty` the doorbell becomes readable when
    /// this should be called again.
    pub fn tryRecvOrArm(receiver: Receiver, buffer: []u8) Error![]u8 {
        var count: usize = undefined;
        const result = c.blitz_ipc_try_recv_or_arm(receiver.raw, buffer.ptr, buffer.len, &count);
        try errors.check(Error, result);
        return buffer[0..count];
    }
};

/// The numbers of living senders and receivers of a segment.
pub const Participants = struct { senders: usize, receivers: usize };

/// Counts the participants of the segment `name` that are alive, those of this process too. Of the
/// options it needs the kind and the directory. Without such a segment both counts are 0.
pub fn participants(name: [:0]const u8, options: Options) Error!Participants {
    const settings = options.raw();
    var counts: Participants = undefined;
    const result = c.blitz_ipc_participants(name, &settings, &counts.senders, &counts.receivers);
    try errors.check(Error, result);
    return counts;
}

/// Removes the segments of this user that no living process uses, and returns their number.
pub fn clean() Error!usize {
    var count: usize = undefined;
    try errors.check(Error, c.blitz_ipc_clean(&count));
    return count;
}

const testing = @import("testing.zig");

/// A name that no other test process uses.
fn testName(buffer: *[64]u8, what: []const u8) [:0]const u8 {
    const pid = std.os.linux.getpid();
    return std.fmt.bufPrintSentinel(buffer, "zig-test-{s}-{d}", .{ what, pid }, 0) catch unreachable;
}

test "a route carries messages, in place and copied" {
    var name: [64]u8 = undefined;
    const segment = testName(&name, "route");
    const options: Options = .{ .capacity = 2, .max_len = 64 };
    var receiver = try Receiver.open(segment, options);
    defer receiver.deinit();
    var sender = try Sender.open(segment, options);
    try std.testing.expectError(error.Full, Sender.open(segment, options));
    try std.testing.expectError(error.SettingsMismatch, Receiver.open(segment, .{ .max_len = 512 }));
    try std.testing.expect(sender.maxLen() >= 64);
    try std.testing.expectEqual(Participants{ .senders = 1, .receivers = 1 }, try participants(segment, options));

    var buffer: [64]u8 = undefined;
    try std.testing.expectError(error.Empty, receiver.tryRecv(&buffer));
    try std.testing.expectError(error.TimedOut, receiver.recvUntil(&buffer, .passed));
    try sender.send("one");
    const room = try sender.loan(8, .never);
    @memcpy(room[0..3], "two");
    try std.testing.expectError(error.Busy, sender.send("between"));
    try sender.sendLoan(3);
    try std.testing.expectError(error.Full, sender.trySend("three"));
    try std.testing.expectError(error.WrongSize, receiver.recv(buffer[0..1]));
    try std.testing.expectEqualStrings("one", try receiver.recv(&buffer));
    try std.testing.expectEqualStrings("two", try receiver.take(.never));
    try receiver.release();
    sender.deinit();
    try std.testing.expectError(error.Closed, receiver.recv(&buffer));
}

test "a queue is drained, and ends for a late receiver too" {
    var name: [64]u8 = undefined;
    const segment = testName(&name, "drained");
    const options: Options = .{ .kind = .queue, .capacity = 2, .max_len = 8 };
    var early = try Receiver.open(segment, options);
    defer early.deinit();
    var sender = try Sender.open(segment, options);
    var buffer: [8]u8 = undefined;
    try sender.send("one");
    try std.testing.expectError(error.TimedOut, sender.drained(.passed));
    _ = try early.recv(&buffer);
    try sender.drained(.never);
    try sender.send("two");
    sender.deinit();
    var late = try Receiver.open(segment, options);
    defer late.deinit();
    try std.testing.expectEqualStrings("two", try late.recv(&buffer));
    try std.testing.expectError(error.Closed, late.recv(&buffer));
}

test "each message of a queue goes to one receiver" {
    const each = 200;
    const Shared = struct {
        segment: [:0]const u8,
        index: std.atomic.Value(usize) = .init(0),
        sum: std.atomic.Value(u64) = .init(0),
        ready: @import("barrier.zig").Barrier = .init(4),

        const options: Options = .{ .kind = .queue, .capacity = 8, .max_len = 8 };

        fn work(shared: *@This()) !void {
            if (shared.index.fetchAdd(1, .monotonic) % 2 == 0) return shared.sendAll();
            var receiver = try Receiver.open(shared.segment, options);
            defer receiver.deinit();
            _ = try shared.ready.wait();
            var buffer: [8]u8 = undefined;
            while (receiver.recv(&buffer)) |message| {
                const value = std.mem.readInt(u64, message[0..8], .little);
                _ = shared.sum.fetchAdd(value, .monotonic);
            } else |err| try std.testing.expectEqual(error.Closed, err);
        }

        fn sendAll(shared: *@This()) !void {
            var sender = try Sender.open(shared.segment, options);
            defer sender.deinit();
            _ = try shared.ready.wait();
            for (1..each + 1) |i| try sender.send(std.mem.asBytes(&@as(u64, i)));
        }
    };
    inline for (testing.flavours) |flavour| {
        var name: [64]u8 = undefined;
        var shared: Shared = .{ .segment = testName(&name, @tagName(flavour)) };
        try testing.together(flavour, 4, Shared.work, .{&shared});
        try std.testing.expectEqual(each * (each + 1), shared.sum.load(.seq_cst));
    }
    _ = try clean();
}
