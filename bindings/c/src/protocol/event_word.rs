//! An event on a word that threads and fibers wait for. (For threads alone:
//! [`Event`](blitz_io_sync::thread::Event).) A word of
//! 0 is an event that is not set.
//!
//! Bit 0 of the word is `SET` in both kinds. All changes are read-modify-writes of one word, so there
//! is one order of changes that all threads agree on.
//!
//! # Manual reset
//!
//! Bit 1 is `AWAITED`, and the bits above it count the resets: the *generation*.
//!
//! 1. A waiter that finds the event unset sets `AWAITED` by a compare-exchange, unless it is set. Then it
//!    sleeps while the word keeps that value. It leaves when it finds `SET` or another generation than at
//!    first: then the event has been set and reset since.
//! 2. To set is to set `SET`. If that was clear, and `AWAITED` set, it wakes all sleepers.
//! 3. To reset an event that is set is to clear `SET` and `AWAITED`, and to add 1 to the generation.
//!
//! **No wake-up is lost.** A waiter sleeps only on an unset word of its generation with `AWAITED`. The set
//! that ends this generation either finds `AWAITED`, and wakes; or it came before the compare-exchange of
//! step 1, which then fails, and the waiter finds `SET` or another generation. A sleeper that the wake misses
//! has not compared the word yet, and finds it changed. The wake may hit waiters of the next generation, which
//! look and sleep again. (The generation wraps after 2³⁰ resets: a waiter would have to sleep through
//! exactly that many.)
//!
//! # Automatic reset
//!
//! The bits above `SET` count the waiters.
//!
//! 1. A waiter that finds `SET` clears it, and proceeds. Otherwise it adds itself to the count, in one
//!    compare-exchange with the look. Then it sleeps while the word keeps that value.
//! 2. After each sleep it looks again: if it finds `SET`, it clears that and leaves the count, in one
//!    compare-exchange. A waiter that gives up leaves the count by a compare-exchange of a word without
//!    `SET`.
//! 3. To set is to set `SET`. If that was clear, and the count is not 0, it wakes one sleeper.
//!
//! **No wake-up is lost**: while `SET` is set and waiters are counted, one of them is awake and will look, or
//! a wake is on its way.
//!
//! 1. A waiter falls asleep only on a word without `SET`. So at the moment at which `SET` becomes set, each
//!    counted waiter is asleep, or is awake and will look. The sleep of the latter finds another word. (If
//!    `SET` has been cleared before the sleep compares, some waiter has proceeded with it.)
//! 2. If all are asleep, the wake of step 3 wakes one, which looks. Another thread may have cleared `SET`
//!    before; then no other wake is needed.
//! 3. A waiter that looks and finds `SET` takes it, even if its time has passed or it is cancelled. So no
//!    woken waiter leaves with `SET` set.
//! 4. To set what is set needs no wake: by 1 to 3 a waiter will look.
//!
//! # Both
//!
//! **When the word may be freed.** Setting uses the word once, in its read-modify-write: a thread that a set
//! has released may free the word. A wake uses the address only.
//!
//! **Order.** A set always writes, with release ordering, even if the event is set: of two setters the second
//! may have more to show. The other changes are read-modify-writes too, so they carry on its release
//! sequence. A waiter proceeds by an acquire.

use blitz_io_futex::atomic::{AtomicU32, Ordering};

/// The event is set.
const SET: u32 = 1;

/// Returns `true` if the event is set, and resets it if `is_auto`.
#[inline]
pub fn try_take(word: &AtomicU32, is_auto: bool) -> bool {
    if is_auto {
        word.load(Ordering::Relaxed) & SET != 0 && auto::take(word)
    } else {
        word.load(Ordering::Acquire) & SET != 0
    }
}

/// An event that stays set until it is reset.
pub mod manual {
    use super::{AtomicU32, Ordering, SET};

    /// Waiters may sleep on the word.
    const AWAITED: u32 = 2;
    /// One reset.
    const GENERATION: u32 = 4;

