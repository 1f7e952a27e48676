//! What a worker waits in when it has nothing to do.
//!
//! For now that is a word to sleep on. An I/O driver takes this place later: a worker
//! would then wait for the system's events here, [`poll`](Driver::poll) would look at
//! them without waiting, and [`unpark`](Driver::unpark) would send one.
//!
//! # States
//!
//! [`EMPTY`], [`PARKED`] (its thread sleeps, or is about to) and [`NOTIFIED`] (it was
//! unparked). *Park* goes from empty to parked, sleeps until the word is something
//! else, and then to empty; if it was notified it goes to empty at once. *Unpark* goes
//! to notified, and wakes the thread if it was parked. The word is the one that the
//! thread sleeps on, so no wake-up can fall between its look and its sleep; and as each
//! move is a read-modify-write of one word, all that was done before an unpark is
//! visible to the park that it ends.

use std::time::Instant;

use blitz_futex::atomic::{AtomicU32, Ordering};
use blitz_futex::{WaitResult, wait_until, wake_one};

const EMPTY: u32 = 0;
const PARKED: u32 = 1;
const NOTIFIED: u32 = 2;

/// One worker's driver. One thread at a time parks in it; any thread may unpark it.
#[derive(Debug)]
pub struct Driver {
    state: AtomicU32,
}

impl Default for Driver {
    fn default() -> Self {
        Self::new()
    }
}

impl Driver {
    /// A driver that has not been unparked yet.
    pub fn new() -> Self {
        Self {
            state: AtomicU32::new(EMPTY),
        }
    }

    /// Sleeps until it is unparked, or was since the last time, or until `deadline`.
    /// Whether it was unparked.
    pub fn park(&self, deadline: Option<Instant>) -> bool {
        let asleep =
            self.state
                .compare_exchange(EMPTY, PARKED, Ordering::Acquire, Ordering::Relaxed);
        if asleep.is_ok() {
            while self.state.load(Ordering::Relaxed) == PARKED {
                if wait_until(&self.state, PARKED, deadline) == WaitResult::TimedOut {
                    break;
                }
            }
        }
        self.state.swap(EMPTY, Ordering::Acquire) == NOTIFIED
    }

    /// Looks at what has happened, without waiting.
    #[inline]
    pub fn poll(&self) {}

    /// Ends the park of its thread, or the next one if it is not parked.
    pub fn unpark(&self) {
        if self.state.swap(NOTIFIED, Ordering::Release) == PARKED {
            wake_one(&raw const self.state);
        }
    }
}
