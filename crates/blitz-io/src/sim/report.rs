//! `Report`: the result of runs that have not failed.

use std::collections::BTreeMap;

/// The result of the runs of a test, none of which has failed.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub(super) runs: u64,
    pub(super) steps: u64,
    pub(super) is_complete: bool,
    /// The schedule has no other run.
    pub(super) has_tried_all: bool,
    pub(super) sometimes: BTreeMap<String, u64>,
}

impl Report {
    /// Returns the number of runs.
    #[must_use]
    pub fn runs(&self) -> u64 {
        self.runs
    }

    /// Returns the number of steps of all runs. A step is the code of a task between two points.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Returns `true` if there is no other order: [`Schedule::Exhaustive`](super::Schedule::Exhaustive) has tried all of
    /// them.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Returns how many times the [`sometimes`](super::sometimes) of this name has happened, in all runs.
    #[must_use]
    pub fn happened(&self, name: &str) -> u64 {
        self.sometimes.get(name).copied().unwrap_or(0)
    }

    /// Returns the names of those [`sometimes`](super::sometimes) that have never happened, in the order of the alphabet.
    #[must_use]
    pub fn never(&self) -> Vec<&str> {
        let never = self.sometimes.iter().filter(|(_, times)| **times == 0);
        never.map(|(name, _)| name.as_str()).collect()
    }
}
