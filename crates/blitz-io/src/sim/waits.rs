//! The findings and waits of a run, and the explanation of a failure.

use std::collections::BTreeSet;

use blitz_io_inspect::{
    Certainty, Finding, Snapshot, Task, Waiter, findings, report, snapshot_of_tasks,
};

use super::events::{Steps, each_once};
use super::failure::Cause;
use super::members::Members;

/// Scopes within scopes are followed so far.
const DEPTH: usize = 64;

/// The explanation of a failure.
#[derive(Clone, Debug, Default)]
pub(super) struct Explained {
    pub(super) findings: Vec<Finding>,
    /// The findings and waits, in words.
    pub(super) waits: String,
    /// The last events of the tasks that are involved.
    pub(super) events: String,
    /// What the code has asked of the system and not been given.
    pub(super) system: String,
}

/// Explains a failure of the run with these tasks, which this thread runs. The first one is the test's own.
pub(super) fn explain(tasks: &[u64], members: &Members, last_steps: &Steps) -> Explained {
    let (snapshot, findings) = judge(tasks, members);
    let of_findings = findings.iter().flat_map(|finding| &finding.waiters);
    let of_findings = of_findings.filter_map(|&waiter| task_of(&snapshot, waiter));
    let waiting = snapshot.waits.iter().filter(|_| findings.is_empty());
    let waiting = waiting.filter_map(|wait| task_of(&snapshot, wait.waiter));
    // Without findings, all tasks may be the reason, those that ran last most likely.
    let all = last_steps.tasks();
    let last = if findings.is_empty() { usize::MAX } else { 1 };
    let last = all.take(last);
    let involved = each_once(of_findings.chain(waiting).chain(last));
    Explained {
        waits: report(&snapshot, &findings),
        events: last_steps.describe(tasks, &involved, &snapshot),
        findings,
        system: String::new(),
    }
}

/// Returns the task, or for a child that a task polls itself that task, whose events are the child's.
fn task_of(snapshot: &Snapshot, waiter: Waiter) -> Option<u64> {
    let mut here = waiter;
    for _ in 0..DEPTH {
        let task = snapshot.task(here.task()?)?;
        match task.child_of.filter(|_| task.is_part()) {
            Some(of) => here = of.owner,
            None => return Some(task.id),
        }
    }
    None
}

/// Returns a failure if some of these tasks certainly wait for ever.
pub(super) fn certain(tasks: &[u64], members: &Members) -> Option<Cause> {
    let (_, findings) = judge(tasks, members);
    let mut certain = findings
        .into_iter()
        .filter(|finding| finding.certainty == Certainty::Certain);
    let Finding { kind, summary, .. } = certain.next()?;
    Some(Cause::Finding { kind, summary })
}

/// Returns the waits of these tasks, and their findings. Other tests of the process have theirs.
fn judge(tasks: &[u64], members: &Members) -> (Snapshot, Vec<Finding>) {
    let all: BTreeSet<u64> = tasks.iter().copied().collect();
    let mut snapshot = snapshot_of_tasks(|task| all.contains(&task));
    members.name_tasks(tasks, &mut snapshot);
    // The test's own task is the first one. It was spawned here.
    let is_own = |task: &&mut Task| Some(&task.id) == tasks.first();
    if let Some(own) = snapshot.tasks.iter_mut().find(is_own) {
        own.name = "the test".into();
        own.location.clear();
    }
    // No task of the run is polled now, so a second snapshot would show the same waits.
    let findings = findings(&snapshot, &snapshot);
    (snapshot, findings)
}
