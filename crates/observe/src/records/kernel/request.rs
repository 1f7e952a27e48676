//! `Request`: a thread asks another one to fill a value, and waits for as long as it likes.
//!
//! # States
//!
//! * `IDLE`: there is no request.
//! * A number: the request is for the thread with this number.
//! * `FILLING`: a thread fills the value.
//! * `FILLED`: the value is complete.
//!
//! # Moves
//!
//! Only one thread asks at any moment.
//!
//! 1. The asking thread loads the state, an acquire. Unless that is `FILLING`, it stores a number, a release.
//! 2. A thread goes from its own number to `FILLING`, an acquire, and writes the value. If it finds
//!    anything else, it does nothing.
//! 3. It stores `FILLED`, a release.
//! 4. The asking thread goes from the number back to `IDLE`. If it finds `FILLED`, an acquire, it reads the
//!    value. If it finds `FILLING`, it gives up, and the state stays.
//!
//! # Only one thread uses the value at any moment
//!
//! A thread writes it between 2 and 3. By 2, one thread at most does so for each request, also if it learns
//! of the request twice, or too late. Only that thread leaves `FILLING`, and by 1 no request begins before.
//! The asking thread reads it in 4, so after 3, and before its next request. Each change of hands is a
//! release that the other side acquires: 3 by 4, or by 1 if the asking thread had given up, and 1 by 2.
//!
//! Moves 2 and 3 take no lock and do not wait, so a handler of a signal may make them.

use blitz_io_futex::atomic::{AtomicU64, Ordering};

use blitz_io_futex::const_unless_loom;
use blitz_io_futex::source::Watched;

const IDLE: u64 = 0;
const FILLING: u64 = u64::MAX;
const FILLED: u64 = u64::MAX - 1;

/// A request to one thread to fill a value; see the module documentation.
pub struct Request<T> {
    state: AtomicU64,
    value: Watched<T>,
}

// SAFETY: by the proof above, only one thread uses the value at any moment.
unsafe impl<T: Send> Sync for Request<T> {}

impl<T> Request<T> {
    const_unless_loom! {
        /// Creates a value for which there is no request.
        #[must_use]
        pub const fn new(value: T) -> Self {
            Self { state: AtomicU64::new(IDLE), value: Watched::new(value) }
        }
    }

    /// Asks the thread with this number, which is not 0. Returns false if a thread still answers an earlier
    /// request. No other thread may call this until the caller has called [`end`](Self::end).
    pub fn ask(&self, thread: u64) -> bool {
        // A child of a fork may find the number that a thread of its parent has asked.
        let is_free = self.state.load(Ordering::Acquire) != FILLING;
        if is_free {
            self.state.store(thread, Ordering::Release);
        }
        is_free
    }

    /// Fills the value if the request is for the thread with this number, the current one.
    pub fn fill(&self, thread: u64, with: impl FnOnce(&mut T)) {
        let state = &self.state;
        let is_asked =
            state.compare_exchange(thread, FILLING, Ordering::Acquire, Ordering::Relaxed);
        if is_asked.is_ok() {
            // SAFETY: move 2 of the head of this file.
            self.value.with_mut(|value| with(unsafe { &mut *value }));
            state.store(FILLED, Ordering::Release);
        }
    }

    /// Returns `true` if the request is answered.
    pub fn is_filled(&self) -> bool {
        self.state.load(Ordering::Relaxed) == FILLED
    }

    /// Ends the request, and reads the value if it was filled.
    pub fn end<R>(&self, thread: u64, read: impl FnOnce(&T) -> R) -> Option<R> {
        let state = &self.state;
        let ended = state.compare_exchange(thread, IDLE, Ordering::Relaxed, Ordering::Acquire);
        // SAFETY: move 4 of the head of this file.
        (ended == Err(FILLED)).then(|| self.value.with(|value| read(unsafe { &*value })))
    }
}
