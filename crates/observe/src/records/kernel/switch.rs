//! `Switch`: which recorders are on, in one byte, so that a point that several recorders share is one relaxed load
//! while all are off.
//!
//! # States
//!
//! * The bit [`UNKNOWN`]: no thread has looked into the environment.
//! * One bit for each recorder: it is on.
//!
//! # Moves
//!
//! Each move is one read-modify-write operation.
//!
//! 1. A thread that has to know clears `UNKNOWN`. It looks into the environment if the bit was set.
//! 2. A thread sets the bit of a recorder. It has started the recorder if the bit was clear.
//! 3. A thread clears the bit of a recorder.
//!
//! # What holds
//!
//! - One thread looks into the environment: only the first move of kind 1 finds `UNKNOWN`, and no move sets it.
//! - Of the threads that start a recorder, one has started it, until a thread stops it.
//! - No move changes the bit of another recorder: each one changes one bit of the value that it reads.
//!
//! The orders are relaxed. The byte publishes nothing: a thread that finds a recorder on uses data that are made by
//! the first thread that needs them, or are behind a lock.

use blitz_io_futex::atomic::{AtomicU8, Ordering};
use blitz_io_futex::const_unless_loom;

/// No thread has looked into the environment.
const UNKNOWN: u8 = 1;

/// The switches of all recorders; see the module documentation. A recorder is a bit above the lowest one.
pub struct Switch {
    state: AtomicU8,
}

impl Switch {
    const_unless_loom! {
        /// Creates the switches of recorders that are off, as far as is known.
        #[must_use]
        pub const fn new() -> Self {
            Self { state: AtomicU8::new(UNKNOWN) }
        }
    }

    /// Returns `true` if the recorder is on. Does not read the environment.
    #[inline]
    pub fn is_on(&self, recorder: u8) -> bool {
        self.state.load(Ordering::Relaxed) & recorder != 0
    }

    /// Returns `true` if the recorder is on, or the environment may yet switch it on.
    #[inline]
    pub fn may_be_on(&self, recorder: u8) -> bool {
        self.state.load(Ordering::Relaxed) & (UNKNOWN | recorder) != 0
    }

    /// Returns `true` if any recorder is on, or the environment may yet switch one on.
    #[inline]
    pub fn may_any_be_on(&self) -> bool {
        self.state.load(Ordering::Relaxed) != 0
    }

    /// Returns `true` if no thread has looked into the environment.
    #[inline]
    pub fn is_unknown(&self) -> bool {
        self.state.load(Ordering::Relaxed) & UNKNOWN != 0
    }

    /// Returns `true` to the one thread that has to look into the environment. Until it has done so, the recorders are
    /// off in all threads: the look itself may take locks.
    pub fn begin_to_ask(&self) -> bool {
        self.state.fetch_and(!UNKNOWN, Ordering::Relaxed) & UNKNOWN != 0
    }

    /// Switches the recorder on. Returns `true` if it was off.
    pub fn start(&self, recorder: u8) -> bool {
        self.state.fetch_or(recorder, Ordering::Relaxed) & recorder == 0
    }

    /// Switches the recorder off.
    pub fn stop(&self, recorder: u8) {
        self.state.fetch_and(!recorder, Ordering::Relaxed);
    }
}
