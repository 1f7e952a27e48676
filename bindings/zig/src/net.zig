//! Sockets.

pub const Address = @import("net/address.zig").Address;
pub const Listener = @import("net/listener.zig").Listener;
pub const Stream = @import("net/stream.zig").Stream;
pub const UdpSocket = @import("net/udp.zig").UdpSocket;
pub const lookup = @import("net/address.zig").lookup;

test {
    @import("std").testing.refAllDecls(@This());
}
