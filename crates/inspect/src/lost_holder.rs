//! Locks and permits whose last owner has ended, and did not release them.
//!
//! The guard was leaked, or is kept by something that no record names, so the finding is probable.
//!
//! A task has ended if it has no record any more. A thread has ended if it has noted so itself, and the system does not have it any
//! more: between the two, the thread drops its last values, and one of these may be the guard.

use std::collections::BTreeSet;

use crate::graph::Graph;
use crate::names::{of_target, of_waiter};
use crate::snapshot::{Finding, Object, Snapshot, Wait, Waiter, id_of_child, is_future};

/// Finds locks and permits whose holder is a task or thread that has ended.
pub(crate) fn lost_holders(earlier: &Graph<'_>, later: &Graph<'_>, found: &mut Vec<Finding>) {
    let mut seen = BTreeSet::new();
    for wait in &later.snapshot.waits {
        let Some(object) = &wait.object else { continue };
        let Some(holder) = object.holder else {
            continue;
        };
        // A task whose value has a destructor may have given the guard to the task that gets the value.
        if wait.is_timed || object.is_given {
            continue;
        }
        let mut before = earlier.waits_for(object.id).iter();
        let has_lasted = before.any(|other| other.object.as_ref() == Some(object));
        let is_lost = match holder {
            Waiter::Task(task) => task_is_gone(later, object, task),
            Waiter::Thread(_) => thread_is_gone(earlier, later, object, holder),
            Waiter::Process(_) => false,
        };
        if has_lasted && is_lost && seen.insert(object.id) {
            found.push(finding(later, wait, holder));
        }
    }
}

/// Returns `true` if a task has ended with the object.
fn task_is_gone(later: &Graph<'_>, object: &Object, task: u64) -> bool {
    // A child may have given the guard to the task that awaits its scope. No record says that a future of another
    // runtime has ended.
    if id_of_child(task).is_some() || is_future(task) {
        return false;
    }
    let left_out = later.snapshot.left_out.as_ref();
    let lives = later.task(task).is_some()
        || later.snapshot.job(task).is_some()
        || left_out.is_some_and(|left_out| left_out.alive.contains(&task));
    !lives && !may_have_heir(later.snapshot, object, task)
}

/// Returns `true` if a task or closure lives that may have got the guard or permit from the task that spawned it.
fn may_have_heir(snapshot: &Snapshot, object: &Object, holder: u64) -> bool {
    let by = Some(Waiter::Task(holder));
    let mut spawned = snapshot.spawned.iter();
    object.is_movable && (snapshot.left_out.is_some() || spawned.any(|spawned| spawned.by == by))
}

/// Returns `true` if a thread has ended with the object. No record says to whom it could have given a guard that may move.
///
/// The list of the system's threads is older than the records: a thread that has started in between is missing in it. That thread
/// is not in the earlier snapshot.
fn thread_is_gone(earlier: &Graph<'_>, later: &Graph<'_>, object: &Object, holder: Waiter) -> bool {
    let both = [earlier, later];
    !object.is_movable && both.iter().all(|graph| graph.snapshot.has_ended(holder))
}

fn finding(graph: &Graph<'_>, wait: &Wait, holder: Waiter) -> Finding {
    let ends = || ". This ends only if the program has kept it elsewhere, and drops it".to_owned();
    let (certainty, other_ends) = graph.unless_finished(1, ends);
    Finding {
        certainty,
        kind: "lost-holder".into(),
        summary: format!(
            "{} waits for {}, which {} acquired last and did not release before it ended{other_ends}",
            of_waiter(graph.snapshot, wait.waiter),
            of_target(graph.snapshot, wait),
            of_waiter(graph.snapshot, holder),
        ),
        waiters: vec![wait.waiter],
        waits: vec![wait.clone()],
        further: Vec::new(),
    }
}
