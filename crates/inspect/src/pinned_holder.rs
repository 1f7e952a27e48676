//! Locks whose holder can only go on in the thread that waits for them.
//!
//! A fiber stays on the thread of its first poll. It may suspend with a lock of threads. If another task of that thread then
//! waits for the lock, the thread sleeps and polls the fiber no more. So the fiber never releases the lock.

use crate::graph::{Graph, is_for_guard};
use crate::names::{of_target, of_waiter, since_taken};
use crate::snapshot::{Certainty, Finding, Task, TaskState, Wait, Waiter};

/// Adds a finding for each such wait that is in no other one.
pub(crate) fn pinned_holders(earlier: &Graph<'_>, later: &Graph<'_>, found: &mut Vec<Finding>) {
    for wait in later
        .snapshot
        .waits
        .iter()
        .filter(|wait| wait.blocks_thread)
    {
        let before = earlier.same(wait);
        let Some(holder) = before.and_then(|before| holder(earlier, before)) else {
            continue;
        };
        let is_same = |now: &&Task| now.id == holder.id && now.polls == holder.polls;
        let mut findings = found.iter();
        if findings.any(|finding| finding.waiters.contains(&wait.waiter)) {
            continue;
        }
        if let Some(holder) = self::holder(later, wait).filter(is_same) {
            found.push(finding(later, wait, Waiter::Task(holder.id)));
        }
    }
}

/// Returns the task that has the lock for which a thread sleeps, and that only this thread polls.
fn holder<'a>(graph: &Graph<'a>, wait: &Wait) -> Option<&'a Task> {
    if !wait.blocks_thread || wait.is_timed || !is_for_guard(wait) {
        return None;
    }
    let enders = graph.enders(wait);
    let stays = |&&holder: &&Waiter| {
        let task = holder.task().and_then(|id| graph.task(id));
        holder != wait.waiter && task.is_some_and(|task| is_kept(graph, task, wait))
    };
    let mut holders = enders.waiters.iter().filter(stays);
    let first = holders.next()?;
    let is_enough = !enders.needs_all || holders.count() + 1 == enders.waiters.len();
    first
        .task()
        .and_then(|id| graph.task(id))
        .filter(|_| enders.is_certain && is_enough)
}

/// Returns `true` if only the thread of the wait can poll the task. Its first poll, which says so too, began a wait there.
fn is_kept(graph: &Graph<'_>, task: &Task, wait: &Wait) -> bool {
    let mut waits = graph.waits(Waiter::Task(task.id)).iter();
    let is_here =
        task.thread == wait.thread || waits.any(|of_holder| of_holder.thread == wait.thread);
    task.is_pinned && is_here && task.state != TaskState::Running
}

fn finding(graph: &Graph<'_>, wait: &Wait, holder: Waiter) -> Finding {
    let snapshot = graph.snapshot;
    let name = |waiter| of_waiter(snapshot, waiter);
    let holders = graph.waits(holder).iter();
    Finding {
        certainty: Certainty::Certain,
        kind: "deadlock".into(),
        summary: format!(
            "{} waits for {}, which {} has{}. That is a fiber of {}, which sleeps in this wait and so never resumes it",
            name(wait.waiter),
            of_target(snapshot, wait),
            name(holder),
            since_taken(wait),
            name(Waiter::Thread(wait.thread)),
        ),
        waiters: vec![wait.waiter, holder],
        waits: std::iter::once(wait)
            .chain(holders.copied())
            .cloned()
            .collect(),
        further: Vec::new(),
    }
}
