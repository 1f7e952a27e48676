//! Leftovers at the end of a runtime: tasks that wait for each other, and tasks that nothing could wake.
//!
//! The runtime calls this before it drops its tasks. Two snapshots are judged as `blitz why` does it. A set of tasks
//! that certainly wait for each other is a finding. A task that is idle, and has neither a recorded wait nor a waker,
//! is a probable one: a program may await `pending()` in a task which it means to abort.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use blitz_io_core::PerProcess;
use blitz_io_observe::{Kind, lint};

use super::run::{Leak, Side, Step};
use crate::findings::findings;
use crate::graph::Graph;
use crate::reader::waits;
use crate::snapshot::{Certainty, Finding, Snapshot, Wait, Waiter};

/// The time between two snapshots.
const PAUSE: Duration = Duration::from_millis(20);

/// The tasks that the recorder has.
static KNOWN: PerProcess<Mutex<HashSet<Waiter>>> = PerProcess::new(Mutex::default);

/// A runtime with tasks is about to drop them. Does nothing unless the recorder of `blitz lint` is on.
pub fn runtime_ends() {
    if !lint::is_on() {
        return;
    }
    let earlier = waits();
    if leaks(&earlier, &earlier).is_empty() {
        return;
    }
    thread::sleep(PAUSE);
    let later = waits();
    for leak in leaks(&earlier, &later) {
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let before = known.len();
        known.extend(leak.steps.iter().filter_map(|step| step.who));
        let is_new = known.len() != before;
        drop(known);
        if let Some(json) = is_new.then(|| serde_json::to_string(&leak).ok()).flatten() {
            lint::leaked(json);
        }
    }
}

fn leaks(earlier: &Snapshot, later: &Snapshot) -> Vec<Leak> {
    let found = findings(earlier, later);
    let mut leaks: Vec<Leak> = (found.iter())
        .filter(|finding| is_leak(finding, later))
        .map(|finding| of_finding(finding, later))
        .collect();
    let (earlier, graph) = (Graph::new(earlier), Graph::new(later));
    for waiter in graph.never_woken() {
        let polls = |graph: &Graph<'_>| Some(graph.task(waiter.task()?)?.polls);
        if earlier.is_never_woken(waiter) && polls(&earlier) == polls(&graph) {
            leaks.push(Leak {
                certainty: Certainty::Probable,
                summary: "a task waits, and nothing is left that could wake it".into(),
                steps: vec![step(waiter, None, later)],
            });
        }
    }
    leaks
}

/// Returns `true` if a finding is certain, and one of its waiters is a task.
fn is_leak(finding: &Finding, snapshot: &Snapshot) -> bool {
    let is_task = |waiter: &Waiter| {
        let mut tasks = snapshot.tasks.iter();
        tasks.any(|task| Some(task.id) == waiter.task() && !task.is_root)
    };
    let is_cycle = matches!(
        &*finding.kind,
        "deadlock" | "permits" | "self-wait" | "futurelock"
    );
    let is_certain = finding.certainty == Certainty::Certain;
    is_cycle && is_certain && finding.waiters.iter().any(is_task)
}

fn of_finding(finding: &Finding, snapshot: &Snapshot) -> Leak {
    let wait_of = |waiter| finding.waits.iter().find(|wait| wait.waiter == waiter);
    let waiters = finding.waiters.iter();
    Leak {
        certainty: finding.certainty,
        summary: finding.summary.clone(),
        steps: waiters
            .map(|&waiter| step(waiter, wait_of(waiter), snapshot))
            .collect(),
    }
}

fn step(waiter: Waiter, wait: Option<&Wait>, snapshot: &Snapshot) -> Step {
    let mut tasks = snapshot.tasks.iter();
    let task = tasks.find(|task| Some(task.id) == waiter.task());
    Step {
        who: Some(waiter),
        spawned_at: task
            .map(|task| task.location.clone())
            .filter(|at| !at.is_empty()),
        takes: wait.and_then(side),
        ..Step::default()
    }
}

fn side(wait: &Wait) -> Option<Side> {
    let mut kinds = Kind::ALL.iter().copied();
    Some(Side {
        lock: String::new(),
        kind: kinds.find(|kind| kind.name() == wait.kind)?,
        name: wait.object.as_ref().and_then(|object| object.name.clone()),
        made_at: None,
        at: Some(wait.location.clone()).filter(|at| !at.is_empty()),
    })
}
