//! Programs in which each thread sleeps until another one wakes it: `all-asleep`.
//!
//! A thread that drives a future sleeps until the future can go on. The reader looks for what that waits for: the wait that
//! neither drives a future nor awaits a task.

use std::collections::BTreeSet;

use blitz_io_observe::Mode;

use crate::graph::{Graph, is_unknown};
use crate::names::{of_target, of_waiter, short};
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
    let reasons = reasons(later, &waits);
    let names: Vec<String> = waiters
        .iter()
        .map(|&waiter| of_waiter(snapshot, waiter))
        .collect();
    found.push(Finding {
        certainty: if snapshot.handles_signals {
            Certainty::Probable
        } else {
            Certainty::Certain
        },
        kind: "all-asleep".into(),
        summary: format!(
            "{} {}, and no thread is left that could wake {}{}{}",
            names.join(", "),
            if names.len() == 1 { "sleeps" } else { "sleep" },
            if names.len() == 1 { "it" } else { "one" },
            of_reasons(snapshot, &reasons),
            if snapshot.handles_signals {
                "; only a handler of a signal could"
            } else {
                ""
            },
        ),
        waiters,
        waits: waits
            .into_iter()
            .chain(reasons.into_iter().cloned())
            .collect(),
        further: Vec::new(),
    });
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
    let mut names: Vec<String> = reasons.iter().take(NAMES).map(name).collect();
    if let more @ 1.. = reasons.len().saturating_sub(NAMES) {
        names.push(format!("{more} more"));
    }
    match &*names {
        [] => String::new(),
        names => format!(": {}", names.join(", ")),
    }
}
