//! `Delays`: when a thread reads how long the system has kept it from its processor.
//!
//! A poll that took long may have run, have waited for its processor, or have slept. Two counters of the system say which,
//! the delay and the processor time, but to read them costs more than most polls (`run_delay.rs`). So a thread reads it
//!
//! 1. before a poll, if the last reading by this rule is a millisecond old;
//! 2. at the end of a poll that took a millisecond or more.
//!
//! # What two readings say
//!
//! A long poll has a reading at its end by rule 2, and one before its beginning that is at most a millisecond older by
//! rule 1. Of the delay between the two, at most the time between them that is outside of the poll is not the poll's. The
//! rest certainly is (`blitz-io-inspect`, `trace/delays.rs`). A poll within a poll makes a reading for itself; of the
//! outer one, only the part after it counts.
//!
//! The event of a reading by rule 1 has the time before the reading, and that by rule 2 the time after it. So a delay
//! between readings and times makes the result too small, not too large. (An outer poll has two readings by rule 2.)

use std::cell::Cell;

/// The times of a thread, in ticks; see the module documentation.
pub(in crate::records::recording) struct Delays {
    /// The last reading before a poll.
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
    pub(super) fn begins(&self, now: u64, fresh: u64) -> bool {
        self.began.set(now);
        let is_due = now.saturating_sub(self.read.get()) >= fresh;
        if is_due {
            self.read.set(now);
        }
        is_due
    }

    /// The last poll ends now. Returns `true` if the counter has to be read.
    #[inline]
    pub(super) fn ends(&self, now: u64, long: u64) -> bool {
        now.saturating_sub(self.began.get()) >= long
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
            // The reading at the end of that one is not used again.
            ((8_000, true), (12_000, true)),
            ((12_001, true), (12_002, false)),
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
