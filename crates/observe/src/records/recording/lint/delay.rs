//! How long a thread was ready to run, and the system ran other threads.
//!
//! The system counts it for each thread, in a file that costs more to read than a poll may cost. So a thread reads it
//! at most once in a tenth of a second, before a poll, and again after a poll that may have been long. The
//! difference has what passed between the first reading and the poll, too: it is never too small, and at most that
//! tenth of a second too large. A poll that sleeps for less, on a machine that is busy, may not be seen to be long;
//! but no poll is long because of the machine.

use std::time::Duration;

use crate::records::recording::{run_delay, ticks};

/// A reading is used for this time, in milliseconds.
const FRESH: u64 = 100;

/// One reading of the counter of this thread.
#[derive(Clone, Copy)]
pub(super) struct Delay {
    /// In ticks.
    at: u64,
    total: Duration,
}

impl Delay {
    /// Reads the counter. It stays 0 where the system has none.
    pub(super) fn read(at: u64) -> Self {
        let total = run_delay::total().unwrap_or_default();
        Self { at, total }
    }

    /// Returns `true` if the reading is recent enough for a poll that begins now.
    pub(super) fn is_fresh(&self, now: u64) -> bool {
        now.saturating_sub(self.at) <= FRESH.saturating_mul(ticks::millisecond())
    }

    /// Returns the time for which the thread was ready and did not run, from an earlier reading to this one.
    pub(super) fn since(&self, earlier: Self) -> Duration {
        self.total.saturating_sub(earlier.total)
    }
}
