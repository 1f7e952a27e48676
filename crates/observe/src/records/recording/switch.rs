//! The switches of the recorders, in one byte: while all are off, a point that several recorders share is one
//! relaxed load.

use std::sync::atomic::{AtomicU8, Ordering};

use super::{lint, trace};

/// No thread has looked into the environment.
const UNKNOWN: u8 = 1;
/// The recorder `lint` is on.
const LINT: u8 = 2;
/// The recorder `trace` is on.
const TRACE: u8 = 4;

static STATE: AtomicU8 = AtomicU8::new(UNKNOWN);

/// A recorder.
#[derive(Clone, Copy)]
pub(super) enum Recorder {
    Lint,
    Trace,
}

impl Recorder {
    const fn bit(self) -> u8 {
        match self {
            Self::Lint => LINT,
            Self::Trace => TRACE,
        }
    }

    /// Returns `true` if the recorder is on.
    #[inline]
    pub(super) fn is_on(self) -> bool {
        STATE.load(Ordering::Relaxed) & (UNKNOWN | self.bit()) != 0 && asked() & self.bit() != 0
    }

    /// Switches the recorder on. Returns `true` if it was off.
    pub(super) fn start(self) -> bool {
        asked();
        STATE.fetch_or(self.bit(), Ordering::Relaxed) & self.bit() == 0
    }

    /// Switches the recorder off.
    pub(super) fn stop(self) {
        STATE.fetch_and(!self.bit(), Ordering::Relaxed);
    }
}

/// Returns `true` if any recorder is on.
#[inline]
pub(super) fn is_any_on() -> bool {
    STATE.load(Ordering::Relaxed) != 0 && asked() != 0
}

/// Returns the recorders that are on. The first call asks the environment.
#[inline]
fn asked() -> u8 {
    let state = STATE.load(Ordering::Relaxed);
    if state & UNKNOWN == 0 { state } else { ask() }
}

#[cold]
#[inline(never)]
fn ask() -> u8 {
    // Known while one thread looks: the look itself may take locks.
    if STATE.fetch_and(!UNKNOWN, Ordering::Relaxed) & UNKNOWN != 0 {
        let mut on = 0;
        if lint::is_asked() {
            on |= LINT;
        }
        if trace::is_asked() {
            on |= TRACE;
        }
        STATE.fetch_or(on, Ordering::Relaxed);
    }
    STATE.load(Ordering::Relaxed)
}
