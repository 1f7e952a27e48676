//! The permits of a lock or semaphore by value: its word, less the bits that show waiters.
//!
//! Each function returns `true` if it did its work. If not, the function of the C interface decides.

const c = @import("c.zig");
const word = @import("word.zig");

/// A permit in the word.
const permit = c.BLITZ_SEMAPHORE_PERMIT;

comptime {
    // A reader takes one.
    if (c.BLITZ_RWLOCK_READER != permit) unreachable;
    if (c.BLITZ_RWLOCK_FREE != c.BLITZ_SEMAPHORE_MAX * permit) unreachable;
}

/// The bits of the word that are set while something waits, or once a semaphore is closed.
const flags = permit - 1;

/// Takes permits, if there are as many.
pub inline fn take(raw: anytype, permits: u32) bool {
    const at = word.of(raw) orelse return false;
    const free = @atomicLoad(usize, at, .monotonic);
    if (free & flags != 0 or free / permit < permits) return false;
    return @cmpxchgStrong(usize, at, free, free - permits * permit, .acquire, .monotonic) == null;
}

/// Ends a lock for reading, if there is one.
pub inline fn unlockShared(raw: *c.blitz_rwlock) bool {
    const at = word.of(raw) orelse return false;
    const free = @atomicLoad(usize, at, .monotonic);
    // A writer takes all permits, and a lock that is free has all.
    if (free & flags != 0 or free == 0 or free == c.BLITZ_RWLOCK_FREE) return false;
    return @cmpxchgStrong(usize, at, free, free + permit, .release, .monotonic) == null;
}

/// Adds permits, if there is room for them.
pub inline fn add(raw: anytype, permits: u32) bool {
    const at = word.of(raw) orelse return false;
    const free = @atomicLoad(usize, at, .monotonic);
    if (free & flags != 0 or c.BLITZ_SEMAPHORE_MAX -| free / permit < permits) return false;
    return @cmpxchgStrong(usize, at, free, free + permits * permit, .release, .monotonic) == null;
}
