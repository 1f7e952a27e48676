//! `Delays`: for how long the system took a task's processor away during a poll.
//!
//! The recorder reads the system's counter of the thread before some polls and at the end of each long one. Between two
//! readings the thread was ready and did not run for the difference `d` of the counters. A part `r` of the time between
//! them is that in which the poll ran, as far as its events say. At most the rest of the time can have a part of `d`, so
//! at least `d` less that rest was taken from the poll. This is the time that counts: never too much, and less by at most
//! the time between the first reading and the poll, and the waits within the poll.
//!
//! Nothing says when in the poll it was. So each moment of the poll has its share.

use std::collections::HashMap;

use super::recording::sum;

/// The time that a poll lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Delay {
    /// The poll.
    pub(super) from: u64,
    pub(super) to: u64,
    /// The part of it in which it ran or was ready.
    pub(super) ran: u64,
    /// The part of that in which it was ready.
    pub(super) nanos: u64,
}

impl Delay {
    /// Returns the share of a time in which the task ran, or was ready, in this poll.
    fn share(&self, from: u64, to: u64) -> u64 {
        let time = to.min(self.to).saturating_sub(from.max(self.from));
        let share = u128::from(time) * u128::from(self.nanos) / u128::from(self.ran.max(1));
        let share = u64::try_from(share).unwrap_or(u64::MAX);
        share.min(time).min(self.nanos)
    }
}

/// The delay between two readings of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Between {
    from: u64,
    nanos: u64,
}

impl Between {
    /// Returns the delay of the poll from `began` to `ended`, at which the second reading was. `ran`: the time in which it
    /// ran.
    pub(super) fn of_poll(self, began: u64, ended: u64, ran: u64) -> Option<Delay> {
        let rest = ended.saturating_sub(self.from).saturating_sub(ran);
        let nanos = self.nanos.saturating_sub(rest).min(ran);
        (nanos != 0).then_some(Delay {
            from: began,
            to: ended,
            ran,
            nanos,
        })
    }
}

/// The last reading of each thread.
#[derive(Debug, Default)]
pub(super) struct Readings(HashMap<u64, (u64, u64)>);

impl Readings {
    /// Notes a reading. Returns what is known since the one before it.
    pub(super) fn note(&mut self, thread: u64, at: u64, total: u64) -> Option<Between> {
        let (from, before) = self.0.insert(thread, (at, total))?;
        // The thread of a forked child counts from 0.
        let nanos = total.saturating_sub(before);
        Some(Between { from, nanos })
    }
}

/// Returns the delay of a task that ran within a time. `delays` are those of the task, in the order of time.
pub(super) fn within(delays: &[Delay], from: u64, to: u64) -> u64 {
    let first = delays.partition_point(|delay| delay.to <= from);
    let these = delays[first..].iter().take_while(|delay| delay.from < to);
    sum(these.map(|delay| delay.share(from, to)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The delay of a poll from 10 to 20, with the second reading at its end.
    fn of_poll(first: u64, delay: u64, ran: u64) -> Option<u64> {
        let mut readings = Readings::default();
        assert_eq!(readings.note(1, first, 100), None);
        let between = readings.note(1, 20, 100 + delay).unwrap();
        between.of_poll(10, 20, ran).map(|delay| delay.nanos)
    }

    #[test]
    fn only_the_delay_that_no_other_time_has_room_for_is_the_polls() {
        assert_eq!(of_poll(10, 7, 10), Some(7));
        // Three of the seven may have been before the poll.
        assert_eq!(of_poll(7, 7, 10), Some(4));
        assert_eq!(of_poll(3, 7, 10), None);
        // And four of them in a wait within the poll.
        assert_eq!(of_poll(10, 7, 6), Some(3));
        // A reading at the end includes what came after the poll.
        assert_eq!(of_poll(10, 12, 10), Some(10));
    }

    #[test]
    fn a_thread_of_a_child_counts_anew_and_others_count_for_themselves() {
        let mut readings = Readings::default();
        assert_eq!(readings.note(1, 5, 100), None);
        assert_eq!(readings.note(2, 6, 900), None);
        let nothing = Between { from: 5, nanos: 0 };
        assert_eq!(readings.note(1, 7, 3), Some(nothing));
    }

    #[test]
    fn each_moment_of_a_poll_has_its_share() {
        let one = |from, to, ran, nanos| Delay {
            from,
            to,
            ran,
            nanos,
        };
        let delays = [one(10, 20, 10, 5), one(30, 40, 4, 4)];
        let of = |from, to| within(&delays, from, to);
        assert_eq!((of(10, 20), of(0, 50), of(12, 16)), (5, 9, 2));
        assert_eq!((of(20, 30), of(0, 10), of(38, 60)), (0, 0, 2));
        assert_eq!(within(&[], 0, 9), 0);
    }
}
