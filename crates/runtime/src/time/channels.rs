//! The timers of the current runtime, for channels, which know no runtime.

use std::time::Duration;

use blitz_sync::internals::timers::{self, Timer, Timers};

use super::{current, sleep};

/// Wherever there is a current runtime.
struct Current;

impl Timers for Current {
    fn assert_here(&self) {
        current::wheel();
    }

    fn timer(&self, time: Duration) -> Timer {
        Box::pin(sleep(time))
    }
}

/// Lets channels find our timers.
pub(crate) fn install() {
    timers::install(&Current);
}
