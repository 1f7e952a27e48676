//! The futex of `std.Io`: the calling fiber or thread sleeps on a word of 32 bits.

const std = @import("std");
const Io = std.Io;
const c = @import("../c.zig");
const cancel = @import("cancel.zig");
const time = @import("time.zig");
const Instance = @import("instance.zig").Instance;

/// `futexWait` of `std.Io`.
pub fn wait(userdata: ?*anyopaque, word: *const u32, expected: u32, timeout: Io.Timeout) Io.Cancelable!void {
    try cancel.check();
    const deadline = time.deadline(Instance.of(userdata), timeout);
    const result = c.blitz_futex_wait_until(word, expected, c.BLITZ_FUTEX_PRIVATE, deadline);
    // A wait may end without a reason: the caller looks at the word again.
    if (result == c.BLITZ_ECANCELED and c.blitz_fiber_is_cancelled()) return cancel.acknowledge();
}

/// `futexWaitUncancelable` of `std.Io`.
pub fn waitUncancelable(userdata: ?*anyopaque, word: *const u32, expected: u32) void {
    _ = userdata;
    sleep(word, expected);
}

/// `futexWake` of `std.Io`.
pub fn wake(userdata: ?*anyopaque, word: *const u32, max_waiters: u32) void {
    _ = userdata;
    _ = c.blitz_futex_wake(word, max_waiters, c.BLITZ_FUTEX_PRIVATE, null);
}

/// Sleeps while the word holds a value, whatever happens to the calling fiber.
pub fn sleep(word: *const u32, expected: u32) void {
    cancel.begin();
    defer cancel.end();
    _ = c.blitz_futex_wait(word, expected, c.BLITZ_FUTEX_PRIVATE);
}
