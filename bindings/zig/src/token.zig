//! The token of a `blitz_parker`: two bits of its word.
//!
//! Each function returns `true` if it did its work. If not, the function of the C interface decides.

const c = @import("c.zig");
const word = @import("word.zig");

/// The bits. Those above them are a count of the C library.
const bits = 3;

/// Stores the token, if there is none and nothing waits.
pub inline fn put(raw: *c.blitz_parker) bool {
    return change(raw, 0, c.BLITZ_PARKER_TOKEN);
}

/// Takes the token, if there is one.
pub inline fn take(raw: *c.blitz_parker) bool {
    return change(raw, c.BLITZ_PARKER_TOKEN, 0);
}

inline fn change(raw: *c.blitz_parker, from: usize, to: usize) bool {
    const at = word.of(raw) orelse return false;
    const now = @atomicLoad(usize, at, .monotonic);
    if (now & bits != from) return false;
    return @cmpxchgStrong(usize, at, now, now ^ from ^ to, .acq_rel, .monotonic) == null;
}
