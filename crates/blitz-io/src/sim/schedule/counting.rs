//! A random walk that counts the operations of its run, by which PCT and SURW select theirs.
//!
//! The walk is the run of seed 0, whatever the seeds of the search are. So a seed means the same run in each search, and
//! alone.

use super::Choice;
use super::random::Random;
use super::surw::{Counts, Profile};

/// The seed of the walk.
pub(in crate::sim) const SEED: u64 = 0;

/// The operations and decisions of the walk.
#[derive(Default)]
pub(in crate::sim) struct Counted {
    pub(super) profile: Profile,
    /// Number of decisions.
    pub(in crate::sim) length: u64,
}

pub(in crate::sim) struct Counting {
    random: Random,
    counts: Counts,
}

impl Counting {
    pub(super) fn new() -> Self {
        Self {
            random: Random::new(SEED),
            counts: Counts::default(),
        }
    }

    pub(super) fn choose(&mut self, choice: &Choice<'_>) -> u32 {
        self.random.choose(choice.what, choice.of)
    }

    pub(super) fn operates(&mut self, task: u32, object: u32) {
        self.counts.add(task, object);
    }

    /// Ends the walk, which has made this number of decisions.
    pub(in crate::sim) fn end(&self, decisions: usize) -> Counted {
        let mut profile = Profile::default();
        profile.add(&self.counts);
        Counted {
            profile,
            length: decisions as u64,
        }
    }
}
