//! Making and closing sockets.

const std = @import("std");
const Io = std.Io;
const net = Io.net;
const posix = std.posix;
const system = posix.system;
const address = @import("address.zig");
const c = @import("../c.zig");
const cancel = @import("cancel.zig");
const entries = @import("entry.zig");
const forward = @import("forward.zig");
const ready = @import("ready.zig");
const time = @import("time.zig");
const Instance = @import("instance.zig").Instance;
const Watches = @import("watches.zig").Watches;

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

/// Waits until a connection is made, or returns the error of the attempt.
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

/// Returns the entry `name` of `std.Io`, which makes sockets as the standard implementation does.
pub fn made(comptime name: []const u8, comptime how: anytype) @FieldType(Io.VTable, name) {
    const Body = struct {
        fn call(comptime entry: []const u8, userdata: ?*anyopaque, arguments: anytype) entries.Result(entry) {
            const new = try how(entry, userdata, arguments);
            forgetAll(&Instance.of(userdata).watches, new);
            return new;
        }
    };
    return entries.of(name, Body.call);
}

fn forgetAll(watches: *Watches, new: anytype) void {
    switch (@TypeOf(new)) {
        net.Socket.Handle => watches.forget(new),
        net.Socket => watches.forget(new.handle),
        else => for (new) |socket| watches.forget(socket.handle),
    }
}

/// Closes files, and ends their watches before: a file may be a socket.
pub fn closeFiles(userdata: ?*anyopaque, files: []const Io.File) void {
    const instance: *Instance = .of(userdata);
    for (files) |file| instance.watches.forget(file.handle);
    return forward.call("fileClose", instance, .{files});
}

/// Closes sockets, and ends their watches before.
pub fn close(userdata: ?*anyopaque, sockets: []const net.Socket) void {
    const instance: *Instance = .of(userdata);
    for (sockets) |socket| instance.watches.forget(socket.handle);
    return forward.direct("netClose", instance, .{sockets});
}

test "a socket with the number of another one does not use the watch of that" {
    var instance: Instance = .init(std.testing.allocator, .{});
    defer instance.deinit();
    const io = instance.io();
    const Stale = struct {
        instance: *Instance,
        const numbers = 256;

        // Simulates that a program has closed sockets of all small numbers without this library.
        fn fill(stale: @This()) !void {
            for (0..numbers) |number| {
                const watch = stale.instance.watches.get(std.testing.allocator, @intCast(number));
                try std.testing.expect(watch != null);
            }
        }

        fn expectNone(stale: @This(), fd: posix.fd_t) !void {
            try std.testing.expect(fd < numbers);
            try std.testing.expectEqual(null, stale.instance.watches.find(fd).?.load(.acquire));
        }
    };
    const stale: Stale = .{ .instance = &instance };

    try stale.fill();
    const local: net.IpAddress = .{ .ip4 = .loopback(0) };
    var server = try local.listen(io, .{});
    defer server.deinit(io);
    try stale.expectNone(server.socket.handle);
    const bound = try local.bind(io, .{ .mode = .dgram });
    try stale.expectNone(bound.handle);
    try stale.fill();
    bound.close(io);
    try stale.expectNone(bound.handle);

    try stale.fill();
    const connected = try server.socket.address.connect(io, .{ .mode = .stream });
    defer connected.close(io);
    try stale.expectNone(connected.socket.handle);
    const accepted = try server.accept(io);
    try stale.expectNone(accepted.socket.handle);
    try stale.fill();
    const file: Io.File = .{ .handle = accepted.socket.handle, .flags = .{ .nonblocking = false } };
    file.close(io);
    try stale.expectNone(file.handle);

    // Linux makes pairs of local sockets only, and std.Io none of those.
    const pair: [2]net.Socket = .{ bound, accepted.socket };
    try stale.fill();
    forgetAll(&instance.watches, pair);
    for (pair) |each| try stale.expectNone(each.handle);

    var folder = std.testing.tmpDir(.{});
    defer folder.cleanup();
    var buffer: [128]u8 = undefined;
    const path = try std.fmt.bufPrint(&buffer, ".zig-cache/tmp/{s}/socket", .{folder.sub_path});
    const unix: net.UnixAddress = try .init(path);
    try stale.fill();
    var local_server = try unix.listen(io, .{});
    defer local_server.deinit(io);
    try stale.expectNone(local_server.socket.handle);
    const local_stream = try unix.connect(io);
    defer local_stream.close(io);
    try stale.expectNone(local_stream.socket.handle);
}
