//! Messages of datagram sockets.

const std = @import("std");
const Io = std.Io;
const net = Io.net;
const posix = std.posix;
const address = @import("address.zig");
const cancel = @import("cancel.zig");
const ready = @import("ready.zig");
const Instance = @import("instance.zig").Instance;

/// Waits for a message, and takes those that have arrived.
pub fn receive(instance: *Instance, o: Io.Operation.NetReceive, deadline: u64) ready.Error!Io.Operation.NetReceive.Result {
    var used: usize = 0;
    for (o.message_buffer, 0..) |*message, count| {
        while (true) {
            receiveOne(o, message, o.data_buffer[used..]) catch |err| switch (err) {
                error.WouldBlock => {
                    if (count != 0) return .{ null, count };
                    ready.waitForSocket(instance, o.socket_handle, .read, deadline) catch |ended| switch (ended) {
                        error.Canceled, error.Timeout => |e| return e,
                        error.SystemResources, error.Unexpected => |e| return .{ e, count },
                    };
                    continue;
                },
                else => |e| return .{ e, count },
            };
            break;
        }
        used += message.data.len;
    }
    return .{ null, o.message_buffer.len };
}

const ReceiveError = Io.Operation.NetReceive.Error || error{WouldBlock};

fn receiveOne(o: Io.Operation.NetReceive, message: *net.IncomingMessage, buffer: []u8) ReceiveError!void {
    const flags: u32 = posix.MSG.DONTWAIT |
        (if (o.flags.oob) @as(u32, posix.MSG.OOB) else 0) |
        (if (o.flags.peek) @as(u32, posix.MSG.PEEK) else 0) |
        (if (o.flags.trunc) @as(u32, posix.MSG.TRUNC) else 0);
    while (true) {
        var from: address.Storage = undefined;
        var vector: posix.iovec = .{ .base = buffer.ptr, .len = buffer.len };
        var header: posix.msghdr = .{
            .name = &from.any,
            .namelen = @sizeOf(address.Storage),
            .iov = (&vector)[0..1],
            .iovlen = 1,
            .control = message.control.ptr,
            .controllen = @intCast(message.control.len),
            .flags = 0,
        };
        const result = posix.system.recvmsg(o.socket_handle, &header, flags);
        switch (posix.errno(result)) {
            .SUCCESS => {
                const len: usize = @intCast(result);
                message.* = .{
                    .from = address.fromSystem(&from),
                    .data = buffer[0..@min(len, buffer.len)],
                    .control = message.control[0..@min(message.control.len, header.controllen)],
                    .flags = .{
                        .eor = header.flags & posix.MSG.EOR != 0,
                        .trunc = header.flags & posix.MSG.TRUNC != 0,
                        .ctrunc = header.flags & posix.MSG.CTRUNC != 0,
                        .oob = header.flags & posix.MSG.OOB != 0,
                        .errqueue = if (@hasDecl(posix.MSG, "ERRQUEUE")) header.flags & posix.MSG.ERRQUEUE != 0 else false,
                    },
                };
                return;
            },
            .INTR => {},
            .AGAIN => return error.WouldBlock,
            .NFILE => return error.SystemFdQuotaExceeded,
            .MFILE => return error.ProcessFdQuotaExceeded,
            .NOBUFS, .NOMEM => return error.SystemResources,
            .NOTCONN, .PIPE => return error.SocketUnconnected,
            .MSGSIZE => return error.MessageOversize,
            .CONNRESET => return error.ConnectionResetByPeer,
            .TIMEDOUT => return error.ConnectionTimedOut,
            .NETDOWN => return error.NetworkDown,
            .CONNREFUSED => return error.PortUnreachable,
            else => |err| return posix.unexpectedErrno(err),
        }
    }
}

/// Sends all messages, in order.
pub fn send(instance: *Instance, o: Io.Operation.NetSend, deadline: u64) ready.Error!Io.Operation.NetSend.Result {
    for (o.messages, 0..) |*message, count| {
        while (true) {
            sendOne(o, message) catch |err| switch (err) {
                error.WouldBlock => {
                    ready.waitForSocket(instance, o.socket_handle, .write, deadline) catch |ended| switch (ended) {
                        error.SystemResources, error.Unexpected => |e| return .{ e, count },
                        error.Canceled, error.Timeout => |e| {
                            if (count == 0) return e;
                            // The request is reported by the next cancelation point.
                            if (e == error.Canceled) cancel.recancel();
                            return .{ null, count };
                        },
                    };
                    continue;
                },
                else => |e| return .{ e, count },
            };
            break;
        }
    }
    return .{ null, o.messages.len };
}

const SendError = Io.Operation.NetSend.Error || error{WouldBlock};

fn sendOne(o: Io.Operation.NetSend, message: *net.OutgoingMessage) SendError!void {
    const flags: u32 = posix.MSG.NOSIGNAL | posix.MSG.DONTWAIT |
        (if (@hasDecl(posix.MSG, "CONFIRM") and o.flags.confirm) @as(u32, posix.MSG.CONFIRM) else 0) |
        (if (@hasDecl(posix.MSG, "FASTOPEN") and o.flags.fastopen) @as(u32, posix.MSG.FASTOPEN) else 0) |
        (if (o.flags.dont_route) @as(u32, posix.MSG.DONTROUTE) else 0) |
        (if (o.flags.eor) @as(u32, posix.MSG.EOR) else 0) |
        (if (o.flags.oob) @as(u32, posix.MSG.OOB) else 0);
    var to: address.Storage = undefined;
    var vector: posix.iovec_const = .{ .base = message.data_ptr, .len = message.data_len };
    const header: posix.msghdr_const = .{
        .name = &to.any,
        .namelen = address.toSystem(message.address, &to),
        .iov = (&vector)[0..1],
        .iovlen = 1,
        .control = if (message.control.len == 0) null else @constCast(message.control.ptr),
        .controllen = @intCast(message.control.len),
        .flags = 0,
    };
    while (true) {
        const result = posix.system.sendmsg(o.socket_handle, &header, flags);
        switch (posix.errno(result)) {
            .SUCCESS => {
                message.data_len = @intCast(result);
                return;
            },
            .INTR => {},
            .AGAIN => return error.WouldBlock,
            .ACCES => return error.AccessDenied,
            .ALREADY => return error.FastOpenAlreadyInProgress,
            .CONNRESET => return error.ConnectionResetByPeer,
            .CONNREFUSED => return error.ConnectionRefused,
            .MSGSIZE => return error.MessageOversize,
            .NOBUFS, .NOMEM => return error.SystemResources,
            .PIPE, .NOTCONN => return error.SocketUnconnected,
            .AFNOSUPPORT => return error.AddressFamilyUnsupported,
            .HOSTUNREACH => return error.HostUnreachable,
            .NETUNREACH => return error.NetworkUnreachable,
            .TIMEDOUT => return error.ConnectionTimedOut,
            .NETDOWN => return error.NetworkDown,
            else => |err| return posix.unexpectedErrno(err),
        }
    }
}
