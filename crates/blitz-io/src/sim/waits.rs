//! The findings and waits of a run that has failed, in words.

use std::collections::BTreeSet;

use blitz_io_inspect::{Finding, Snapshot, Task, Waiter, findings, report, snapshot};

/// Returns the findings and the waits of these tasks, which this thread runs.
pub(super) fn describe(tasks: &BTreeSet<u64>) -> String {
    // No task of the run is polled any more, so a second snapshot would show the same waits.
    let snapshot = of_run(snapshot(), tasks);
    let findings: Vec<Finding> = findings(&snapshot, &snapshot);
    report(&snapshot, &findings)
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
    let mut of_run: Vec<Task> = all
        .into_iter()
        .filter(|task| tasks.contains(&task.id))
        .collect();
    // The test's own task is the first one. It was spawned here.
    if let Some(own) = of_run
        .iter_mut()
        .find(|task| Some(&task.id) == tasks.first())
    {
        own.name = "the test".into();
        own.location.clear();
    }
    Snapshot {
        pid,
        at_ms,
        tasks: of_run,
        waits: waits
            .into_iter()
            .filter(|wait| is_of_run(wait.waiter))
            .collect(),
        makers,
        spawned,
        ..Snapshot::default()
    }
}
