//! The longest part of a poll between two operations that have lines: where a long poll spent its time, as far as records
//! say.

use super::lock::At;
use crate::records::recording::ticks;

/// The operations of one poll, and the longest time between two of them.
#[derive(Clone, Copy)]
pub(super) struct Steps {
    /// The last operation, or the beginning of the poll.
    last: At,
    /// Its time, in ticks.
    since: u64,
    /// The longest time between two operations, in ticks.
    longest: u64,
    between: [At; 2],
}

impl Steps {
    /// Begins with a poll. `since`: in ticks.
    pub(super) fn new(since: u64) -> Self {
        Self {
            last: None,
            since,
            longest: 0,
            between: [None; 2],
        }
    }

    /// The poll does something at this line.
    pub(super) fn step(&mut self, at: At) {
        if at.is_some() {
            self.look(ticks::now(), at);
        }
    }

    /// Returns the lines before and after the longest part of a poll that ends `now`.
    pub(super) fn end(mut self, now: u64) -> [At; 2] {
        self.look(now, None);
        self.between
    }

    fn look(&mut self, now: u64, at: At) {
        let took = now.saturating_sub(self.since);
        if took > self.longest {
            self.longest = took;
            self.between = [self.last, at];
        }
        (self.last, self.since) = (at, now);
    }
}

#[cfg(test)]
mod tests {
    use std::panic::Location;

    use super::*;

    #[test]
    fn the_longest_part_has_the_lines_around_it() {
        let one: At = Some(Location::caller());
        let other: At = Some(Location::caller());
        let mut steps = Steps::new(100);
        steps.look(110, one);
        steps.look(200, other);
        assert_eq!(steps.end(230), [one, other]);
        assert_eq!(steps.end(400), [other, None]);
        assert_eq!(Steps::new(100).end(200), [None, None]);
    }
}
