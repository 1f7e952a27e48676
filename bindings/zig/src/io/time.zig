//! Deadlines, and sleeping.

const std = @import("std");
const Io = std.Io;
const c = @import("../c.zig");
const cancel = @import("cancel.zig");
const Instance = @import("instance.zig").Instance;

/// The deadline of the C interface for a timeout that begins now.
pub fn deadline(instance: *Instance, timeout: Io.Timeout) u64 {
    const duration = timeout.toDurationFromNow(instance.io()) orelse return c.BLITZ_NEVER;
    const ns = std.math.lossyCast(u64, duration.raw.toNanoseconds());
    // A duration that is too long for the clock never ends.
    return c.blitz_now_ns() +| ns;
}

/// `sleep` of `std.Io`.
pub fn sleep(userdata: ?*anyopaque, timeout: Io.Timeout) Io.Cancelable!void {
    try cancel.check();
    const result = c.blitz_sleep_until(deadline(.of(userdata), timeout));
    if (result == c.BLITZ_ECANCELED and c.blitz_fiber_is_cancelled()) return cancel.acknowledge();
}
