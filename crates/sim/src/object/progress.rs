//! What counts as progress. A run without it is a livelock.
//!
//! A limit of points would end programs that run long, and a program that runs long differs from one that
//! turns in a circle by what its calls bring about:
//!
//! - *change*: bytes were transferred, a connection was made, a thread began or ended. After each, the
//!   program is in a state that it was not in.
//! - *a wake*: a thread began to wait, a call found a waiting thread, or time reached a deadline. That may be part of a circle: two
//!   threads that poll a flag under a lock wake each other for ever, and one that sleeps between two looks is
//!   woken by time for ever. An atomic operation that changes its value (`atomics`) counts as one, as two
//!   threads that poll a flag under a spin lock do so for ever.
//!
//! A run is a livelock if `Region::limit` points pass without either, or [`WAKES`] times as many with
//! nothing but wakes. So each run ends that moves no bytes and starts no threads. A deadlock beside threads that wake each
//! other ends earlier, if the program has records of its waits (`explain`).

use core::sync::atomic::Ordering;

use crate::atomics;
use crate::end;
use crate::explain;
use crate::state::sim;

/// How many times as many points a run may make that has nothing but wakes.
const WAKES: u64 = 4;

unsafe fn points() -> u64 {
    sim().region().points.load(Ordering::Relaxed)
}

/// A call has changed the program's state.
pub unsafe fn change() {
    let s = sim();
    s.changed = points();
    s.moved = s.changed;
}

/// A thread was woken, or begins to wait.
pub unsafe fn wake() {
    sim().moved = points();
}

/// Notes the result of a transfer. Returns it.
pub unsafe fn transferred(result: isize) -> isize {
    if result > 0 {
        change();
    }
    result
}

/// Ends a run without progress, and one with waits that can never end.
pub unsafe fn check() {
    let s = sim();
    let (points, limit) = (points(), s.region().limit);
    let mut without_any = points - s.moved > limit;
    // Only now, and not at each change: so a change counts until the limit after it.
    if without_any && s.seen_changes != atomics::changes() {
        s.seen_changes = atomics::changes();
        s.moved = points;
        without_any = false;
    }
    if without_any || points - s.changed > limit.saturating_mul(WAKES) {
        end::livelock(without_any);
    }
    if points >= sim().next_judgement {
        explain::judge();
    }
}
