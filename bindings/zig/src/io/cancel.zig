//! The cancel requests of the calling fiber, with the contract of `std.Io`.
//!
//! The C interface lets every wait of a cancelled fiber fail, except while the fiber has asked to be
//! left alone. `std.Io` reports a request once. So a fiber that has reported its request asks to be
//! left alone from then on, and `recancel` ends that.
//!
//! The two facts that are needed for this are bits in the pointer that the C interface keeps for
//! each fiber. So every fiber has them, whatever has started it, and they need no memory.

const std = @import("std");
const c = @import("../c.zig");

const State = packed struct(usize) {
    /// The request was reported, and not re-armed since.
    acknowledged: bool = false,
    /// The fiber is protected from requests.
    protected: bool = false,
    unused: @Int(.unsigned, @bitSizeOf(usize) - 2) = 0,

    fn load() State {
        return @bitCast(@intFromPtr(c.blitz_fiber_local()));
    }

    fn store(state: State) void {
        const bits: usize = @bitCast(state);
        _ = c.blitz_fiber_set_local(@ptrFromInt(bits));
    }
};

/// Returns `error.Canceled` if a request for the calling fiber is outstanding.
pub fn check() std.Io.Cancelable!void {
    if (c.blitz_fiber_is_cancelled()) return acknowledge();
}

/// Reports the outstanding request of the calling fiber.
pub fn acknowledge() std.Io.Cancelable {
    note();
    return error.Canceled;
}

/// Keeps that the request of the calling fiber is reported.
pub fn note() void {
    @branchHint(.cold);
    var state: State = .load();
    std.debug.assert(!state.acknowledged);
    state.acknowledged = true;
    state.store();
    begin();
}

/// Returns `true` if the calling fiber has reported its request.
pub fn isAcknowledged() bool {
    return State.load().acknowledged;
}

/// Lets the request of the calling fiber, which it has reported, be reported again.
pub fn recancel() void {
    var state: State = .load();
    std.debug.assert(state.acknowledged); // called `recancel` but was not canceled
    state.acknowledged = false;
    state.store();
    end();
}

/// Changes the protection of the calling fiber, and returns the former one. A thread cannot be
/// cancelled, so it is never protected.
pub fn swapProtection(new: std.Io.CancelProtection) std.Io.CancelProtection {
    if (!c.blitz_is_fiber()) return .unblocked;
    var state: State = .load();
    const was_protected = state.protected;
    const protect = new == .blocked;
    if (protect != was_protected) {
        state.protected = protect;
        state.store();
        if (protect) begin() else end();
    }
    return if (was_protected) .blocked else .unblocked;
}

/// Begins a part of the calling fiber in which no wait is cancelled. Nothing in a thread.
pub fn begin() void {
    _ = c.blitz_fiber_mask_cancel(true);
}

/// Ends what `begin` has begun.
pub fn end() void {
    _ = c.blitz_fiber_mask_cancel(false);
}
