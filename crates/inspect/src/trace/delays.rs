//! `Delays`: for how long the system took a task's processor away during a poll.
//!
//! The recorder reads the system's counter of the thread before some polls and at the end of each long one. Between two
//! readings the thread was ready and did not run for the difference `d` of the counters. A part `r` of the time between
//! them is that in which the poll ran, as far as its events say. At most the rest of the time can have a part of `d`, so
//! at least `d` less that rest was taken from the poll. This is the time that counts: never too much, and less by at most
//! the time between the first reading and the poll, and the waits within the poll.
//!
//! With each reading of that counter comes one of the thread's processor time. The poll cannot have run for longer than
//! their difference `c`. What neither `c` nor `d` has room for, `r - c - d`, the poll was asleep. It blocked its thread by a
//! call that has no record, such as `thread::sleep`, or a lock of the standard library. Again never too much.
//!
//! Nothing says when in the poll it was. So each moment of the poll has its share.

use std::collections::HashMap;

use super::recording::sum;

/// The time for which a poll did not run, although its events say so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Delay {
    /// The poll.
    pub(super) from: u64,
    pub(super) to: u64,
    /// The part of it in which it ran or was ready.
    pub(super) ran: u64,
    /// The part of that in which it was ready.
    pub(super) nanos: u64,
    /// The part of it in which it was asleep. Both together are at most `ran`.
    pub(super) asleep: u64,
}

impl Delay {
    /// Returns the share that a time in this poll has of a part of the poll.
    fn share(&self, part: u64, from: u64, to: u64) -> u64 {
        let time = to.min(self.to).saturating_sub(from.max(self.from));
        let share = u128::from(time) * u128::from(part) / u128::from(self.ran.max(1));
        let share = u64::try_from(share).unwrap_or(u64::MAX);
        share.min(time).min(part)
    }
}

/// The delay between two readings of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Between {
    from: u64,
    nanos: u64,
    /// The processor time, if it is known.
    processor: Option<u64>,
}

impl Between {
    /// Returns the delay of the poll from `began` to `ended`, at which the second reading was. `ran`: the time in which it
    /// ran.
    pub(super) fn of_poll(self, began: u64, ended: u64, ran: u64) -> Option<Delay> {
        let rest = ended.saturating_sub(self.from).saturating_sub(ran);
        let nanos = self.nanos.saturating_sub(rest).min(ran);
        let awake = |processor: u64| processor.saturating_add(self.nanos);
        let asleep = (self.processor).map_or(0, |processor| ran.saturating_sub(awake(processor)));
        (nanos != 0 || asleep != 0).then_some(Delay {
            from: began,
            to: ended,
            ran,
            nanos,
            asleep,
        })
    }
}

/// A reading of the counters of a thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    pub(super) at: u64,
    /// The time for which it was ready and did not run.
    pub(super) delay: u64,
    /// The time that it had on a processor. An older recording does not have it.
    pub(super) processor: Option<u64>,
}

/// The last reading of each thread.
#[derive(Debug, Default)]
pub(super) struct Readings(HashMap<u64, Reading>);

impl Readings {
    /// Notes a reading. Returns what is known since the one before it.
    pub(super) fn note(&mut self, thread: u64, now: Reading) -> Option<Between> {
        let before = self.0.insert(thread, now)?;
        let processor = now.processor.zip(before.processor);
        Some(Between {
            from: before.at,
            // The thread of a forked child counts from 0.
            nanos: now.delay.saturating_sub(before.delay),
            processor: processor.and_then(|(now, before)| now.checked_sub(before)),
        })
    }
}

/// The times for which a task was ready, and for which it was asleep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Within {
    pub(super) ready: u64,
    pub(super) asleep: u64,
}

/// Returns those of a task that ran within a time. `delays` are those of the task, in the order of time.
pub(super) fn within(delays: &[Delay], from: u64, to: u64) -> Within {
    let first = delays.partition_point(|delay| delay.to <= from);
    let these = || delays[first..].iter().take_while(|delay| delay.from < to);
    let all = to.saturating_sub(from);
    let ready = sum(these().map(|delay| delay.share(delay.nanos, from, to))).min(all);
    let asleep = sum(these().map(|delay| delay.share(delay.asleep, from, to)));
    Within {
        ready,
        asleep: asleep.min(all - ready),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The delay of a poll from 10 to 20, with the second reading at its end.
    fn of_poll(first: u64, delay: u64, ran: u64) -> Option<u64> {
        let delay = poll(first, (delay, None), ran);
        delay.map(|delay| delay.nanos)
    }

    const fn reading(at: u64, delay: u64, processor: Option<u64>) -> Reading {
        Reading {
            at,
            delay,
            processor,
        }
    }

    fn poll(first: u64, (delay, processor): (u64, Option<u64>), ran: u64) -> Option<Delay> {
        let mut readings = Readings::default();
        let before = processor.map(|_| 1_000);
        assert_eq!(readings.note(1, reading(first, 100, before)), None);
        let after = processor.map(|nanos| 1_000 + nanos);
        let between = readings.note(1, reading(20, 100 + delay, after)).unwrap();
        between.of_poll(10, 20, ran)
    }

    #[test]
    fn a_poll_was_asleep_for_what_no_counter_has_room_for() {
        let of = |first, delay, processor, ran| {
            let poll = poll(first, (delay, Some(processor)), ran);
            poll.map(|poll| (poll.nanos, poll.asleep))
        };
        assert_eq!(of(10, 0, 10, 10), None);
        assert_eq!(of(10, 0, 2, 10), Some((0, 8)));
        assert_eq!(of(10, 3, 2, 10), Some((3, 5)));
        // The thread may have been ready, or have run, before the poll: neither counts twice.
        assert_eq!(of(8, 3, 2, 10), Some((1, 5)));
        assert_eq!(of(8, 0, 12, 10), None);
        // Of the ten, four were recorded waits in the poll.
        assert_eq!(of(10, 0, 2, 6), Some((0, 4)));
        // An older recording does not know.
        let old = poll(10, (3, None), 10).unwrap();
        assert_eq!((old.nanos, old.asleep), (3, 0));
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
        assert_eq!(readings.note(1, reading(5, 100, Some(50))), None);
        assert_eq!(readings.note(2, reading(6, 900, Some(70))), None);
        let nothing = Between {
            from: 5,
            nanos: 0,
            processor: None,
        };
        assert_eq!(readings.note(1, reading(7, 3, Some(2))), Some(nothing));
    }

    #[test]
    fn each_moment_of_a_poll_has_its_share() {
        let one = |from, to, ran, nanos| Delay {
            from,
            to,
            ran,
            nanos,
            asleep: ran - nanos,
        };
        let delays = [one(10, 20, 10, 5), one(30, 40, 4, 4)];
        let of = |from, to| {
            let Within { ready, asleep } = within(&delays, from, to);
            (ready, asleep)
        };
        assert_eq!(
            [of(10, 20), of(0, 50), of(12, 16)],
            [(5, 5), (9, 5), (2, 2)]
        );
        assert_eq!(
            [of(20, 30), of(0, 10), of(38, 60)],
            [(0, 0), (0, 0), (2, 0)]
        );
        assert_eq!(within(&[], 0, 9), Within::default());
    }
}
