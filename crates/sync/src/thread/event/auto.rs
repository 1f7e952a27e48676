//! The event of which each set lets one thread through.
//!
//! # The algorithm
//!
//! One futex word:
//!
//! * `SET`, bit 0: the event is set, and waits for a thread to take it;
//! * `waiting`: how many threads have announced that they wait;
//! * `released`: how many of those have been released by a `set` and have not
//!   left yet.
//!
//! | move | by, and when |
//! |---|---|
//! | clears `SET` | a thread that comes while it is set: it goes through |
//! | `waiting + 1` | a thread that comes while it is clear |
//! | `released + 1`, then wakes one | `set`, if `released < waiting` |
//! | sets `SET` | `set`, otherwise |
//! | `released - 1` and `waiting - 1` | a waiter that finds `released > 0`: it goes through |
//! | `waiting - 1` | a waiter that has timed out and finds `released == 0` |
//! | clears `SET` | `reset` |
//!
//! While `SET` is set no thread can join the waiting, and it is set only when all of them have
//! been released. So `SET` and an unreleased waiter exclude each other, and `set` has exactly one
//! of two things to do.
//!
//! A release is for a thread that waited when `set` was called: neither a `reset` nor a thread
//! that comes later can take it away. Which of the waiting threads takes it is open. Two sets
//! release two waiters, even if the first of them has not got round to leaving. While no thread
//! waits, sets are not counted.
//!
//! # Why no wake-up is lost
//!
//! All of it is one location, and each change is a read-modify-write, so there
//! is one order of changes that all threads agree on. If a waiter's announcement
//! comes before a `set`, the setter counts it and wakes. If it comes after, its
//! compare-exchange fails, and it finds `SET`. The pattern of an announcement
//! and a check on *two* locations, which would need `SeqCst`, does not occur.
//!
//! Each `released + 1` is followed by a wake of one thread. A waiter falls asleep only on a word
//! with `released == 0`, so after all earlier releases have been taken. So for each release that
//! is not taken yet, one of these holds:
//!
//! 1. Its wake is still to come.
//! 2. Its wake has woken a thread that is about to look.
//! 3. A waiter was awake and will look before it sleeps.
//!
//! Each waiter looks after *every* return from its sleep, before it checks the time. So a waiter
//! that the system chose for a wake at the moment of its deadline either takes the release and
//! reports it, or finds that another waiter has taken it. It cannot lose the release.
//!
//! # Order
//!
//! `set` always writes, with release ordering, even if the event is set: of two setters the
//! second may have more to show. A thread goes through by an acquire. As all changes are
//! read-modify-writes, the release sequence of every earlier `set` is carried on up to it.
//!
//! After its read-modify-write `set` has only the address, which may be freed by
//! then.
//!
//! # Limits
//!
//! 32,767 threads can be announced. The next one looks from time to time: as a sleeper
//! without an announcement it could swallow another's wake-up.

use super::SET;
use blitz_io_core::deadline;
use blitz_io_core::looks;
use blitz_io_core::spin::Spin;
use blitz_io_futex::WaitResult;
use blitz_io_futex::atomic::{AtomicU32, Ordering};
use blitz_io_observe as observe;
use std::time::{Duration, Instant};

/// One released waiter: bits 1 to 15.
const RELEASED: u32 = 1 << 1;
/// One waiter: bits 16 to 30.
const WAITING: u32 = 1 << 16;
/// The greatest number of waiters, and of released waiters.
const MAX: u32 = (1 << 15) - 1;
/// The time for which a thread sleeps between two looks for room. So many waiters take longer to leave.
const FULL_FOR: Duration = Duration::from_millis(1);

#[inline]
pub(super) fn set(event: &AtomicU32) {
    let address: *const AtomicU32 = event;
    let set = change(event, Ordering::Release, |word| {
        Some(if has_waiter(word) {
            word + RELEASED
        } else {
            word | SET
        })
    });
    // A released waiter may have freed the event by now.
    if set.is_ok_and(has_waiter) {
        wake_one(address);
    }
}

pub(super) fn reset(event: &AtomicU32) {
    event.fetch_and(!SET, Ordering::Acquire);
}

#[inline]
pub(super) fn try_wait(event: &AtomicU32) -> bool {
    let take = |word| (word & SET != 0).then_some(word & !SET);
    change(event, Ordering::Acquire, take).is_ok()
}

