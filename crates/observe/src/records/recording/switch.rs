//! The switches of the recorders of this process.

use crate::records::kernel::switch::Switch;

static SWITCH: Switch = Switch::new();

/// A recorder, by its bit.
#[derive(Clone, Copy)]
#[repr(u8)]
pub(super) enum Recorder {
    Lint = 2,
    Trace = 4,
}

impl Recorder {
    /// Returns `true` if the recorder is on. Does not read the environment.
    #[inline]
    pub(super) fn is_on(self) -> bool {
        SWITCH.is_on(self as u8)
    }

    /// Returns `true` if the recorder is on, or the environment may yet switch it on.
    #[inline]
    pub(super) fn may_be_on(self) -> bool {
        SWITCH.may_be_on(self as u8)
    }

    /// Switches the recorder on. Returns `true` if it was off.
    pub(super) fn start(self) -> bool {
        SWITCH.start(self as u8)
    }

    /// Switches the recorder off.
    pub(super) fn stop(self) {
        SWITCH.stop(self as u8);
    }
}

/// Returns `true` if any recorder is on, or the environment may yet switch one on.
#[inline]
pub(super) fn may_any_be_on() -> bool {
    SWITCH.may_any_be_on()
}

/// Returns `true` if no thread has looked into the environment.
#[inline]
pub(super) fn is_unknown() -> bool {
    SWITCH.is_unknown()
}

/// Returns `true` to the one thread that has to look into the environment (`recorders.rs`).
pub(super) fn begin_to_ask() -> bool {
    SWITCH.begin_to_ask()
}
