//! What a worker waits in when it has nothing to do: with I/O the driver of `blitz_driver`,
//! and a word to sleep on without.
//!
//! # States of the word
//!
//! [`EMPTY`], [`PARKED`] (its thread sleeps, or is about to) and [`NOTIFIED`] (it was
//! unparked). *Park* goes from empty to parked, sleeps until the word is something
//! else, and then to empty; if it was notified it goes to empty at once. *Unpark* goes
//! to notified, and wakes the thread if it was parked. The word is the one that the
//! thread sleeps on, so no wake-up can fall between its look and its sleep; and as each
//! move is a read-modify-write of one word, all that was done before an unpark is
//! visible to the park that it ends.

use std::time::Instant;
#[cfg(all(feature = "io", not(loom)))]
use std::{cell::Cell, sync::Arc};

#[cfg(all(feature = "io", not(loom)))]
use blitz_driver::Wakers;
use blitz_futex::atomic::{AtomicU32, Ordering};
use blitz_futex::{WaitResult, wait_until, wake_one};

const EMPTY: u32 = 0;
const PARKED: u32 = 1;
const NOTIFIED: u32 = 2;

/// One worker's driver. One thread at a time parks in it; any thread may unpark it.
#[derive(Debug)]
pub enum Driver {
    /// Without I/O.
    Word(Word),
    /// With I/O.
    #[cfg(all(feature = "io", not(loom)))]
    Io(Arc<blitz_driver::Driver>),
}

impl Default for Driver {
    fn default() -> Self {
        Self::new()
    }
}

impl Driver {
    /// A driver that has not been unparked yet, without I/O.
    pub fn new() -> Self {
        Self::Word(Word(AtomicU32::new(EMPTY)))
    }

    /// The driver of the worker at `index`.
    #[cfg(not(loom))]
    pub(crate) fn of(common: &crate::common::Common, index: usize) -> Self {
        #[cfg(feature = "io")]
        if let Some(drivers) = &common.io {
            return Self::Io(drivers.at(index).clone());
        }
        _ = (common, index);
        Self::new()
    }

    /// Sleeps until it is unparked, or was since the last time, until `deadline`, or until
    /// an event has woken a task. Returns whether it was unparked.
    pub fn park(&self, deadline: Option<Instant>) -> bool {
        self.park_as(deadline, false)
    }

    /// The same. `others_poll`: other drivers of the runtime have sources, so that this worker
    /// sleeps and gets up as often as their events come.
    pub fn park_as(&self, deadline: Option<Instant>, others_poll: bool) -> bool {
        match self {
            Self::Word(word) => {
                _ = others_poll;
                word.park(deadline)
            }
            #[cfg(all(feature = "io", not(loom)))]
            Self::Io(driver) => waking(|wakers| match others_poll {
                true => driver.park_in_poll(deadline, wakers),
                false => driver.park(deadline, wakers),
            }),
        }
    }

    /// Wakes the tasks whose events have happened, without waiting. For any thread.
    #[inline]
    pub fn poll(&self) {
        match self {
            Self::Word(_) => {}
            #[cfg(all(feature = "io", not(loom)))]
            Self::Io(driver) => {
                if driver.has_sources() {
                    waking(|wakers| driver.try_poll(wakers));
                }
            }
        }
    }

    /// Whether events may happen.
    #[inline]
    pub fn has_sources(&self) -> bool {
        match self {
            Self::Word(_) => false,
            #[cfg(all(feature = "io", not(loom)))]
            Self::Io(driver) => driver.has_sources(),
        }
    }

    /// Ends the park of its thread, or the next one if it is not parked.
    pub fn unpark(&self) {
        match self {
            Self::Word(word) => word.unpark(),
            #[cfg(all(feature = "io", not(loom)))]
            Self::Io(driver) => driver.unpark(),
        }
    }

    /// The same by `deadline`: without waking its thread before, where the system can do that.
    pub fn unpark_by(&self, deadline: Instant) {
        match self {
            Self::Word(word) => word.unpark(),
            #[cfg(all(feature = "io", not(loom)))]
            Self::Io(driver) => return driver.unpark_by(deadline),
        }
        _ = deadline;
    }
}

/// Wakes the wakers that `poll` has gathered. The memory for them stays with the thread, so that a
/// poll allocates nothing.
#[cfg(all(feature = "io", not(loom)))]
fn waking<R>(poll: impl FnOnce(&mut Wakers) -> R) -> R {
    thread_local! {
        static WAKERS: Cell<Wakers> = const { Cell::new(Wakers::new()) };
    }
    // A thread that ends may have given it up already; and a waker may poll, too.
    let mut wakers = WAKERS.try_with(Cell::take).unwrap_or_default();
    let result = poll(&mut wakers);
    wakers.wake_all();
    _ = WAKERS.try_with(|kept| kept.set(wakers));
    result
}

/// A word to sleep on.
#[derive(Debug)]
pub struct Word(AtomicU32);

impl Word {
    fn park(&self, deadline: Option<Instant>) -> bool {
        let state = &self.0;
        let asleep = state.compare_exchange(EMPTY, PARKED, Ordering::Acquire, Ordering::Relaxed);
        if asleep.is_ok() {
            while state.load(Ordering::Relaxed) == PARKED {
                if wait_until(state, PARKED, deadline) == WaitResult::TimedOut {
                    break;
                }
            }
        }
        state.swap(EMPTY, Ordering::Acquire) == NOTIFIED
    }

    fn unpark(&self) {
        if self.0.swap(NOTIFIED, Ordering::Release) == PARKED {
            wake_one(&raw const self.0);
        }
    }
}
