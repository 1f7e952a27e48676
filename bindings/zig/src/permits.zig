//! The word of a lock by value, as `blitz.h` documents it: the fast paths of locks without a call.
//!
//! Each function returns whether it did its work. If not, the function of the C interface decides.

const c = @import("c.zig");

/// Changes the word of a lock that has been used from `from` to `to`.
pub inline fn exchange(
    raw: anytype,
    from: usize,
    to: usize,
    comptime order: @import("std").builtin.AtomicOrder,
) bool {
    return isReady(raw) and @cmpxchgStrong(usize, word(raw), from, to, order, .monotonic) == null;
}

/// Takes the part of a reader.
pub inline fn takePart(raw: *c.blitz_rwlock) bool {
    if (!isReady(raw)) return false;
    const free = @atomicLoad(usize, word(raw), .monotonic);
    if (free < c.BLITZ_RWLOCK_READER or free & waits != 0) return false;
    return @cmpxchgStrong(usize, word(raw), free, free - c.BLITZ_RWLOCK_READER, .acquire, .monotonic) == null;
}

/// Gives the part of a reader back.
pub inline fn returnPart(raw: *c.blitz_rwlock) bool {
    if (!isReady(raw)) return false;
    const free = @atomicLoad(usize, word(raw), .monotonic);
    if (free > c.BLITZ_RWLOCK_FREE - c.BLITZ_RWLOCK_READER or free & waits != 0) return false;
    return @cmpxchgStrong(usize, word(raw), free, free + c.BLITZ_RWLOCK_READER, .release, .monotonic) == null;
}

/// The bits of the word that are set while something waits.
const waits = c.BLITZ_RWLOCK_READER - 1;

inline fn isReady(raw: anytype) bool {
    return @atomicLoad(u32, &raw.state, .acquire) == c.BLITZ_STATE_READY;
}

inline fn word(raw: anytype) *usize {
    return @ptrCast(&raw.space[0]);
}
