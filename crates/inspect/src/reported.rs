//! The findings that a watchdog has reported, so that it reports each one once.

use std::collections::BTreeSet;

use crate::snapshot::{Certainty, Finding, Snapshot, Wait, Waiter};

/// What was reported, as long as a wait of it lasts.
#[derive(Debug, Default)]
pub(crate) struct Reported {
    all: Vec<Known>,
}

impl Reported {
    /// Returns those of the findings about this snapshot that were not reported before, and those that have become certain
    /// since.
    pub(crate) fn new_of(
        &mut self,
        mut findings: Vec<Finding>,
        snapshot: &Snapshot,
    ) -> Vec<Finding> {
        let mut now = Vec::new();
        findings.retain(|finding| {
            let mut found = Known::new(finding);
            let before = self.all.iter().filter(|known| known.is(&found));
            let before = before.map(|known| known.certainty).min();
            let is_new = before.is_none_or(|before| found.certainty < before);
            found.certainty = before.unwrap_or(found.certainty).min(found.certainty);
            now.push(found);
            is_new
        });
        // A finding may be missing once, as while another thread polls one of its tasks.
        let waits: BTreeSet<Member> = snapshot.waits.iter().map(member).collect();
        let is_new_here = |known: &Known| !now.iter().any(|found| found.is(known));
        self.all
            .retain(|known| is_new_here(known) && !known.members.is_disjoint(&waits));
        self.all.append(&mut now);
        findings
    }
}

/// A wait of a waiter; or a waiter, of a finding without waits.
type Member = (Waiter, Option<u64>);

fn member(wait: &Wait) -> Member {
    (wait.waiter, Some(wait.id))
}

/// A reported finding.
#[derive(Debug)]
struct Known {
    kind: String,
    /// The best so far.
    certainty: Certainty,
    members: BTreeSet<Member>,
}

impl Known {
    fn new(finding: &Finding) -> Self {
        let mut members: BTreeSet<Member> = finding.waits.iter().map(member).collect();
        if members.is_empty() {
            members = finding.waiters.iter().map(|&it| (it, None)).collect();
        }
        Self {
            kind: finding.kind.clone(),
            certainty: finding.certainty,
            members,
        }
    }

    /// Returns `true` if both are the same finding, to which more tasks may have come. Each wait has a number of its own, so a
    /// later hang of the same tasks is another finding.
    fn is(&self, other: &Self) -> bool {
        self.kind == other.kind && !self.members.is_disjoint(&other.members)
    }
}

#[cfg(test)]
mod tests {
    use blitz_io_observe::Kind;

    use super::*;

    const PROBABLE: Certainty = Certainty::Probable;
    const CERTAIN: Certainty = Certainty::Certain;

    /// Each wait is that of the task with the same number.
    fn finding(certainty: Certainty, kind: &str, waits: &[u64]) -> Finding {
        let tasks = waits.iter().map(|&id| Waiter::Task(id));
        let waits = tasks.clone().zip(waits);
        Finding {
            certainty,
            kind: kind.into(),
            summary: String::new(),
            waiters: tasks.collect(),
            waits: waits
                .map(|(task, &id)| Wait::example(id, task, Kind::Mutex))
                .collect(),
            further: Vec::new(),
        }
    }

    /// A snapshot with these waits.
    fn snapshot(waits: &[u64]) -> Snapshot {
        Snapshot {
            waits: finding(CERTAIN, "", waits).waits,
            ..Snapshot::default()
        }
    }

    /// Returns the number of new findings.
    fn new_of(reported: &mut Reported, findings: Vec<Finding>) -> usize {
        reported.new_of(findings, &snapshot(&[1, 2, 3, 4])).len()
    }

    #[test]
    fn a_finding_is_new_once() {
        let mut reported = Reported::default();
        let deadlock = |waits: &[u64]| vec![finding(PROBABLE, "deadlock", waits)];
        assert_eq!(new_of(&mut reported, deadlock(&[1, 2])), 1);
        // In another order, and with another task.
        assert_eq!(new_of(&mut reported, deadlock(&[3, 2, 1])), 0);
        // It is missing once.
        assert_eq!(new_of(&mut reported, vec![]), 0);
        assert_eq!(new_of(&mut reported, deadlock(&[3, 1])), 0);
        let other_kind = finding(PROBABLE, "futurelock", &[1]);
        assert_eq!(new_of(&mut reported, vec![other_kind]), 1);
        // Two of one kind, that have not been reported.
        let two = [&[4, 3][..], &[4]].map(|waits| finding(PROBABLE, "self-wait", waits));
        assert_eq!(new_of(&mut reported, two.to_vec()), 2);
        assert_eq!(new_of(&mut reported, two.to_vec()), 0);
    }

    #[test]
    fn a_finding_that_becomes_certain_is_new_once_more() {
        let mut reported = Reported::default();
        for (certainty, count) in [
            (PROBABLE, 1),
            (CERTAIN, 1),
            (PROBABLE, 0),
            (CERTAIN, 0),
            (CERTAIN, 0),
        ] {
            let found = vec![finding(certainty, "deadlock", &[1, 2])];
            assert_eq!(new_of(&mut reported, found), count);
        }
    }

    #[test]
    fn a_finding_is_forgotten_with_its_last_wait() {
        let mut reported = Reported::default();
        let found = || vec![finding(CERTAIN, "deadlock", &[1, 2])];
        assert_eq!(reported.new_of(found(), &snapshot(&[1, 2])).len(), 1);
        assert_eq!(reported.new_of(vec![], &snapshot(&[2])), []);
        assert_eq!(reported.all.len(), 1);
        assert_eq!(reported.new_of(vec![], &snapshot(&[3])), []);
        assert!(reported.all.is_empty());
    }

    #[test]
    fn a_finding_without_waits_is_known_by_its_tasks() {
        let mut reported = Reported::default();
        let not_polled = |tasks: &[u64]| {
            let finding = finding(PROBABLE, "not-polled", tasks);
            vec![Finding {
                waits: Vec::new(),
                ..finding
            }]
        };
        for (tasks, count) in [(&[1, 2][..], 1), (&[2, 3], 0), (&[3], 0)] {
            assert_eq!(new_of(&mut reported, not_polled(tasks)), count);
        }
        assert_eq!(new_of(&mut reported, vec![]), 0);
        // They were polled in between.
        assert_eq!(new_of(&mut reported, not_polled(&[3])), 1);
    }
}
