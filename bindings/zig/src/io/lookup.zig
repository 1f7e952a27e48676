//! Names of hosts. The system's resolver runs in the blocking pool; the fiber then hands the results
//! over, because the queue wakes fibers.

const std = @import("std");
const Io = std.Io;
const HostName = Io.net.HostName;
const posix = std.posix;
const system = posix.system;
const address = @import("address.zig");
const c = @import("../c.zig");
const cancel = @import("cancel.zig");
const Instance = @import("instance.zig").Instance;

const Query = struct {
    name: [HostName.max_len:0]u8 = undefined,
    port: [8]u8 = undefined,
    hints: posix.addrinfo,
    list: ?*posix.addrinfo = null,
    result: system.EAI = undefined,
    errno: posix.E = .SUCCESS,

    fn run(argument: ?*anyopaque) callconv(.c) ?*anyopaque {
        const query: *Query = @ptrCast(@alignCast(argument));
        query.resolve();
        return null;
    }

    fn resolve(query: *Query) void {
        while (true) {
            query.result = system.getaddrinfo(&query.name, @ptrCast(&query.port), &query.hints, &query.list);
            if (query.result != .SYSTEM) return;
            query.errno = posix.errno(-1);
            if (query.errno != .INTR) return;
        }
    }

    fn check(query: *Query) HostName.LookupError!void {
        if (@backingInt(query.result) == 0) return;
        return switch (query.result) {
            .ADDRFAMILY, .FAMILY => error.AddressFamilyUnsupported,
            .AGAIN, .FAIL => error.NameServerFailure,
            .MEMORY => error.SystemResources,
            .NODATA, .NONAME => error.UnknownHostName,
            .SYSTEM => posix.unexpectedErrno(query.errno),
            else => error.Unexpected,
        };
    }
};

/// `netLookup` of `std.Io`.
pub fn lookup(
    userdata: ?*anyopaque,
    host: HostName,
    resolved: *Io.Queue(HostName.LookupResult),
    options: HostName.LookupOptions,
) HostName.LookupError!void {
    const instance: *Instance = .of(userdata);
    defer resolved.close(instance.io());
    try cancel.check();
    var query: Query = .{ .hints = .{
        .flags = .{ .CANONNAME = options.canonical_name_buffer != null, .NUMERICSERV = true },
        .family = if (options.family) |family| switch (family) {
            .ip4 => posix.AF.INET,
            .ip6 => posix.AF.INET6,
        } else posix.AF.UNSPEC,
        .socktype = posix.SOCK.STREAM,
        .protocol = posix.IPPROTO.TCP,
        .canonname = null,
        .addr = null,
        .addrlen = 0,
        .next = null,
    } };
    @memcpy(query.name[0..host.bytes.len], host.bytes);
    query.name[host.bytes.len] = 0;
    _ = std.mem.printSentinel(&query.port, "{d}", .{options.port}, 0) catch unreachable;
    if (!c.blitz_is_fiber() or !instance.runBlocking(Query.run, &query)) query.resolve();
    try query.check();
    defer if (query.list) |list| system.freeaddrinfo(list);
    handOver(instance.io(), query.list, resolved, options) catch |err| switch (err) {
        error.Closed => unreachable, // only this function closes the queue
        error.Canceled => |e| return e,
    };
}

fn handOver(
    io: Io,
    list: ?*posix.addrinfo,
    resolved: *Io.Queue(HostName.LookupResult),
    options: HostName.LookupOptions,
) (Io.QueueClosedError || Io.Cancelable)!void {
    var canonical: ?[*:0]const u8 = null;
    var next = list;
    while (next) |info| : (next = info.next) {
        const found = info.addr orelse continue;
        try resolved.putOne(io, .{ .address = address.fromSystem(@alignCast(@fieldParentPtr("any", found))) });
        if (canonical == null) canonical = info.canonname;
    }
    const buffer = options.canonical_name_buffer orelse return;
    const name = std.mem.sliceTo(canonical orelse return, 0);
    if (name.len > buffer.len) return;
    @memcpy(buffer[0..name.len], name);
    try resolved.putOne(io, .{ .canonical_name = .{ .bytes = buffer[0..name.len] } });
}
