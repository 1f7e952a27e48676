//! `Parker`: one thread sleeps until another one wakes it.
//!
//! # States
//!
//! [`EMPTY`]; [`PARKED`]: the thread sleeps, or is about to; [`NOTIFIED`]: another thread has left
//! a token.
//!
//! # Steps
//!
//! 1. *Wait* sets the word from empty to parked. This fails if it is notified.
//! 2. It sleeps while the word is parked, until the word is notified or the deadline comes.
//! 3. *Take* sets the word to empty. There was a token if the word was notified.
//! 4. *Notify* sets the word to notified, and sees its value before.
//! 5. If it was parked, the notifier wakes the thread that sleeps on the word.
//!
//! A park is 1 to 3, an unpark is 4 and 5.
//!
//! # No wake-up is lost
//!
//! * Let 4 come before 1. Then 1 fails, and the thread does not sleep.
//! * Let 4 come after 1. Then 4 sees that the word was parked, so 5 follows. If the thread does not
//!   sleep yet, the system compares the word in 2, and the thread does not fall asleep.
//! * A thread whose deadline comes still sees the token in 3. A later token stays for the next
//!   park.
//!
//! Steps 3 and 4 are read-modify-writes, and 4 releases what 3 acquires. So all that was done
//! before an unpark is visible after the park that it ends, also if several unparks left one token.
//!
//! # A parker on the thread's stack
//!
//! The thread may free its parker as soon as it sees the token. So step 4 is then the notifier's
//! last access to the parker, and step 5 uses only its address: see [`Parker::notify`].

use std::time::Instant;

use blitz_io_futex::atomic::{AtomicU32, Ordering};
use blitz_io_futex::{WaitResult, wait_deadline, wake_one};
use blitz_io_observe as observe;

use crate::{const_unless_loom, default_is_new};

const EMPTY: u32 = 0;
const PARKED: u32 = 1;
const NOTIFIED: u32 = 2;

/// A parker; see the module documentation. No two threads may park at once; any thread may unpark it.
#[derive(Debug)]
pub struct Parker(AtomicU32);

impl Parker {
    const_unless_loom! {
        /// Creates a parker without a token.
        pub const fn new() -> Self {
            Self(AtomicU32::new(EMPTY))
        }
    }

    /// Sleeps until there is a token, and takes it. Returns `false` if the deadline comes first.
    pub fn park(&self, deadline: Option<Instant>) -> bool {
        self.wait(deadline);
        self.take()
    }

    /// Sleeps until there is a token, and leaves it there. Returns `false` if the deadline comes first.
    pub fn wait(&self, deadline: Option<Instant>) -> bool {
        let word = &self.0;
        _ = word.compare_exchange(EMPTY, PARKED, Ordering::Relaxed, Ordering::Relaxed);
        while !self.is_notified() {
            let _record = observe::sleeping(word);
            if wait_deadline(word, PARKED, deadline) == WaitResult::TimedOut {
                return self.is_notified();
            }
        }
        true
    }

    /// Takes the token. Returns `false` if there is none.
    #[inline]
    pub fn take(&self) -> bool {
        self.0.swap(EMPTY, Ordering::Acquire) == NOTIFIED
    }

    /// Returns `true` if there is a token. If so, acquires the work that was done before the unpark.
    #[inline]
    pub fn is_notified(&self) -> bool {
        self.0.load(Ordering::Acquire) == NOTIFIED
    }

    /// Removes the token. For a thread that knows that no other one unparks it now.
    #[inline]
    pub fn reset(&self) {
        self.0.store(EMPTY, Ordering::Relaxed);
    }

    /// Leaves a token, and wakes the thread if it sleeps.
    #[inline]
    pub fn unpark(&self) {
        if self.0.swap(NOTIFIED, Ordering::Release) == PARKED {
            wake_one(&raw const self.0);
        }
    }

    /// Leaves a token. If the thread sleeps, returns the address with which the caller wakes it
    /// ([`wake_one`]).
    ///
    /// # Safety
    ///
    /// The parker is alive. Its thread may have freed it when this returns.
    #[inline]
    pub unsafe fn notify(this: *const Self) -> Option<*const AtomicU32> {
        // SAFETY: the parker is alive until the swap.
        let word = unsafe { &raw const (*this).0 };
        // SAFETY: the parker is alive until this swap.
        let before = unsafe { (*word).swap(NOTIFIED, Ordering::Release) };
        (before == PARKED).then_some(word)
    }
}

default_is_new!(Parker);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deadline;
    use std::time::Duration;

    #[test]
    fn several_unparks_leave_one_token() {
        let parker = Parker::new();
        parker.unpark();
        parker.unpark();
        assert!(parker.is_notified());
        assert!(parker.wait(None));
        assert!(parker.park(None));
        assert!(!parker.park(deadline::after(Duration::ZERO)));
    }

    #[test]
    fn a_thread_that_does_not_sleep_is_not_woken() {
        let parker = Parker::new();
        // SAFETY: the parker is alive.
        assert!(unsafe { Parker::notify(&raw const parker) }.is_none());
        parker.reset();
        assert!(!parker.wait(deadline::after(Duration::ZERO)));
        // It is about to sleep, for all that the notifier knows.
        // SAFETY: the parker is alive.
        assert!(unsafe { Parker::notify(&raw const parker) }.is_some());
        assert!(parker.take());
        assert!(!parker.take());
    }
}
