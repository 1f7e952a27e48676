//! Timers that are due while no thread drives their runtime.
//!
//! A timer that fires uses up the waker of its future. So if a task is idle, and has as many wakers as recorded waits,
//! its timers have not fired. If one was due a second ago, no thread has driven its runtime since. The reader leaves
//! timers out whose task was last polled by a worker, or by a thread that drives a future now (`reader.rs`). A handle
//! that can abort the task counts as a waker, so this is probable only.

use crate::graph::Graph;
use crate::names::{of_target, of_waiter};
use crate::snapshot::{Certainty, Finding, TaskState, Wait, Waiter};
use blitz_io_observe::collections::HashMap;

/// A timer that is less late is no finding, in milliseconds.
const LATE: u64 = 1_000;
/// There are so many findings at most.
const MOST: usize = 8;

/// Adds the timers, one for each task.
pub(crate) fn overdue_timers(earlier: &Graph<'_>, later: &Graph<'_>, found: &mut Vec<Finding>) {
    let late = |graph: &Graph<'_>| {
        let timers = graph.snapshot.overdue.iter();
        let late = timers.filter(|timer| timer.late_ms >= LATE);
        let late: HashMap<u64, u64> = late.map(|timer| (timer.wait, timer.late_ms)).collect();
        late
    };
    let (before, now) = (late(earlier), late(later));
    let mut waiters: Vec<Waiter> = Vec::new();
    for wait in &later.snapshot.waits {
        let time = now.get(&wait.id).filter(|_| before.contains_key(&wait.id));
        let Some(time) = time.filter(|_| !waiters.contains(&wait.waiter)) else {
            continue;
        };
        if !(has_not_fired(earlier, wait) && has_not_fired(later, wait)) {
            continue;
        }
        let snapshot = later.snapshot;
        found.push(Finding {
            certainty: Certainty::Probable,
            kind: "not-driven".into(),
            summary: format!(
                "{} waits for {}, which was due {:.1} s ago: no thread drives its runtime. This ends only if one does, or if the task is aborted",
                of_waiter(snapshot, wait.waiter),
                of_target(snapshot, wait),
                *time as f64 / 1e3,
            ),
            waiters: vec![wait.waiter],
            waits: vec![wait.clone()],
            further: Vec::new(),
        });
        waiters.push(wait.waiter);
        if waiters.len() == MOST {
            return;
        }
    }
}

/// Returns `true` if the task of a wait is idle, and each of its recorded waits has its waker.
fn has_not_fired(graph: &Graph<'_>, wait: &Wait) -> bool {
    let waits = graph.waits(wait.waiter);
    let task = wait.waiter.task().and_then(|id| graph.task(id));
    task.is_some_and(|task| {
        let is_plain = waits.iter().all(|wait| wait.is_direct);
        is_plain && task.state == TaskState::Idle && task.wakers == waits.len()
    })
}
