//! Each sequence of decisions once, by depth-first search.
//!
//! The state between two runs is the path: the decisions of the last run, each with its number of alternatives.
//! A run takes the decisions of the path, and the first alternative (0) after its end, with which it extends
//! the path. The next path is the last one without the decisions at its end that have no further
//! alternative, and with the next alternative of the one before these. So:
//!
//! 1. Paths come in lexicographic order, each once.
//! 2. If the program is deterministic, the same prefix leads to the same alternatives. So each path that can be
//!    taken is taken: the search leaves a prefix only after the last alternative of its last decision.
//! 3. If the alternatives of a prefix differ from those of the run before, the program is not deterministic
//!    ([`diverged`](Exhaustive::diverged)).

use super::{Choice, What};
use crate::sim::trace::Decision;

pub(in crate::sim) struct Exhaustive {
    path: Vec<Decision>,
    /// Number of decisions of this run.
    depth: usize,
    /// The largest number of preemptions of a run.
    bound: u32,
    /// Number of preemptions of this run.
    preemptions: u32,
    diverged: bool,
}

impl Exhaustive {
    pub(super) fn new(preemptions: Option<u32>) -> Self {
        Self {
            path: Vec::new(),
            depth: 0,
            bound: preemptions.unwrap_or(u32::MAX),
            preemptions: 0,
            diverged: false,
        }
    }

    /// Returns `true` if a decision had another number of alternatives than in the run before.
    pub(in crate::sim) fn diverged(&self) -> bool {
        self.diverged
    }

    pub(super) fn choose(&mut self, choice: &Choice<'_>) -> u32 {
        let is_point = choice.what == What::Point;
        if is_point && self.preemptions >= self.bound {
            return 0;
        }
        if self.depth == self.path.len() {
            let of = choice.of;
            self.path.push(Decision { of, choice: 0 });
        }
        let decision = self.path[self.depth];
        self.depth += 1;
        if decision.of != choice.of {
            self.diverged = true;
            return 0;
        }
        if is_point && decision.choice != 0 {
            self.preemptions += 1;
        }
        decision.choice
    }

    /// Goes to the next path. Returns `false` if there is none.
    pub(in crate::sim) fn advance(&mut self) -> bool {
        self.path.truncate(self.depth);
        (self.depth, self.preemptions) = (0, 0);
        while let Some(last) = self.path.pop() {
            if last.choice + 1 < last.of {
                let choice = last.choice + 1;
                self.path.push(Decision { choice, ..last });
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose(exhaustive: &mut Exhaustive, what: What, of: u32) -> u32 {
        let choice = Choice {
            what,
            of,
            current: 0,
            fault: None,
            ready: &[],
        };
        exhaustive.choose(&choice)
    }

    #[test]
    fn each_sequence_comes_once_in_order() {
        let mut exhaustive = Exhaustive::new(None);
        let mut found = Vec::new();
        loop {
            let first = choose(&mut exhaustive, What::Task, 3);
            // The number of alternatives depends on the previous decision.
            let second = match first {
                1 => None,
                _ => Some(choose(&mut exhaustive, What::Value, 2)),
            };
            found.push((first, second));
            if !exhaustive.advance() {
                break;
            }
        }
        let all = [
            (0, Some(0)),
            (0, Some(1)),
            (1, None),
            (2, Some(0)),
            (2, Some(1)),
        ];
        assert_eq!(found, all);
        assert!(!exhaustive.diverged());
    }

    #[test]
    fn a_bound_counts_only_preemptions() {
        let mut exhaustive = Exhaustive::new(Some(1));
        let mut runs = 0;
        loop {
            let points: u32 = (0..4)
                .map(|_| choose(&mut exhaustive, What::Point, 2))
                .sum();
            assert!(points <= 1);
            choose(&mut exhaustive, What::Task, 2);
            runs += 1;
            if !exhaustive.advance() {
                break;
            }
        }
        // No preemption, or one of four; and the task.
        assert_eq!(runs, (1 + 4) * 2);
    }

    #[test]
    fn a_program_that_is_not_deterministic_is_noticed() {
        let mut exhaustive = Exhaustive::new(None);
        choose(&mut exhaustive, What::Task, 3);
        assert!(exhaustive.advance());
        choose(&mut exhaustive, What::Task, 4);
        assert!(exhaustive.diverged());
    }
}
