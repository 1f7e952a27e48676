//! Mistakes that do not compile. `build.zig` looks for the message of each.

const std = @import("std");
const blitz = @import("blitz_io");

const Oneshot = blitz.Oneshot(u32);
const Channel = blitz.Channel(u32);
const Broadcast = blitz.Broadcast(u32);

pub fn cloneOneshot(sender: @FieldType(Oneshot, "sender")) void {
    _ = sender.clone();
}

pub fn subscribeToChannel(sender: @FieldType(Channel, "sender")) void {
    _ = sender.subscribe();
}

pub fn closeChannel(sender: @FieldType(Channel, "sender")) void {
    sender.close();
}

pub fn cloneReceiver(receiver: @FieldType(Channel, "receiver")) void {
    _ = receiver.clone() catch {};
}

pub fn latestOfChannel(receiver: @FieldType(Channel, "receiver")) void {
    _ = receiver.latest() catch {};
}

pub fn closeBroadcast(receiver: @FieldType(Broadcast, "receiver")) void {
    receiver.close() catch {};
}

pub fn selectNothing() void {
    _ = blitz.trySelect(.{}) catch {};
}

pub fn selectNumber() void {
    _ = blitz.trySelect(.{ .number = @as(u32, 1) }) catch {};
}

pub fn largeElement() void {
    _ = blitz.Channel([(1 << 30) + 1]u8).init(1) catch {};
}

comptime {
    const name = @import("mistake").name;
    _ = &@field(@This(), name);
}
