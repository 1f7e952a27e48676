//! The event that stays set until it is reset.
//!
//! # The algorithm
//!
//! One futex word:
//!
//! * `SET`, bit 0: the event is set;
//! * `SLEEPERS`, bit 1: a thread sleeps, or is about to, for this generation;
//! * the *generation* above them, which counts the resets.
//!
//! | move | by |
//! |---|---|
//! | sets `SLEEPERS` | a waiter that found the event unset |
//! | sets `SET`, and wakes all if it was clear and `SLEEPERS` is set | `set` |
//! | clears `SET` and `SLEEPERS` and adds one to the generation | `reset` of a set event |
//!
//! A waiter leaves when it sees `SET`, or a generation other than the one in which it came: then
//! the event has been set and reset since. So a `set` releases all that wait at that moment even
//! if a `reset` follows at once and they run only after it.
//!
//! # Why no wake-up is lost
//!
//! All of it is one location, and each change is a read-modify-write, so there is one order of
//! changes that all threads agree on. If a waiter's `SLEEPERS` comes before a `SET`, the setter
//! reads it and wakes. If it comes after, the waiter's compare-exchange fails and it reads `SET`,
//! or a later generation. A waiter falls asleep only while the word is unset and of its own
//! generation. So the wake of the `SET` that ends that generation is still to come, and finds the
//! waiter asleep. A `reset` between the `SET` and its wake changes nothing about that. The wake
//! may hit waiters of the next generation, too: they look, and go back to sleep.
//!
//! The pattern of an announcement and a check on *two* locations, which would
//! need `SeqCst`, does not occur.
//!
//! # Order
//!
//! `set` always writes, with release ordering, even if the event is set: of two setters the
//! second may have more to show. `reset` is an acquire. So a thread that resets the event and
//! then looks for work misses none that a thread prepared before the `set` that this `reset`
//! undoes. Both are read-modify-writes and carry on the release sequence, so a waiter that reads
//! a later generation has synchronised with the `set` in between.
//!
//! After its read-modify-write `set` has only the address, which may be freed by
//! then. The generation wraps after 2³⁰ resets: a waiter would have to sleep
//! through exactly that many to take the word for unchanged.

use super::SET;
use blitz_io_core::deadline;
use blitz_io_core::spin::Spin;
use blitz_io_futex::WaitResult;
use blitz_io_futex::atomic::{AtomicU32, Ordering};
use blitz_io_observe as observe;
use std::time::Instant;

pub(super) const SLEEPERS: u32 = 2;
/// One reset. All bits from here up are the generation.
const GENERATION: u32 = 4;

#[inline]
pub(super) fn set(event: &AtomicU32) {
    let address: *const AtomicU32 = event;
    let before = event.fetch_or(SET, Ordering::Release);
    // A released waiter may have freed the event by now.
    if before & (SET | SLEEPERS) == SLEEPERS {
        wake_all(address);
    }
}

pub(super) fn reset(event: &AtomicU32) {
    let unset = |word| (word & SET != 0).then(|| next_generation(word));
    _ = event.fetch_update(Ordering::Acquire, Ordering::Relaxed, unset);
}

/// Waits for an event that was not set. Returns `true` if it was set before `deadline`.
#[cold]
pub(super) fn wait(event: &AtomicU32, deadline: Option<Instant>) -> bool {
    let arrival = generation(event.load(Ordering::Acquire));
    let is_released = |word| word & SET != 0 || generation(word) != arrival;
    let look = || is_released(event.load(Ordering::Acquire));
    if deadline::spin_until(Spin::EVENT, deadline, look) {
        return true;
    }
    let announces = |word| word & SLEEPERS == 0 && !is_released(word);
    let announce = |word| announces(word).then_some(word | SLEEPERS);
    loop {
        let announced = event.fetch_update(Ordering::Relaxed, Ordering::Acquire, announce);
        let (Ok(word) | Err(word)) = announced;
        if is_released(word) {
            return true;
        }
        let _record = observe::sleeping(event);
        let result = blitz_io_futex::wait_deadline(event, word | SLEEPERS, deadline);
        if result == WaitResult::TimedOut {
            return look();
        }
    }
}

#[cold]
fn wake_all(address: *const AtomicU32) {
    blitz_io_futex::wake_all(address);
}

fn generation(word: u32) -> u32 {
    word / GENERATION
}

/// Returns the word after a reset.
fn next_generation(word: u32) -> u32 {
    let unset = word & !(SET | SLEEPERS);
    unset.wrapping_add(GENERATION)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thread::Event;

    #[test]
    fn the_generation_wraps() {
        let event = Event {
            word: AtomicU32::new(!(GENERATION - 1) | SET),
            ..Event::new_manual(false)
        };
        event.reset();
        assert_eq!(event.word.load(Ordering::Relaxed), 0);
        assert!(!event.is_set());
        event.set();
        assert!(event.is_set());
    }
}
