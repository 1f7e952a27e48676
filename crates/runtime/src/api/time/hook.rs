//! Gives channels the timers of the current runtime, which they do not know.

use std::time::Duration;

use blitz_io_core::timers::{self, Timer, Timers};

use super::{current, sleep};

/// The timers of the current runtime.
struct Current;

impl Timers for Current {
    fn assert_here(&self) {
        current::wheel();
    }

    fn timer(&self, time: Duration) -> Timer {
        Box::pin(sleep(time))
    }
}

/// Makes channels use the timers of runtimes.
pub(crate) fn install() {
    timers::install(&Current);
}
