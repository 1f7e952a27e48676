//! The findings and waits of a run that has failed, in words.

use std::collections::BTreeSet;

use blitz_io_inspect::{Finding, Snapshot, Waiter, findings, report, snapshot};

/// Returns the findings and the waits of these tasks, which this thread runs.
pub(super) fn describe(tasks: &BTreeSet<u64>) -> String {
    // No task of the run has been polled in between, so both show the same waits.
    let earlier = of_run(snapshot(), tasks);
    let later = of_run(snapshot(), tasks);
    let findings: Vec<Finding> = findings(&earlier, &later);
    report(&later, &findings)
}

/// Returns the part of a snapshot that belongs to these tasks. Other tests of the process have theirs.
fn of_run(snapshot: Snapshot, tasks: &BTreeSet<u64>) -> Snapshot {
    let is_of_run = |waiter: Waiter| matches!(waiter, Waiter::Task(id) if tasks.contains(&id));
    let Snapshot {
        pid,
        tasks: all,
        waits,
        at_ms,
        makers,
        spawned,
        ..
    } = snapshot;
    Snapshot {
        pid,
        at_ms,
        tasks: all
            .into_iter()
            .filter(|task| tasks.contains(&task.id))
            .collect(),
        waits: waits
            .into_iter()
            .filter(|wait| is_of_run(wait.waiter))
            .collect(),
        makers,
        spawned,
        ..Snapshot::default()
    }
}
