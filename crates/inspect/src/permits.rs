//! Semaphores all of whose permits are held by tasks and threads that wait for another one.
//!
//! Three tasks take a permit of three each, and then want a second one. No cycle of two has the whole of it: the permit of each
//! could come from any of the others. So this is one finding about a semaphore, with all that hold its permits.
//!
//! 1. The record names the waiter of each guard. The guards borrow the semaphore: an accept loop that gives an owned permit to
//!    each connection waits for the permits that it took itself, too, and is healthy (`own_lock.rs`).
//! 2. Each holder waits for this semaphore, and is stuck by the rules of `findings.rs`.
//! 3. A task has a waker for each recorded wait, and no more, and polls the futures of these itself. One that runs requests in
//!    a set has another future with the permit, which may wait for something without a record.
//!
//! A guard that borrows a semaphore in a `static` can still move, and `add_permits` takes no guard, so this is probable.

use std::collections::BTreeSet;

use blitz_io_observe::Mode;

use crate::graph::Graph;
use crate::names::{of_target, of_waiter, since_taken, tasks_and_threads};
use crate::snapshot::{Finding, Wait, Waiter};

/// Adds the semaphores whose permits no waiter will return. `stuck`: the waiters that cannot go on. Returns the waiters of these
/// findings.
pub(crate) fn all_taken(
    graph: &Graph<'_>,
    stuck: &BTreeSet<Waiter>,
    found: &mut Vec<Finding>,
) -> BTreeSet<Waiter> {
    let mut seen = BTreeSet::new();
    let mut told = BTreeSet::new();
    for wait in &graph.snapshot.waits {
        let Some(object) = &wait.object else { continue };
        if wait.semantics.mode != Mode::Permit || !object.are_kept || !seen.insert(object.id) {
            continue;
        }
        let of_holder = |&holder: &Waiter| {
            let is_it = stuck.contains(&holder) && has_records_only(graph, holder);
            let mut waits = graph.effective_waits(holder).filter(|_| is_it);
            waits.find(|wait| wait.object.as_ref().is_some_and(|of| of.id == object.id))
        };
        let waits: Option<Vec<&Wait>> = object.readers.iter().map(of_holder).collect();
        if let Some(waits) = waits.filter(|waits| !waits.is_empty()) {
            told.extend(waits.iter().map(|wait| wait.waiter));
            found.push(finding(graph, &waits));
        }
    }
    told
}

/// Returns `true` if the recorded waits are all that the waiter waits for, by rule 3.
fn has_records_only(graph: &Graph<'_>, waiter: Waiter) -> bool {
    let waits = graph.waits(waiter);
    waits.iter().any(|wait| wait.blocks_thread) || graph.missing_wakers(waiter) == Some(0)
}

fn finding(graph: &Graph<'_>, waits: &[&Wait]) -> Finding {
    let snapshot = graph.snapshot;
    let target = of_target(snapshot, waits[0]);
    let summary = match waits {
        [wait] => format!(
            "{} waits for {target}, and holds all its permits{}",
            of_waiter(snapshot, wait.waiter),
            since_taken(wait),
        ),
        _ => {
            let tasks = waits.iter().filter(|wait| wait.waiter.task().is_some());
            let tasks = tasks.count();
            let holders = tasks_and_threads(tasks, waits.len() - tasks);
            format!("{holders} wait for {target}, and hold all its permits")
        }
    };
    let ends = || String::from(": this ends only if another one adds permits");
    let (certainty, other_ends) = graph.unless_finished(waits.len(), ends);
    Finding {
        certainty,
        kind: "permits".into(),
        summary: summary + &other_ends,
        waiters: waits.iter().map(|wait| wait.waiter).collect(),
        waits: waits.iter().map(|&wait| wait.clone()).collect(),
        further: Vec::new(),
    }
}
