//! `futurelock-risk`, `leaked-task`, `no-deadline` and `wake-storm`: the waits of tasks.
//!
//! # Events that wake tasks for nothing
//!
//! A task that waits for an event in a loop waits again at once, whether it has done something or not: the records
//! do not show it. But of many tasks that are woken together for one thing, one does something that takes another
//! wait, and the others wait again at once. So there is a finding if at least [`HERD`] tasks wait for an event at
//! one line, [`RATIO`] of them wait again for each one that does not, and more do not than there are tasks: each task
//! leaves its loop once.

use blitz_io_observe::Hands;

use super::finding::{Finding, Lint, name};
use super::polls::step;
use super::run::{Event, Leak, Run, Step, Storm};
use crate::snapshot::Certainty;

/// The least number of tasks that an event wakes together.
const HERD: u64 = 8;
/// The least number of times that a task waited again at once.
const WAKES: u64 = 1_000;
/// The least number of these for each time that a task did something.
const RATIO: u64 = 4;

/// Returns the findings about waits of a run.
pub(super) fn waits(run: &Run) -> impl Iterator<Item = Finding> {
    let handed = run.handed.iter().filter_map(|event| handed(event, run));
    let leaks = run.leaks.iter().map(|leak| leaked(leak, run));
    let sockets = run.sockets.iter().filter_map(|event| socket(event, run));
    let storms = run.storms.iter().filter_map(|event| storm(event, run));
    handed.chain(leaks).chain(sockets).chain(storms)
}

fn handed(event: &Event, run: &Run) -> Option<Finding> {
    let side = event.side.as_ref()?;
    let name = name(side);
    let is_lock = side.kind.semantics().hands == Hands::Lock;
    Some(Finding {
        lint: Lint::FuturelockRisk,
        certainty: Certainty::Probable,
        // A notification or a place that waits for its future blocks no other task.
        is_pedantic: !is_lock,
        summary: format!("a future has got {name}, and its task awaits something else"),
        steps: vec![Step {
            holds: Some(side.clone()),
            ..step(event)
        }],
        command: run.command.clone(),
        count: event.count,
    })
}

fn leaked(leak: &Leak, run: &Run) -> Finding {
    Finding {
        lint: Lint::LeakedTask,
        certainty: leak.certainty,
        is_pedantic: leak.certainty != Certainty::Certain,
        summary: format!("{}, as their runtime ended", leak.summary),
        steps: leak.steps.clone(),
        command: run.command.clone(),
        count: 1,
    }
}

fn socket(event: &Event, run: &Run) -> Option<Finding> {
    let side = event.side.as_ref()?;
    Some(Finding {
        lint: Lint::NoDeadline,
        certainty: Certainty::Probable,
        is_pedantic: true,
        summary: format!(
            "a request waits for a socket ({}), and its task has no timer",
            side.kind.name()
        ),
        steps: vec![Step {
            takes: Some(side.clone()),
            ..step(event)
        }],
        command: run.command.clone(),
        count: event.count,
    })
}

fn storm(storm: &Storm, run: &Run) -> Option<Finding> {
    let Storm {
        tasks,
        again,
        progressed,
        ..
    } = *storm;
    let is_herd = tasks >= HERD && progressed >= 2 * tasks;
    if !is_herd || again < WAKES || again < RATIO * progressed {
        return None;
    }
    Some(Finding {
        lint: Lint::WakeStorm,
        certainty: Certainty::Probable,
        is_pedantic: true,
        summary: format!(
            "{} wakes {tasks} tasks: {again} times one waits again at once, {progressed} times not",
            name(&storm.side)
        ),
        steps: vec![Step {
            who: storm.task,
            spawned_at: storm.task_at.clone(),
            holds: None,
            takes: Some(storm.side.clone()),
            ..Step::default()
        }],
        command: run.command.clone(),
        count: 1,
    })
}
