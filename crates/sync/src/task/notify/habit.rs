//! What the state mostly is, to those who come.
//!
//! A compare-exchange that has guessed right is cheaper than a load and a
//! compare-exchange: the load would wait for the locked instruction before it.
//! One that has guessed wrong costs a locked instruction for nothing. Some
//! programs notify one who is about to come, some one who waits already, some a
//! hundred times somebody who is busy; so the last guess that was wrong is
//! corrected, and made again next time.
//!
//! All of this is about speed only. Any guess is allowed, so the model checker need
//! not see where it is kept.

use std::sync::atomic::{AtomicU8, Ordering};

use super::{BITS, EMPTY, NOTIFIED};

/// See the head of this file.
pub(super) struct Habit {
    /// The bits of the state that a notifier found.
    at_notify: AtomicU8,
    /// Those that a waiter found at its first poll.
    at_wait: AtomicU8,
}

impl Habit {
    pub(super) const fn new() -> Self {
        Self {
            at_notify: AtomicU8::new(EMPTY as u8),
            at_wait: AtomicU8::new(NOTIFIED as u8),
        }
    }

    /// What a notifier will find.
    #[inline]
    pub(super) fn at_notify(&self) -> usize {
        usize::from(self.at_notify.load(Ordering::Relaxed))
    }

    /// What a waiter will find.
    #[inline]
    pub(super) fn at_wait(&self) -> usize {
        usize::from(self.at_wait.load(Ordering::Relaxed))
    }

    /// What a notifier has found.
    pub(super) fn found_at_notify(&self, state: usize) {
        correct(&self.at_notify, state);
    }

    /// What a waiter has found.
    pub(super) fn found_at_wait(&self, state: usize) {
        correct(&self.at_wait, state);
    }
}

fn correct(guess: &AtomicU8, state: usize) {
    let bits = (state & BITS) as u8;
    if guess.load(Ordering::Relaxed) != bits {
        guess.store(bits, Ordering::Relaxed);
    }
}
