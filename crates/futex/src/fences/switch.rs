//! How the frequent side fences, and the switch from light to strong releases.
//!
//! # States
//!
//! 1. [`UNKNOWN`]: no thread has used the fences yet. The frequent side fences for itself.
//! 2. [`REGISTERING`]: one thread asks the system for its barrier, which takes milliseconds in a
//!    process with several threads. The others do not wait: the frequent side fences for itself.
//! 3. [`LIGHT`]: the frequent side makes a plain store, and the rare side runs the barrier.
//! 4. [`LEAVING`]: a barrier has come late or was refused. The frequent side fences for itself, but
//!    light stores may still be on their way: the rare side runs the barrier.
//! 5. [`STRONG`]: for ever. Both sides fence for themselves.
//!
//! | row | event | `UNKNOWN` | `REGISTERING` | `LIGHT` | `LEAVING` | `STRONG` |
//! |---|---|---|---|---|---|---|
//! | F1 | [`register`] begins | `REGISTERING` | | | | |
//! | F2 | `register` ends, in the thread of F1 | · | `LIGHT`, or `STRONG` if the system refuses | · | · | · |
//! | F3 | [`pass`] finds its barrier late | · | · | `LEAVING` | | |
//! | F4 | the next barrier ends, in the thread of F3 | · | · | · | `LIGHT`, or `STRONG` if it was late too | · |
//!
//! An empty cell stays as it is, and `·` does not occur.
//!
//! # The switch
//!
//! Barriers that are late (`membarrier.rs`) come from a hypervisor that does not deliver interrupts
//! to a running processor in time. So the thread that notices it
//!
//! 1. changes `LIGHT` to `LEAVING` (F3); if that fails, another thread has begun the switch;
//! 2. runs the barrier again, and measures it, too;
//! 3. stores `STRONG` if it was late again, and `LIGHT` otherwise (F4).
//!
//! # No store is missed
//!
//! The frequent side P stores its change, reads the state, and looks for announcements. The rare
//! side R announces, fences, reads the state, runs the barrier if the state is `LIGHT` or
//! `LEAVING`, fences, and looks for changes. At least one of them sees the other:
//!
//! 1. *R ran the barrier.* It passed P's processor before P's look, which then sees the
//!    announcement; or after P's store, which R's look then sees.
//! 2. *P did not read `LIGHT`.* Then it fenced between its store and its look, as R did.
//! 3. *P read `LIGHT`, and R read `UNKNOWN` or `REGISTERING`.* R announced before it read, and
//!    `LIGHT` was stored after that (F2). P's look comes after its read of `LIGHT`, so it sees the
//!    announcement.
//! 4. *P read `LIGHT`, and R read `STRONG`.* Before `STRONG` (F4), the switching thread ran a barrier
//!    (step 2 of the switch), and before that it had stored `LEAVING` (F3). A read of the state after
//!    the barrier has passed P's processor returns `LEAVING` or `STRONG`. So P read `LIGHT`
//!    before the barrier, and had stored its change before that: the barrier made the change
//!    visible, and R's look sees it.
//!
//! The frequent side reads the state *after* its store. Point 4 rests on that.

#[cfg_attr(loom, path = "switch/begun.rs")]
mod beginning;

use crate::atomic::Ordering;

pub use beginning::*;

pub const LIGHT: u8 = 2;
pub const LEAVING: u8 = 3;
pub const STRONG: u8 = 4;

/// Returns `true` if the frequent side may leave its fence to the rare side. Call it after the store.
#[inline(always)]
pub fn is_light() -> bool {
    STATE.load(Ordering::Acquire) == LIGHT
}

/// Runs `barrier` if the frequent side may be light. `barrier` returns whether it was in time.
pub fn pass(barrier: fn() -> bool) {
    let state = STATE.load(Ordering::SeqCst);
    if (state == LIGHT || state == LEAVING) && !barrier() {
        leave_light(barrier);
    }
}

/// Rows F3 and F4. Handles a late barrier. Makes both sides fence for themselves if the next one is late, too.
#[cold]
fn leave_light(barrier: fn() -> bool) {
    if change(LIGHT, LEAVING) {
        let state = if barrier() { LIGHT } else { STRONG };
        STATE.store(state, Ordering::SeqCst);
    }
}

fn change(from: u8, to: u8) -> bool {
    STATE
        .compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst)
        .is_ok()
}
