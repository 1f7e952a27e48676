//! The word of an object by value that has been used, as `blitz.h` documents it: fast paths without a call.

const c = @import("c.zig");
const AtomicOrder = @import("std").builtin.AtomicOrder;

/// Returns the word, or null before the first use, which takes a call.
pub inline fn of(raw: anytype) ?*usize {
    const is_ready = @atomicLoad(u32, &raw.state, .acquire) == c.BLITZ_STATE_READY;
    return if (is_ready) @ptrCast(&raw.space[0]) else null;
}

/// Changes the word from `from` to `to`. Returns `true` if it did; if not, the function of the C interface
/// decides.
pub inline fn exchange(raw: anytype, from: usize, to: usize, comptime order: AtomicOrder) bool {
    const word = of(raw) orelse return false;
    return @cmpxchgStrong(usize, word, from, to, order, .monotonic) == null;
}
