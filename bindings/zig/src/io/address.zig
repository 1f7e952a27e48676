//! Addresses of the system.

const std = @import("std");
const Threaded = std.Io.Threaded;

/// Room for an address of the system.
pub const Storage = @typeInfo(@typeInfo(@TypeOf(Threaded.addressFromPosix)).@"fn".param_types[0].?).pointer.child;
pub const fromSystem = Threaded.addressFromPosix;
pub const toSystem = Threaded.addressToPosix;
