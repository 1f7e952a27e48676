//! Locks, channels, fibers, sockets, a fork-join pool, and messages between processes.
//!
//! Every function that waits works in a thread and in a fiber: it suspends the calling fiber only,
//! and blocks the thread if the caller is not a fiber.

pub const c = @import("c.zig");

test "the library has the ABI version of these declarations" {
    const std = @import("std");
    try std.testing.expectEqual(c.BLITZ_ABI_VERSION, c.blitz_abi_version());
}
