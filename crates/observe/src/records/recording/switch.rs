//! The switches of the recorders, in one byte: while all are off, a point that several recorders share is one
//! relaxed load.

use std::sync::atomic::{AtomicU8, Ordering};

/// No thread has looked into the environment (`recorders.rs`).
const UNKNOWN: u8 = 1;

static STATE: AtomicU8 = AtomicU8::new(UNKNOWN);

/// A recorder, by its bit.
#[derive(Clone, Copy)]
#[repr(u8)]
pub(super) enum Recorder {
    Lint = 2,
    Trace = 4,
}

impl Recorder {
    /// Returns `true` if the recorder is on, as far as the environment has been asked.
    #[inline]
    pub(super) fn is_on(self) -> bool {
        STATE.load(Ordering::Relaxed) & self as u8 != 0
    }

    /// Returns `true` if the recorder is on, or the environment may ask for it.
    #[inline]
    pub(super) fn may_be_on(self) -> bool {
        STATE.load(Ordering::Relaxed) & (UNKNOWN | self as u8) != 0
    }

    /// Switches the recorder on. Returns `true` if it was off.
    pub(super) fn start(self) -> bool {
        STATE.fetch_or(self as u8, Ordering::Relaxed) & self as u8 == 0
    }

    /// Switches the recorder off.
    pub(super) fn stop(self) {
        STATE.fetch_and(!(self as u8), Ordering::Relaxed);
    }
}

/// Returns `true` if any recorder is on, or the environment may ask for one.
#[inline]
pub(super) fn may_any_be_on() -> bool {
    STATE.load(Ordering::Relaxed) != 0
}

/// Returns `true` if no thread has looked into the environment.
#[inline]
pub(super) fn is_unknown() -> bool {
    STATE.load(Ordering::Relaxed) & UNKNOWN != 0
}

/// Returns `true` to the one thread that has to look into the environment. Meanwhile the recorders are off for it
/// and for others: the look itself may take locks.
pub(super) fn begin_to_ask() -> bool {
    STATE.fetch_and(!UNKNOWN, Ordering::Relaxed) & UNKNOWN != 0
}