/// Waits when `try_wait` has failed. Returns `true` if this thread went through before `deadline`.
#[cold]
pub(super) fn wait(event: &AtomicU32, deadline: Option<Instant>) -> bool {
    if deadline::spin_until(Spin::EVENT, deadline, || try_wait(event)) {
        return true;
    }
    loop {
        let joined = change(event, Ordering::Acquire, |word| match word & SET {
            0 => (waiting(word) < MAX).then(|| word + WAITING),
            _ => Some(word & !SET),
        });
        match joined {
            Ok(before) => return before & SET != 0 || wait_for_release(event, deadline),
            // There is no room for one more.
            Err(_) if !looks::sleep(FULL_FOR, deadline) => return false,
            Err(_) => {}
        }
    }
}

/// Ends the wait of an announced waiter, which is not one any more when this returns.
fn wait_for_release(event: &AtomicU32, deadline: Option<Instant>) -> bool {
    let mut is_late = false;
    loop {
        let left = change(event, Ordering::Acquire, |word| match released(word) {
            0 => is_late.then(|| word - WAITING),
            _ => Some(word - RELEASED - WAITING),
        });
        match left {
            Ok(before) => return released(before) > 0,
            Err(word) => {
                let _record = observe::sleeping(event);
                let result = blitz_io_futex::wait_deadline(event, word, deadline);
                is_late = result == WaitResult::TimedOut;
            }
        }
    }
}

#[inline]
fn change(
    event: &AtomicU32,
    order: Ordering,
    next: impl Fn(u32) -> Option<u32>,
) -> Result<u32, u32> {
    event.fetch_update(order, Ordering::Relaxed, next)
}

#[cold]
fn wake_one(address: *const AtomicU32) {
    blitz_io_futex::wake_one(address);
}

/// Returns `true` if a waiter has not been released.
#[inline]
fn has_waiter(word: u32) -> bool {
    released(word) < waiting(word)
}

#[inline]
fn released(word: u32) -> u32 {
    (word / RELEASED) & MAX
}

#[inline]
pub(super) fn waiting(word: u32) -> u32 {
    (word / WAITING) & MAX
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thread::Event;
    use std::thread;

    /// Creates an event with so many threads waiting that no further one has room.
    fn full() -> Event {
        Event {
            word: AtomicU32::new(MAX * WAITING),
            ..Event::new_auto(false)
        }
    }

    #[test]
    fn a_waiter_without_room_polls_until_its_deadline() {
        let event = full();
        assert!(!event.wait_timeout(Duration::from_millis(5)));
        assert_eq!(event.word.load(Ordering::Relaxed), MAX * WAITING);
    }

    #[test]
    fn a_waiter_without_room_polls_until_there_is_some() {
        let event = full();
        thread::scope(|s| {
            let late = s.spawn(|| event.wait_for_set(None));
            thread::sleep(Duration::from_millis(5));
            assert!(!late.is_finished());
            for _ in 0..MAX {
                event.set();
            }
            assert_eq!(
                event.word.load(Ordering::Relaxed),
                MAX * (WAITING + RELEASED)
            );
            event.set();
            assert!(late.join().unwrap());
        });
        assert_eq!(
            event.word.load(Ordering::Relaxed),
            MAX * (WAITING + RELEASED)
        );
    }

    /// Starts `n` threads that wait, and returns when all of them have
    /// announced it.
    fn wait_with<'a>(
        s: &'a thread::Scope<'a, '_>,
        event: &'a Event,
        n: u32,
    ) -> Vec<thread::ScopedJoinHandle<'a, bool>> {
        let threads = (0..n)
            .map(|_| s.spawn(|| event.wait_for_set(None)))
            .collect();
        while waiting(event.word.load(Ordering::Relaxed)) < n {
            thread::yield_now();
        }
        threads
    }

    #[test]
    fn as_many_sets_release_as_many_waiters() {
        let event = Event::new_auto(false);
        for _ in 0..20 {
            thread::scope(|s| {
                wait_with(s, &event, 8);
                for _ in 0..8 {
                    event.set();
                }
            });
            assert_eq!(event.word.load(Ordering::Relaxed), 0);
        }
    }

    #[test]
    fn a_reset_takes_no_release_back() {
        let event = Event::new_auto(false);
        thread::scope(|s| {
            let threads = wait_with(s, &event, 2);
            event.set();
            event.reset();
            assert!(!event.try_wait());
            while !threads.iter().any(|thread| thread.is_finished()) {
                thread::yield_now();
            }
            event.set();
        });
        assert_eq!(event.word.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_late_waiter_takes_a_release_that_is_there() {
        let event = Event {
            word: AtomicU32::new(WAITING),
            ..Event::new_auto(false)
        };
        event.set();
        assert!(wait_for_release(&event.word, Some(Instant::now())));
        assert_eq!(event.word.load(Ordering::Relaxed), 0);
    }
}
