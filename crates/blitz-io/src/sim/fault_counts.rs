//! `FaultCounts`: the number of faults of a run, by their kinds.

use std::collections::BTreeMap;

use super::notes::Fault;

/// See the module documentation.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct FaultCounts(BTreeMap<Fault, u32>);

impl FaultCounts {
    /// A fault begins.
    #[cfg_attr(not(feature = "net"), allow(dead_code, reason = "there are no hosts"))]
    pub(super) fn add(&mut self, fault: Fault) {
        *self.0.entry(fault).or_default() += 1;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns `true` if `most` has at least as many faults of each kind.
    pub(super) fn is_within(&self, most: &Self) -> bool {
        let mut kinds = self.0.iter();
        kinds.all(|(kind, count)| most.0.get(kind).is_some_and(|most| count <= most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(faults: &[Fault]) -> FaultCounts {
        let mut counts = FaultCounts::default();
        faults.iter().for_each(|fault| counts.add(*fault));
        counts
    }

    #[test]
    fn fewer_faults_are_fewer_of_each_kind() {
        let most = counts(&[Fault::Crash, Fault::Cut, Fault::Cut]);
        let fewer = [&[][..], &[Fault::Cut], &[Fault::Cut, Fault::Crash]];
        assert!(fewer.iter().all(|faults| counts(faults).is_within(&most)));
        let others = [&[Fault::Kill][..], &[Fault::Crash, Fault::Crash]];
        assert!(!others.iter().any(|faults| counts(faults).is_within(&most)));
    }
}
