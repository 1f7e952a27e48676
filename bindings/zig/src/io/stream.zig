//! Reads and writes of stream sockets. The system calls do not wait; the fiber does.

const std = @import("std");
const Io = std.Io;
const net = Io.net;
const posix = std.posix;
const ready = @import("ready.zig");
const Instance = @import("instance.zig").Instance;
const vectors = @import("vectors.zig");
const Vectors = vectors.Vectors;

/// Reads from a stream, waiting until the deadline at most.
pub fn read(instance: *Instance, o: Io.Operation.NetRead, deadline: u64) (Io.Operation.NetRead.Error || ready.Error)!net.Stream.ReadResult {
    var buffers: [Vectors.max]posix.iovec = undefined;
    const count = vectors.ofBuffers(&buffers, o.data);
    const flags: u32 = posix.MSG.DONTWAIT |
        (if (@hasDecl(posix.MSG, "CMSG_CLOEXEC")) posix.MSG.CMSG_CLOEXEC else 0);
    while (true) {
        var header: posix.msghdr = .{
            .name = null,
            .namelen = 0,
            .iov = &buffers,
            .iovlen = @intCast(count),
            .control = o.control.ptr,
            .controllen = @intCast(o.control.len),
            .flags = 0,
        };
        const result = posix.system.recvmsg(o.socket_handle, &header, flags);
        switch (posix.errno(result)) {
            .SUCCESS => return .{
                .data_len = @intCast(result),
                .control_len = @intCast(header.controllen),
                .control_truncated = header.flags & posix.MSG.CTRUNC != 0,
            },
            .INTR => {},
            .AGAIN => try ready.waitForSocket(instance, o.socket_handle, .read, deadline),
            .NOBUFS, .NOMEM => return error.SystemResources,
            .NOTCONN, .PIPE => return error.SocketUnconnected,
            .CONNRESET => return error.ConnectionResetByPeer,
            .TIMEDOUT => return error.ConnectionTimedOut,
            .NETDOWN => return error.NetworkDown,
            else => |err| return posix.unexpectedErrno(err),
        }
    }
}

/// Writes to a stream, waiting until the deadline at most.
pub fn write(instance: *Instance, o: Io.Operation.NetWrite, deadline: u64) (Io.Operation.NetWrite.Error || ready.Error)!usize {
    var pieces: Vectors = .{};
    pieces.addAll(o.header, o.data, o.splat);
    const header: posix.msghdr_const = .{
        .name = null,
        .namelen = 0,
        .iov = &pieces.list,
        .iovlen = @intCast(pieces.len),
        .control = if (o.control.len == 0) null else @constCast(o.control.ptr),
        .controllen = @intCast(o.control.len),
        .flags = 0,
    };
    while (true) {
        const result = posix.system.sendmsg(o.socket_handle, &header, posix.MSG.NOSIGNAL | posix.MSG.DONTWAIT);
        switch (posix.errno(result)) {
            .SUCCESS => return @intCast(result),
            .INTR => {},
            .AGAIN => try ready.waitForSocket(instance, o.socket_handle, .write, deadline),
            .ALREADY => return error.FastOpenAlreadyInProgress,
            .CONNRESET => return error.ConnectionResetByPeer,
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
