//! One-time initialisation on a word that threads and fibers wait for. (For threads
//! alone: [`Once`](blitz_io_sync::thread::Once).)
//!
//! # Protocol
//!
//! 1. The call that changes the word from `NEW` to `RUNNING` runs the function.
//! 2. Another call that finds `RUNNING` changes it to `AWAITED`, and sleeps while the word is that.
//! 3. When the function has ended, its call exchanges the word for `DONE`. If the word was `AWAITED`
//!    before, it wakes all sleepers.
//!
//! **No wake-up is lost.** A call sleeps only on the value `AWAITED`. The exchange of step 3 either
//! finds that value, and wakes; or it came before step 2, which then fails and finds `DONE`. A sleeper
//! that the wake misses has not compared the word yet, and finds it changed. A call that gives up
//! leaves the word as it is: at most the wake of step 3 then finds no sleeper.
//!
//! The exchange of step 3 is the last use of the word: another call may see `DONE` and free it. A wake
//! uses the address only.
//!
//! `DONE` is stored with release ordering and read with acquire ordering, so the effects of the
//! function are visible to all calls that return.

use blitz_io_futex::atomic::{AtomicU32, Ordering};

/// No call has been made.
const NEW: u32 = 0;
/// A call runs the function.
const RUNNING: u32 = 1;
/// A call runs the function, and others may sleep on the word.
const AWAITED: u32 = 2;
/// The function has ended. This is the largest value.
pub const DONE: u32 = 3;

/// Calls `run` unless a call with this word has done so, or waits until that call has ended. `wait`
/// sleeps while the word holds a value, and may return early; it returns false to give up. `wake`
/// wakes all that sleep. Returns whether the function has run.
#[inline]
pub fn call(
    word: &AtomicU32,
    run: impl FnOnce(),
    wait: impl FnMut(&AtomicU32, u32) -> bool,
    wake: impl FnOnce(*const AtomicU32),
) -> bool {
    // A load costs little; a failed compare-exchange costs as much as one that succeeds.
    if is_done(word) {
        return true;
    }
    if exchange(word, NEW, RUNNING).is_err() {
        return wait_for_end(word, wait);
    }
    run();
    let address: *const AtomicU32 = word;
    if word.swap(DONE, Ordering::Release) == AWAITED {
        wake(address);
    }
    true
}

/// Returns `true` if the function has run. Its effects are visible then.
#[inline]
pub fn is_done(word: &AtomicU32) -> bool {
    word.load(Ordering::Acquire) == DONE
}

#[cold]
fn wait_for_end(word: &AtomicU32, mut wait: impl FnMut(&AtomicU32, u32) -> bool) -> bool {
    while !matches!(exchange(word, RUNNING, AWAITED), Err(DONE)) {
        if !wait(word, AWAITED) {
            return is_done(word);
        }
    }
    true
}

#[inline]
fn exchange(word: &AtomicU32, from: u32, to: u32) -> Result<u32, u32> {
    word.compare_exchange(from, to, Ordering::Acquire, Ordering::Acquire)
}
