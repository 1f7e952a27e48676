//! A copy of the sleep states, for the inspector.

use super::{Count, Idle, Place};

/// A copy of the sleep states of all workers.
pub struct Asleep {
    pub count: Count,
    /// The parked workers that were not called.
    pub parked: Vec<usize>,
    /// For each driver the workers that wait and were not called, and the calls that none has taken.
    pub drivers: Vec<(usize, usize)>,
    pub monitor: Option<Place>,
}

impl Idle {
    /// Returns the present state, for people.
    pub fn asleep(&self) -> Asleep {
        let sleepers = self.sleepers.lock();
        Asleep {
            count: self.count(),
            parked: sleepers.parked().to_vec(),
            drivers: sleepers.waiting().collect(),
            monitor: sleepers.monitor,
        }
    }
}