    /// Sets the event. `wake` wakes all sleepers.
    #[inline]
    pub fn set(word: &AtomicU32, wake: impl FnOnce(*const AtomicU32)) {
        let address: *const AtomicU32 = word;
        let before = word.fetch_or(SET, Ordering::Release);
        if before & (SET | AWAITED) == AWAITED {
            wake(address);
        }
    }

    /// Resets the event. Sees the work before the sets that this undoes.
    pub fn reset(word: &AtomicU32) {
        let next = |state: u32| {
            let generation = state & !(GENERATION - 1);
            (state & SET != 0).then(|| generation.wrapping_add(GENERATION))
        };
        _ = word.fetch_update(Ordering::Acquire, Ordering::Relaxed, next);
    }

    /// Waits until the event is set. `sleep` sleeps while the word holds a value, and may return early;
    /// its error ends the wait, unless the event has been set by then.
    pub fn wait<E>(
        word: &AtomicU32,
        mut sleep: impl FnMut(&AtomicU32, u32) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut state = word.load(Ordering::Acquire);
        let generation = state / GENERATION;
        let mut slept = Ok(());
        loop {
            if state & SET != 0 || state / GENERATION != generation {
                return Ok(());
            }
            slept?;
            let awaited = state | AWAITED;
            if state != awaited {
                let order = (Ordering::Relaxed, Ordering::Acquire);
                if let Err(now) = word.compare_exchange_weak(state, awaited, order.0, order.1) {
                    (state, slept) = (now, Ok(()));
                    continue;
                }
            }
            slept = sleep(word, awaited);
            state = word.load(Ordering::Acquire);
        }
    }
}

/// An event that the one waiter resets which it lets go.
pub mod auto {
    use super::{AtomicU32, Ordering, SET};

    /// One waiter.
    const WAITER: u32 = 2;

    /// Sets the event. `wake` wakes one sleeper.
    #[inline]
    pub fn set(word: &AtomicU32, wake: impl FnOnce(*const AtomicU32)) {
        let address: *const AtomicU32 = word;
        let before = word.fetch_or(SET, Ordering::Release);
        if before & SET == 0 && before >= WAITER {
            wake(address);
        }
    }

    /// Resets the event. Returns `true` if it was set: the work before its sets is then visible.
    #[inline]
    pub fn take(word: &AtomicU32) -> bool {
        word.fetch_and(!SET, Ordering::Acquire) & SET != 0
    }

    /// Waits until the event is set, and resets it. `sleep` sleeps while the word holds a value, and may
    /// return early; its error ends the wait, unless the event is set by then.
    pub fn wait<E>(
        word: &AtomicU32,
        mut sleep: impl FnMut(&AtomicU32, u32) -> Result<(), E>,
    ) -> Result<(), E> {
        if take_or(word, 0, |state| state + WAITER).is_ok() {
            return Ok(());
        }
        let mut slept = Ok(());
        loop {
            let next = |state: u32| {
                if slept.is_err() {
                    state - WAITER
                } else {
                    state
                }
            };
            match take_or(word, WAITER, next) {
                Ok(()) => return Ok(()),
                Err(state) => {
                    slept?;
                    slept = sleep(word, state);
                }
            }
        }
    }

    /// Clears `SET` and subtracts `counted`, if `SET` is set. Otherwise replaces the word by `next` of
    /// it, and fails with the word that it is then.
    fn take_or(word: &AtomicU32, counted: u32, next: impl Fn(u32) -> u32) -> Result<(), u32> {
        let mut state = word.load(Ordering::Relaxed);
        loop {
            let is_set = state & SET != 0;
            let to = if is_set {
                (state & !SET) - counted
            } else {
                next(state)
            };
            if to == state {
                return Err(state);
            }
            match word.compare_exchange_weak(state, to, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) if is_set => return Ok(()),
                Ok(_) => return Err(to),
                Err(now) => state = now,
            }
        }
    }
}
