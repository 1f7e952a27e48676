//! Waits that last much longer than others for the same object have lasted, and ends of runtimes that last.
//!
//! A wait for a lock, a permit or room in a channel is contention, so a long one is a finding. A receiver waits for
//! long whenever a program has nothing to do, so its wait is a note in the report.

use blitz_io_observe::collections::{HashMap, HashSet};

use crate::graph::{Graph, is_contention};
use crate::names::{of_target, of_waiter};
use crate::snapshot::{Certainty, Contention, Finding, Resource, Snapshot, Wait, Waiter};

/// A wait is long if it lasts so many times longer than 999 of 1,000 others.
const TIMES: f64 = 100.0;
/// Fewer waits than this do not tell how long 999 of 1,000 last.
const ENOUGH: u64 = 1_000;
/// The end of a runtime that takes less is no finding, in milliseconds.
const LONG_SHUTDOWN: u64 = 2_000;

/// Adds the long waits of the waiters that no finding has.
pub(crate) fn long_waits(earlier: &Graph<'_>, later: &Graph<'_>, found: &mut Vec<Finding>) {
    let snapshot = later.snapshot;
    let explained: HashSet<Waiter> = found.iter().flat_map(|f| f.waiters.clone()).collect();
    let objects = by_number(snapshot);
    for wait in &snapshot.waits {
        if wait.is_timed || !earlier.has_lasting(wait) {
            continue;
        }
        if wait.runtime.is_some() && wait.waiting_ms >= LONG_SHUTDOWN {
            // That all threads sleep does not name the closure.
            let mut others = found.iter().filter(|finding| finding.kind != "all-asleep");
            if !others.any(|finding| finding.waiters.contains(&wait.waiter)) {
                found.push(of_shutdown(snapshot, wait));
            }
            continue;
        }
        if explained.contains(&wait.waiter) || !is_contention(wait) {
            continue;
        }
        if let Some(usual) = exceeded(&objects, wait) {
            found.push(Finding {
                certainty: Certainty::Probable,
                kind: "long-wait".into(),
                summary: sentence(snapshot, wait, usual),
                waiters: vec![wait.waiter],
                waits: vec![wait.clone()],
                further: Vec::new(),
            });
        }
    }
}

/// Returns the notes about long waits that are no contention, of waiters that are in no finding.
pub(crate) fn notes(snapshot: &Snapshot, findings: &[Finding]) -> Vec<String> {
    let explained: HashSet<Waiter> = findings.iter().flat_map(|f| f.waiters.clone()).collect();
    let objects = by_number(snapshot);
    let quiet = snapshot.waits.iter().filter(|wait| {
        let is_long = !wait.is_short() && !wait.is_timed;
        is_long && !is_contention(wait) && !explained.contains(&wait.waiter)
    });
    let long = quiet.filter_map(|wait| {
        let usual = exceeded(&objects, wait)?;
        Some(sentence(snapshot, wait, usual))
    });
    long.collect()
}

fn by_number(snapshot: &Snapshot) -> HashMap<u64, &Resource> {
    let objects = snapshot.objects.iter().flatten();
    objects.map(|object| (object.object.id, object)).collect()
}

/// Returns the usual time of such waits, in milliseconds, if this one has lasted much longer.
fn exceeded(objects: &HashMap<u64, &Resource>, wait: &Wait) -> Option<f64> {
    usual(objects, wait).filter(|usual| wait.waiting_ms as f64 > TIMES * usual)
}

/// Returns the milliseconds within which 999 of 1,000 waits of this kind for the same object have ended.
fn usual(objects: &HashMap<u64, &Resource>, wait: &Wait) -> Option<f64> {
    let resource = objects.get(&wait.object.as_ref()?.id)?;
    let mut contention = resource.contention.iter();
    percentile(contention.find(|contention| contention.kind == wait.kind)?)
}

fn percentile(contention: &Contention) -> Option<f64> {
    let waits = contention.waits();
    if waits < ENOUGH {
        return None;
    }
    let mut ended = 0;
    let is_enough = |&count: &u64| {
        ended += count;
        ended >= waits - waits / 1_000
    };
    let bucket = contention.buckets.iter().position(is_enough)?;
    Some(contention.upper_end(bucket) * 1e3)
}

fn of_shutdown(snapshot: &Snapshot, wait: &Wait) -> Finding {
    let (waiter, target) = (of_waiter(snapshot, wait.waiter), of_target(snapshot, wait));
    let time = wait.waiting_ms as f64 / 1e3;
    Finding {
        certainty: Certainty::Probable,
        kind: "long-wait".into(),
        summary: format!("{waiter} has waited {time:.1} s for the {target}; it may still end"),
        waiters: vec![wait.waiter],
        waits: vec![wait.clone()],
        further: Vec::new(),
    }
}

fn sentence(snapshot: &Snapshot, wait: &Wait, usual: f64) -> String {
    let (waiter, target) = (of_waiter(snapshot, wait.waiter), of_target(snapshot, wait));
    let time = wait.waiting_ms as f64 / 1e3;
    format!(
        "{waiter} has waited {time:.1} s for {target}; 999 of 1,000 such waits ended within {usual} ms"
    )
}
