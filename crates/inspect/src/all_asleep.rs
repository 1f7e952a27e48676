//! Programs in which each thread sleeps until another one wakes it: `all-asleep`.
//!
//! A thread that drives a future sleeps until the future can go on. The reader looks for what that waits for: the wait that
//! neither drives a future nor awaits a task.
//!
//! If all workers of the runtimes sleep in polls, that is the reason: no socket is read and no timer fires. They often wait for a
//! lock of std, whose owner no record has. A task that has begun to wait for a socket or timer in the middle of the
//! program, and that no worker can poll any more, may be the owner.

use std::collections::BTreeSet;

use blitz_io_observe::{Mode, SOCKET};

use crate::connections::is_of_program;
use crate::graph::{Graph, is_timer, is_unknown};
use crate::names::{IN_SUMMARY, abridged, of_target, of_waiter, short};
use crate::snapshot::{Certainty, Finding, Snapshot, Wait, Waiter};

/// So many reasons are in the finding.
const REASONS: usize = 16;
/// The summary names so many.
const NAMES: usize = 4;

/// Adds the finding that no thread is left which could wake another one.
pub(crate) fn all_asleep(earlier: &Graph<'_>, later: &Graph<'_>, found: &mut Vec<Finding>) {
    let snapshot = later.snapshot;
    let has_lasted = snapshot.all_asleep == earlier.snapshot.all_asleep;
    let mut others = found.iter();
    let is_explained = others.any(|finding| finding.certainty == Certainty::Certain);
    if snapshot.all_asleep.is_none() || !has_lasted || is_explained {
        return;
    }
    let mut waits: Vec<Wait> = snapshot.waits.clone();
    waits.retain(|wait| wait.blocks_thread);
    // Those say more that have a record.
    waits.sort_by_key(is_unknown);
    let mut waiters: Vec<Waiter> = Vec::new();
    for wait in &waits {
        if !waiters.contains(&wait.waiter) {
            waiters.push(wait.waiter);
        }
    }
    // All threads may be idle, in a program without work.
    if waiters.is_empty() {
        return;
    }
    let blocked = blocked_workers(snapshot, &waits);
    let reasons = match &blocked {
        Some(_) => not_polled(later, &waiters),
        None => reasons(later, &waits),
    };
    let names = waiters.iter().map(|&waiter| of_waiter(snapshot, waiter));
    let names = abridged(names.collect(), IN_SUMMARY);
    found.push(Finding {
        certainty: if snapshot.handles_signals {
            Certainty::Probable
        } else {
            Certainty::Certain
        },
        kind: "all-asleep".into(),
        summary: format!(
            "{}{}",
            match &blocked {
                Some(blocked) => of_blocked(snapshot, blocked, &reasons),
                None => format!(
                    "{} {}, and no thread is left that could wake {}{}",
                    names.join(", "),
                    if names.len() == 1 { "sleeps" } else { "sleep" },
                    if names.len() == 1 { "it" } else { "one" },
                    of_reasons(snapshot, &reasons),
                ),
            },
            match (snapshot.handles_signals, &blocked) {
                (false, _) => "",
                (true, None) => "; only a handler of a signal could",
                (true, Some(_)) => "; only a handler of a signal could end that",
            }
        ),
        waiters,
        waits: waits
            .into_iter()
            .chain(reasons.into_iter().cloned())
            .collect(),
        further: Vec::new(),
    });
}

/// Returns the tasks that block the workers of all runtimes, if these do. `None` if there is no worker, or another one.
fn blocked_workers(snapshot: &Snapshot, waits: &[Wait]) -> Option<Vec<Waiter>> {
    let runtimes = snapshot.runtimes.iter().flatten();
    let runtimes = runtimes.filter(|runtime| runtime.scheduler.is_some());
    let workers: usize = runtimes.map(|runtime| runtime.workers.len()).sum();
    let mut blocked = BTreeSet::new();
    for wait in waits {
        let task = wait.waiter.task().and_then(|id| snapshot.task(id));
        if task.is_some_and(|task| !task.is_root) {
            blocked.insert(wait.waiter);
        }
    }
    (workers != 0 && blocked.len() == workers).then(|| blocked.into_iter().collect())
}

/// Returns the waits for sockets and timers, in the code of the program, of other tasks: these were polled before.
fn not_polled<'a>(graph: &Graph<'a>, waiters: &[Waiter]) -> Vec<&'a Wait> {
    let is_event = |wait: &Wait| {
        let source = wait.source.as_deref();
        let is_read = wait.kind == SOCKET && source.is_some_and(|what| !what.starts_with("accept"));
        is_read || is_timer(wait)
    };
    let waits = graph.snapshot.waits.iter();
    let others = waits.filter(|wait| {
        let task = wait.waiter.task().and_then(|id| graph.task(id));
        let is_idle = task.is_some_and(|task| !task.is_root) && !waiters.contains(&wait.waiter);
        is_idle && is_event(wait) && is_of_program(wait)
    });
    others.take(REASONS).collect()
}

/// Describes workers that are all blocked, and the tasks that they cannot poll.
fn of_blocked(snapshot: &Snapshot, blocked: &[Waiter], others: &[&Wait]) -> String {
    let names = blocked.iter().map(|&waiter| of_waiter(snapshot, waiter));
    let names = abridged(names.collect(), IN_SUMMARY);
    let (workers, block) = match blocked.len() {
        1 => ("the only worker is".to_owned(), "blocks"),
        count => (format!("all {count} workers are"), "block"),
    };
    let owner = match of_reasons(snapshot, others) {
        none if none.is_empty() => none,
        others => format!(
            ". What they wait for may be held by a task that can no longer be polled{others}"
        ),
    };
    format!(
        "{workers} blocked, so no socket is read and no timer fires: {} {block} in a poll{owner}",
        names.join(", "),
    )
}

/// Returns what the futures wait for that these threads drive, and the tasks that those await.
fn reasons<'a>(graph: &Graph<'a>, waits: &[Wait]) -> Vec<&'a Wait> {
    let mut found: Vec<&Wait> = Vec::new();
    let mut seen = BTreeSet::new();
    let enders = |wait: &Wait| match wait.semantics.mode {
        Mode::Drive | Mode::Join => graph.enders(wait).waiters,
        _ => Vec::new(),
    };
    let mut next: Vec<Waiter> = waits.iter().flat_map(enders).collect();
    while !next.is_empty() && found.len() < REASONS {
        let mut later = Vec::new();
        for waiter in next.into_iter().filter(|&waiter| seen.insert(waiter)) {
            for &wait in graph
                .waits(waiter)
                .iter()
                .filter(|wait| !wait.blocks_thread)
            {
                match enders(wait) {
                    enders if enders.is_empty() => found.push(wait),
                    enders => later.extend(enders),
                }
            }
        }
        next = later;
    }
    found.truncate(REASONS);
    found
}

/// Names what the threads really wait for.
fn of_reasons(snapshot: &Snapshot, reasons: &[&Wait]) -> String {
    let name = |wait: &&Wait| {
        let (waiter, target) = (of_waiter(snapshot, wait.waiter), of_target(snapshot, wait));
        match short(&wait.location) {
            "" => format!("{waiter} waits for {target}"),
            place => format!("{waiter} waits for {target} at {place}"),
        }
    };
    match &*abridged(reasons.iter().map(name).collect(), NAMES) {
        [] => String::new(),
        names => format!(": {}", names.join(", ")),
    }
}
