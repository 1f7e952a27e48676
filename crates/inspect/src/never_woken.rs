//! Locks whose holder is a task that nothing will wake.
//!
//! A task that is idle, has no recorded wait and no waker is not polled again: nothing is left that could wake it. Its
//! `JoinHandle` could still abort it, so this is probable only. The wait for the lock has lasted for a second.

use std::collections::BTreeSet;

use crate::graph::{Graph, is_held};
use crate::names::{of_target, of_waiter};
use crate::snapshot::{Finding, Wait, Waiter};

/// Adds the waits for locks of such tasks, one for each lock.
pub(crate) fn never_woken(earlier: &Graph<'_>, later: &Graph<'_>, found: &mut Vec<Finding>) {
    let mut seen = BTreeSet::new();
    for wait in &later.snapshot.waits {
        if !earlier.has_lasting(wait) || wait.task.is_some() || !is_held(wait) {
            continue;
        }
        let Some(holder) = holder(earlier, later, wait) else {
            continue;
        };
        let object = wait.object.as_ref().map_or(0, |object| object.id);
        if !seen.insert(object) {
            continue;
        }
        let snapshot = later.snapshot;
        let ends = || ", so only an abort could end it".to_owned();
        let (certainty, other_ends) = later.unless_finished(2, ends);
        found.push(Finding {
            certainty,
            kind: "never-woken".into(),
            summary: format!(
                "{} waits for {}, which {} has; that waits for nothing that could wake it{other_ends}",
                of_waiter(snapshot, wait.waiter),
                of_target(snapshot, wait),
                of_waiter(snapshot, holder),
            ),
            waiters: vec![wait.waiter, holder],
            waits: vec![wait.clone()],
            further: Vec::new(),
        });
    }
}

/// Returns a task that nothing will wake, and that certainly keeps the object of the wait.
fn holder(earlier: &Graph<'_>, later: &Graph<'_>, wait: &Wait) -> Option<Waiter> {
    let enders = later.enders(wait);
    let mut waiters = enders.waiters.iter().copied();
    let is_sole = enders.is_certain && (!enders.needs_all || enders.waiters.len() == 1);
    waiters.find(|&waiter| {
        let has_not_run = || {
            let polls = |graph: &Graph<'_>| Some(graph.task(waiter.task()?)?.polls);
            polls(earlier) == polls(later)
        };
        is_sole && earlier.is_never_woken(waiter) && later.is_never_woken(waiter) && has_not_run()
    })
}
