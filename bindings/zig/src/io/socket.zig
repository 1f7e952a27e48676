//! Accepting and connecting.

const std = @import("std");
const Io = std.Io;
const net = Io.net;
const posix = std.posix;
const system = posix.system;
const address = @import("address.zig");
const c = @import("../c.zig");
const cancel = @import("cancel.zig");
const forward = @import("forward.zig");
const ready = @import("ready.zig");
const time = @import("time.zig");
const Instance = @import("instance.zig").Instance;

/// `netAccept` of `std.Io`.
pub fn accept(userdata: ?*anyopaque, listener: net.Socket.Handle, options: net.Server.AcceptOptions) net.Server.AcceptError!net.Socket {
    const instance: *Instance = .of(userdata);
    options;
    try cancel.check();
    // Another acceptor may take the connection that this one has waited for.
    setNonblocking(listener, true);
    while (true) {
        var from: address.Storage = undefined;
        var len: posix.socklen_t = @sizeOf(address.Storage);
        const result = system.accept4(listener, &from.any, &len, posix.SOCK.CLOEXEC);
        switch (posix.errno(result)) {
            .SUCCESS => {
                const fd: posix.fd_t = @intCast(result);
                instance.watches.forget(fd);
                return .{ .handle = fd, .address = address.fromSystem(&from) };
            },
            .INTR => {},
            .AGAIN => try ready.waitForSocketForever(instance, listener, .read),
            .CONNABORTED => return error.ConnectionAborted,
            .INVAL => return error.SocketNotListening,
            .MFILE => return error.ProcessFdQuotaExceeded,
            .NFILE => return error.SystemFdQuotaExceeded,
            .NOBUFS, .NOMEM => return error.SystemResources,
            .PROTO => return error.ProtocolFailure,
            .PERM => return error.BlockedByFirewall,
            else => |err| return posix.unexpectedErrno(err),
        }
    }
}

const nonblocking: usize = 1 << @bitOffsetOf(posix.O, "NONBLOCK");

fn setNonblocking(fd: posix.fd_t, on: bool) void {
    const got = system.fcntl(fd, posix.F.GETFL, @as(usize, 0));
    if (posix.errno(got) != .SUCCESS) return;
    const flags: usize = @intCast(got);
    const wanted = if (on) flags | nonblocking else flags & ~nonblocking;
    if (wanted != flags) _ = system.fcntl(fd, posix.F.SETFL, wanted);
}

/// `netConnectIp` of `std.Io`.
pub fn connectIp(userdata: ?*anyopaque, to: *const net.IpAddress, options: net.IpAddress.ConnectOptions) net.IpAddress.ConnectError!net.Socket {
    try cancel.check();
    const deadline = time.deadline(.of(userdata), options.timeout);
    const family = Io.Threaded.posixAddressFamily(to);
    const fd = try open(family, options);
    errdefer _ = system.close(fd);
    Instance.of(userdata).watches.forget(fd);
    var storage: address.Storage = undefined;
    var len = address.toSystem(to, &storage);
    try check(posix.errno(system.connect(fd, &storage.any, len)), fd, deadline);
    setNonblocking(fd, false);
    len = @sizeOf(address.Storage);
    switch (posix.errno(system.getsockname(fd, &storage.any, &len))) {
        .SUCCESS => {},
        .NOBUFS => return error.SystemResources,
        else => |err| return posix.unexpectedErrno(err),
    }
    return .{ .handle = fd, .address = address.fromSystem(&storage) };
}

/// Opens a socket whose system calls do not wait.
fn open(family: posix.sa_family_t, options: net.IpAddress.ConnectOptions) net.IpAddress.ConnectError!posix.fd_t {
    const mode, const protocol = try Io.Threaded.posixSocketModeProtocol(family, options.mode, options.protocol);
    const result = system.socket(family, mode | posix.SOCK.CLOEXEC | posix.SOCK.NONBLOCK, protocol);
    return switch (posix.errno(result)) {
        .SUCCESS => @intCast(result),
        .AFNOSUPPORT => error.AddressFamilyUnsupported,
        .INVAL => error.ProtocolUnsupportedBySystem,
        .MFILE => error.ProcessFdQuotaExceeded,
        .NFILE => error.SystemFdQuotaExceeded,
        .NOBUFS, .NOMEM => error.SystemResources,
        .PROTONOSUPPORT => error.ProtocolUnsupportedByAddressFamily,
        .PROTOTYPE => error.SocketModeUnsupported,
        else => |err| posix.unexpectedErrno(err),
    };
}

/// Waits until a connection is made, and returns how it ended.
fn check(begun: posix.E, fd: posix.fd_t, deadline: u64) net.IpAddress.ConnectError!void {
    switch (begun) {
        .SUCCESS => return,
        // After a signal the system connects on.
        .INPROGRESS, .INTR => {},
        else => |err| return connectError(err),
    }
    try ready.wait(fd, .write, deadline);
    var code: c_int = 0;
    var len: posix.socklen_t = @sizeOf(c_int);
    const result = system.getsockopt(fd, posix.SOL.SOCKET, posix.SO.ERROR, @ptrCast(&code), &len);
    if (posix.errno(result) != .SUCCESS) return posix.unexpectedErrno(posix.errno(result));
    if (code != 0) return connectError(@fromBackingInt(@intCast(code)));
}

fn connectError(err: posix.E) net.IpAddress.ConnectError {
    return switch (err) {
        .ADDRNOTAVAIL => error.AddressUnavailable,
        .AFNOSUPPORT => error.AddressFamilyUnsupported,
        .AGAIN => error.WouldBlock,
        .ALREADY => error.ConnectionPending,
        .CONNREFUSED => error.ConnectionRefused,
        .CONNRESET => error.ConnectionResetByPeer,
        .HOSTUNREACH => error.HostUnreachable,
        .NETUNREACH => error.NetworkUnreachable,
        .TIMEDOUT => error.Timeout,
        .ACCES, .PERM => error.AccessDenied,
        .NETDOWN => error.NetworkDown,
        else => posix.unexpectedErrno(err),
    };
}

/// Closes sockets, and ends their watches before.
pub fn close(userdata: ?*anyopaque, sockets: []const net.Socket) void {
    const instance: *Instance = .of(userdata);
    for (sockets) |socket| instance.watches.forget(socket.handle);
    return forward.direct("netClose", instance, .{sockets});
}
