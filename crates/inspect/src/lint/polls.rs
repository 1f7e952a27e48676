//! `guard-across-await` and `blocking-in-poll`: what the polls of tasks did.

use super::finding::{Finding, Lint, name};
use super::run::{Event, Run, Side, Step};
use crate::snapshot::Certainty;

/// A shorter wait for a lock is no finding: the lock is contended, and its critical section short. In nanoseconds.
const SHORT: u64 = 1_000_000;

/// Returns the findings about polls of a run.
pub(super) fn polls(run: &Run) -> impl Iterator<Item = Finding> {
    let guards = run.guards.iter().filter_map(|event| guard(event, run));
    let blocked = run.blocked.iter().filter_map(|event| blocked(event, run));
    let long = run.polls.iter().map(|event| long(event, run));
    guards.chain(blocked).chain(long)
}

fn guard(event: &Event, run: &Run) -> Option<Finding> {
    let side = event.side.as_ref()?;
    let name = name(side);
    // Nothing measures how long the guard of a thread lock is kept: no time is short enough.
    let summary = match event.longest_ns {
        0 => format!("a task keeps the guard of {name} over an await"),
        nanos => format!(
            "a task keeps the guard of {name} over awaits for {}, and others wait for it",
            millis(nanos)
        ),
    };
    let step = Step {
        holds: Some(side.clone()),
        ..step(event)
    };
    Some(finding(
        Lint::GuardAcrossAwait,
        summary,
        vec![step],
        event,
        run,
    ))
}

fn blocked(event: &Event, run: &Run) -> Option<Finding> {
    let side = event.side.as_ref()?;
    let is_lock = side.mode().is_of_lock();
    if is_lock && event.longest_ns < SHORT {
        return None;
    }
    let summary = format!(
        "the poll of a task blocks its thread for {}: {}",
        millis(event.longest_ns),
        name(side)
    );
    let mut steps = vec![Step {
        takes: Some(side.clone()),
        ..step(event)
    }];
    if let Some(at) = event.holder_at.clone().filter(|_| is_lock) {
        let holds = Side {
            at: Some(at),
            ..side.clone()
        };
        steps.push(Step {
            holds: Some(holds),
            ..Step::default()
        });
    }
    Some(finding(Lint::BlockingInPoll, summary, steps, event, run))
}

fn long(event: &Event, run: &Run) -> Finding {
    let summary = format!(
        "a poll takes {}, {} of it on a processor",
        millis(event.longest_ns),
        millis(event.processor_ns)
    );
    finding(Lint::BlockingInPoll, summary, vec![step(event)], event, run)
}

/// Returns the task of an event.
pub(super) fn step(event: &Event) -> Step {
    Step {
        who: event.task,
        spawned_at: event.task_at.clone(),
        request: event.request.clone(),
        between: event.between.clone(),
        ..Step::default()
    }
}

fn finding(lint: Lint, summary: String, steps: Vec<Step>, event: &Event, run: &Run) -> Finding {
    Finding {
        lint,
        certainty: Certainty::Certain,
        is_pedantic: false,
        summary,
        steps,
        command: run.command.clone(),
        count: event.count,
    }
}

fn millis(nanos: u64) -> String {
    format!("{}.{} ms", nanos / 1_000_000, nanos / 100_000 % 10)
}
