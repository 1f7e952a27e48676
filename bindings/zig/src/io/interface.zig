//! The name of a network interface. In Zig 0.17 the standard implementation has a panic there, except on
//! Windows.

const std = @import("std");
const builtin = @import("builtin");
const Interface = std.Io.net.Interface;
const posix = std.posix;
const cancel = @import("cancel.zig");
const forward = @import("forward.zig");

extern "c" fn if_indextoname(index: c_uint, name: [*]u8) ?[*:0]u8;

/// `netInterfaceName` of `std.Io`.
pub fn name(userdata: ?*anyopaque, interface: Interface) Interface.NameError!Interface.Name {
    if (builtin.os.tag == .windows) return forward.call("netInterfaceName", .of(userdata), .{interface});
    try cancel.check();
    // The kernel has a table of the interfaces, so this does not wait.
    var found: Interface.Name = undefined;
    if (if_indextoname(interface.index, &found.bytes) != null) return found;
    return switch (posix.errno(-1)) {
        .NXIO, .NODEV => error.InterfaceNotFound,
        else => |err| posix.unexpectedErrno(err),
    };
}
