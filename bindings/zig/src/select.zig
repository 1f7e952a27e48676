//! Waiting for one of several channel operations.

const std = @import("std");
const c = @import("c.zig");
const errors = @import("errors.zig");
const channel = @import("channel.zig");
const Deadline = @import("deadline.zig").Deadline;

/// Performs one of several operations: one that is possible, chosen in turns, or else the first that
/// becomes possible, until the deadline at most. Channels of all kinds may be mixed.
///
/// `cases` is a struct with a field for each operation, made by `receive` or `send`. The result is a
/// union with the same fields: the result of the operation that was performed. An operation on a
/// closed channel is possible; its result is `error.Closed`. After an error of `select` itself none
/// was performed.
///
/// ```zig
/// switch (try select(.{ .job = receive(jobs), .stop = receive(stop) }, .never)) {
///     .job => |job| try run(try job),
///     .stop => return,
/// }
/// ```
pub fn select(cases: anytype, deadline: Deadline) error{ TimedOut, Canceled }!Selected(@TypeOf(cases)) {
    var copy = cases;
    var raw = rawCases(&copy);
    var index: usize = undefined;
    const result = c.blitz_select(&raw, raw.len, deadline.ns(), &index);
    try errors.check(error{ TimedOut, Canceled }, result);
    return selected(&copy, index, raw[index].result);
}

/// Performs one of several operations that is possible now, as `select` does. Does not wait.
pub fn trySelect(cases: anytype) error{ WouldBlock, Canceled }!Selected(@TypeOf(cases)) {
    var copy = cases;
    var raw = rawCases(&copy);
    var index: usize = undefined;
    const result = c.blitz_try_select(&raw, raw.len, &index);
    try errors.check(error{ WouldBlock, Canceled }, result);
    return selected(&copy, index, raw[index].result);
}

/// Makes an operation of `select` that receives an element.
pub fn receive(receiver: anytype) Receive(@TypeOf(receiver)) {
    return .{ .receiver = receiver };
}

/// Makes an operation of `select` that sends an element. It was sent if this operation was performed
/// without an error.
pub fn send(sender: anytype, value: Element(@TypeOf(sender))) Send(@TypeOf(sender)) {
    return .{ .sender = sender, .value = value };
}

/// An operation that receives.
pub fn Receive(comptime Receiver: type) type {
    return struct {
        receiver: Receiver,
        value: @typeInfo(Result).error_union.payload = undefined,

        /// The result of the operation.
        pub const Result = @typeInfo(@TypeOf(Receiver.recv)).@"fn".return_type.?;

        fn raw(case: *@This()) c.blitz_case {
            return .{ .receiver = case.receiver.raw, .value = @ptrCast(&case.value) };
        }

        fn take(case: *@This(), result: c_int) Result {
            try errors.check(Receiver.RecvError, result);
            return case.value;
        }
    };
}

/// An operation that sends.
pub fn Send(comptime Sender: type) type {
    return struct {
        sender: Sender,
        value: Element(Sender),

        /// The result of the operation.
        pub const Result = @typeInfo(@TypeOf(Sender.send)).@"fn".return_type.?;

        fn raw(case: *@This()) c.blitz_case {
            return .{ .sender = case.sender.raw, .value = @ptrCast(&case.value) };
        }

        fn take(_: *@This(), result: c_int) Result {
            return errors.check(@typeInfo(Result).error_union.error_set, result);
        }
    };
}

fn Element(comptime Sender: type) type {
    return @typeInfo(@TypeOf(Sender.send)).@"fn".param_types[1].?;
}

/// The result of `select`: a union with a field for each operation.
pub fn Selected(comptime Cases: type) type {
    const info = switch (@typeInfo(Cases)) {
        .@"struct" => |info| info,
        else => @compileError("expected a struct of operations, such as .{ .name = receive(receiver) }"),
    };
    const count = info.field_names.len;
    if (count == 0) @compileError("select needs an operation");
    var types: [count]type = undefined;
    for (&types, info.field_types) |*Result, Case| {
        const is_operation = @typeInfo(Case) == .@"struct" and @hasDecl(Case, "Result");
        if (!is_operation) @compileError("an operation of select is made by receive or send");
        Result.* = Case.Result;
    }
    return @Union(.auto, std.meta.FieldEnum(Cases), info.field_names, &types, &@splat(.{}));
}

fn rawCases(cases: anytype) [std.meta.fieldNames(@TypeOf(cases.*)).len]c.blitz_case {
    const names = comptime std.meta.fieldNames(@TypeOf(cases.*));
    var raw: [names.len]c.blitz_case = undefined;
    inline for (names, 0..) |name, i| raw[i] = @field(cases, name).raw();
    return raw;
}

fn selected(cases: anytype, index: usize, result: c_int) Selected(@TypeOf(cases.*)) {
    inline for (comptime std.meta.fieldNames(@TypeOf(cases.*)), 0..) |name, i| {
        if (i == index) return @unionInit(Selected(@TypeOf(cases.*)), name, @field(cases, name).take(result));
    }
    unreachable;
}

test select {
    var numbers = try channel.Channel(u32).init(1);
    defer numbers.deinit();
    var words = try channel.MpmcChannel([]const u8).init(1);
    defer words.deinit();
    const cases = .{ .number = receive(numbers.receiver), .word = receive(words.receiver) };

    try std.testing.expectError(error.WouldBlock, trySelect(cases));
    try std.testing.expectError(error.TimedOut, select(cases, .passed));
    try words.sender.send("hello");
    try std.testing.expectEqualStrings("hello", try (try select(cases, .never)).word);
    try numbers.sender.send(7);
    try std.testing.expectEqual(7, (try trySelect(cases)).number);

    const sends = .{ .out = send(numbers.sender, 8), .in = receive(words.receiver) };
    try (try select(sends, .never)).out;
    try std.testing.expectEqual(8, numbers.receiver.recv());
    words.sender.close();
    try std.testing.expectError(error.Closed, (try select(cases, .never)).word);
}

test "each operation is performed once" {
    const testing = @import("testing.zig");
    const each = 300;
    const Shared = struct {
        numbers: channel.Channel(u64),
        signed: channel.MpmcChannel(i32),
        index: std.atomic.Value(usize) = .init(0),
        count: usize = 0,

        fn work(shared: *@This()) !void {
            switch (shared.index.fetchAdd(1, .monotonic)) {
                0 => for (0..each) |i| try shared.numbers.sender.send(i),
                1 => for (0..each) |i| try shared.signed.sender.send(@intCast(i)),
                else => try shared.receiveAll(),
            }
        }

        fn receiveAll(shared: *@This()) !void {
            var number: u64 = 0;
            var signed: i32 = 0;
            while (shared.count < 2 * each) : (shared.count += 1) {
                switch (try select(.{
                    .number = receive(shared.numbers.receiver),
                    .signed = receive(shared.signed.receiver),
                }, .never)) {
                    .number => |value| {
                        try std.testing.expectEqual(number, value);
                        number += 1;
                    },
                    .signed => |value| {
                        try std.testing.expectEqual(signed, value);
                        signed += 1;
                    },
                }
            }
        }
    };
    inline for (testing.flavours) |flavour| {
        var shared: Shared = .{ .numbers = try .init(4), .signed = try .init(4) };
        defer shared.numbers.deinit();
        defer shared.signed.deinit();
        try testing.together(flavour, 3, Shared.work, .{&shared});
        try std.testing.expectEqual(2 * each, shared.count);
    }
}
