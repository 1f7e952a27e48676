//! `Delays`: when a thread reads how long the system has kept it from its processor.
//!
//! A poll that took long may have run, or have waited for its processor. The system's counter says which, but to read it
//! costs more than most polls (`run_delay.rs`). So a thread reads it
//!
//! 1. before a poll, if the last reading is a millisecond old;
//! 2. at the end of a poll that took a millisecond or more.
//!
//! # What two readings say
//!
//! A long poll has a reading at its end by rule 2, and one before its beginning that is at most a millisecond older by
//! rule 1. Of the delay between the two, at most the time between them that is outside of the poll is not the poll's. The
//! rest certainly is (`blitz-io-inspect`, `trace/delays.rs`). A poll within a poll makes a reading for itself; of the
//! outer one, only the part after it counts.
//!
//! A reading has its event's time, which is before the first reading of a pair and after the second one. So a delay in
//! between readings and times makes the result too small, never too large.

use std::cell::Cell;

use super::event::{Code, Event};
use super::rings;
use crate::records::recording::local::LOCAL;
use crate::records::recording::{run_delay, ticks};

/// The times of a thread, in ticks; see the module documentation.
pub(in crate::records::recording) struct Delays {
    /// The last reading.
    read: Cell<u64>,
    /// The beginning of the last poll.
    began: Cell<u64>,
}

impl Delays {
    pub(in crate::records::recording) const fn new() -> Self {
        Self {
            read: Cell::new(0),
            began: Cell::new(0),
        }
    }

    /// A poll begins now. Returns `true` if the counter has to be read before.
    #[inline]
    fn begins(&self, now: u64, fresh: u64) -> bool {
        self.began.set(now);
        let is_due = now.saturating_sub(self.read.get()) >= fresh;
        if is_due {
            self.read.set(now);
        }
        is_due
    }

    /// The last poll ends now. Returns `true` if the counter has to be read.
    #[inline]
    fn ends(&self, now: u64, long: u64) -> bool {
        let is_due = now.saturating_sub(self.began.get()) >= long;
        if is_due {
            self.read.set(now);
        }
        is_due
    }
}

/// A poll of the task begins in the thread. Returns the time, in ticks.
#[inline]
pub(super) fn poll_begins(task: u64, thread: u64) -> u64 {
    let now = ticks::now();
    if !LOCAL.with(|local| local.delays.begins(now, ticks::millisecond())) {
        return now;
    }
    if let Some(total) = total() {
        rings::push(delay(task, thread, total).words(now));
    }
    ticks::now()
}

/// The poll ends. Returns the time, in ticks.
#[inline]
pub(super) fn poll_ends(task: u64, thread: u64) -> u64 {
    let now = ticks::now();
    if !LOCAL.with(|local| local.delays.ends(now, ticks::millisecond())) {
        return now;
    }
    let total = total();
    let now = ticks::now();
    if let Some(total) = total {
        rings::push(delay(task, thread, total).words(now));
    }
    now
}

#[cold]
#[inline(never)]
fn total() -> Option<u64> {
    u64::try_from(run_delay::total()?.as_nanos()).ok()
}

fn delay(task: u64, thread: u64, total: u64) -> Event {
    Event {
        target: thread >> 1,
        ..Event::new(Code::Delay, task, total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000;

    #[test]
    fn a_long_poll_has_a_reading_at_its_end_and_one_shortly_before_it() {
        let delays = Delays::new();
        // (begin, end) of polls, and whether the counter is read there.
        let polls = [
            ((5_000, true), (5_100, false)),
            // The last reading is fresh.
            ((5_200, false), (5_300, false)),
            ((5_999, false), (6_998, false)),
            // It is one millisecond old.
            ((6_999, true), (7_999, true)),
            // The reading at the end of that one is used again.
            ((8_000, false), (12_000, true)),
            ((13_500, true), (13_501, false)),
        ];
        for ((begin, reads), (end, reads_again)) in polls {
            assert_eq!(delays.begins(begin, MS), reads, "{begin}");
            assert_eq!(delays.ends(end, MS), reads_again, "{end}");
        }
    }

    #[test]
    fn nothing_is_due_until_the_speed_is_known() {
        let delays = Delays::new();
        assert!(!delays.begins(u64::MAX - 1, u64::MAX));
        assert!(!delays.ends(u64::MAX - 1, u64::MAX));
    }
}
