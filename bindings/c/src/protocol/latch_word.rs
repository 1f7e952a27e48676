//! A count that goes down to 0, on a word that threads and fibers wait for. (For threads
//! alone: [`Latch`](blitz_io_sync::thread::Latch).)
//!
//! # States
//!
//! * `NEW`: the count is the initial one, which each call passes.
//! * `OPEN`: the count is 0. That is final.
//! * Otherwise: the count in the bits from 1 on, and `AWAITED` in bit 0.
//!
//! # Protocol
//!
//! 1. To count down is to change the word by a compare-exchange, which keeps `AWAITED` or stores
//!    `OPEN`. If it stores `OPEN` and the word had `AWAITED`, it wakes all sleepers.
//! 2. A waiter that finds a count above 0 sets `AWAITED` by a compare-exchange, unless it is set. Then
//!    it sleeps while the word keeps that value. Another count-down changes the word without a wake: it
//!    leaves sleepers asleep, and at most makes a waiter look again.
//!
//! **No wake-up is lost.** A waiter sleeps only on a word with `AWAITED` and a count above 0. All
//! changes are read-modify-writes of one word, so the last count-down either finds `AWAITED`, and
//! wakes; or it came before step 2, whose compare-exchange then fails, and the waiter finds `OPEN`. A
//! sleeper that the wake misses has not compared the word yet, and finds it changed. A waiter that
//! gives up leaves `AWAITED` set: at most the wake then finds no sleeper.
//!
//! **When the word may be freed.** The compare-exchange of the last count-down is its last use of the
//! word: a waiter may see `OPEN` and free it. A wake uses the address only.
//!
//! **Order.** Each count-down is a release, and the later changes are read-modify-writes, which carry on
//! its release sequence. A waiter that reads `OPEN` with acquire ordering sees the work before all of them.

use blitz_io_futex::atomic::{AtomicU32, Ordering};

/// The count is the initial one.
const NEW: u32 = 0;
/// The count is 0.
const OPEN: u32 = 1;
/// Waiters may sleep on the word.
const AWAITED: u32 = 1;

/// Returns `true` if the count is 0. The work before each count-down is visible then.
#[inline]
pub fn is_open(word: &AtomicU32, initial: u32) -> bool {
    count_in(word.load(Ordering::Acquire), initial) == 0
}

/// Lowers the count by `n`, and calls `wake`, which wakes all sleepers, if it is 0 then. Returns `false`,
/// and changes nothing, if the count is less than `n`.
#[inline]
pub fn count_down(
    word: &AtomicU32,
    initial: u32,
    n: u32,
    wake: impl FnOnce(*const AtomicU32),
) -> bool {
    let address: *const AtomicU32 = word;
    let mut state = word.load(Ordering::Relaxed);
    loop {
        let next = match count_in(state, initial).checked_sub(n) {
            None => return false,
            Some(_) if n == 0 => return true,
            Some(0) => OPEN,
            Some(left) => left << 1 | state & AWAITED,
        };
        match word.compare_exchange_weak(state, next, Ordering::Release, Ordering::Relaxed) {
            Ok(_) if next == OPEN && state & AWAITED != 0 => wake(address),
            Ok(_) => {}
            Err(now) => {
                state = now;
                continue;
            }
        }
        return true;
    }
}

/// Waits until the count is 0. `sleep` sleeps while the word holds a value, and may return early; its
/// error ends the wait, unless the count is 0 by then.
pub fn wait<E>(
    word: &AtomicU32,
    initial: u32,
    mut sleep: impl FnMut(&AtomicU32, u32) -> Result<(), E>,
) -> Result<(), E> {
    while let Some(awaited) = announce(word, initial) {
        if let Err(error) = sleep(word, awaited) {
            return if is_open(word, initial) {
                Ok(())
            } else {
                Err(error)
            };
        }
    }
    Ok(())
}

/// Sets `AWAITED`, and returns the word to sleep on; `None` if the count is 0.
fn announce(word: &AtomicU32, initial: u32) -> Option<u32> {
    let mut state = word.load(Ordering::Acquire);
    loop {
        let count = count_in(state, initial);
        if count == 0 {
            return None;
        }
        let awaited = count << 1 | AWAITED;
        if state == awaited {
            return Some(awaited);
        }
        match word.compare_exchange_weak(state, awaited, Ordering::Relaxed, Ordering::Acquire) {
            Ok(_) => return Some(awaited),
            Err(now) => state = now,
        }
    }
}

/// Returns the count in a state of a latch with this initial count.
#[inline]
pub fn count_in(state: u32, initial: u32) -> u32 {
    if state == NEW { initial } else { state >> 1 }
}
