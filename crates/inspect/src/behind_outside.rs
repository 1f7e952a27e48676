//! Notes about waits that end outside of the program, or after a long time. For example, several tasks wait for a lock, and
//! the task that has it waits for a peer that does not answer, or for a timer.
//!
//! Each waiter for a lock, a permit or room in a channel is followed to the waiter that holds it up, and on from there.
//! The last one is the *root*. There is a note if the root waits for the system, for another process or for a timer: nothing
//! in the program ends such a wait.
//!
//! A slow peer may still answer, and a timer fires, so this is a note in the report, and no finding. A timer that fires within
//! a second is none: a worker that waits a little for each value has one in each report.
//!
//! A wait for the answer to a request counts as one for the task that receives requests (`requests.rs`). That is likely only.
//!
//! A `JoinSet` or scope with many members does not name them. A root that waits for such members has a note, too, after those
//! notes: the members may wait for the root.
//!
//! # Waits of a root
//!
//! The task of a connection also waits for its client, and for the channel that ends the service. So the waits that have a
//! line of the program count first. A root without such a line counts only if all its waits are known and outside: else it
//! may wait for something in the program, or without a record. The same holds for timers, which come last: one beside a wait
//! for something in the program is the limit of that.

use std::collections::{BTreeMap, BTreeSet};

use blitz_io_observe::{EndedBy, Kind, Mode};

use crate::graph::{Graph, is_contention, is_for_guard_or_room, is_timer};
use crate::names::{of_target, of_waiter, short, tasks_and_threads};
use crate::requests::Requests;
use crate::snapshot::{Finding, SHORT, Snapshot, Wait, Waiter};

/// A note names so many of the waits of a root.
const NAMED: usize = 2;

/// The waiters whose chains end at one root.
#[derive(Default)]
struct Behind {
    tasks: usize,
    threads: usize,
    longest_ms: u64,
    /// A step of a chain is likely only.
    is_likely: bool,
}

/// Returns the note about each root with waiters that are in no finding, those with the most waiters first. The second list
/// has the roots that wait for members.
pub(crate) fn notes(
    graph: &Graph<'_>,
    requests: &Requests<'_>,
    findings: &[Finding],
) -> (Vec<String>, Vec<String>) {
    let snapshot = graph.snapshot;
    let explained: BTreeSet<Waiter> = findings.iter().flat_map(|f| f.waiters.clone()).collect();
    let mut roots: BTreeMap<Waiter, Behind> = BTreeMap::new();
    for waiter in graph.waiters().filter(|waiter| !explained.contains(waiter)) {
        let mut waits = graph.waits(waiter).iter();
        let is_held_up = |wait: &Wait| is_for_guard_or_room(wait) && !wait.is_timed;
        let is_it = |wait: &&&Wait| is_held_up(wait) || requests.actor(wait).is_some();
        let Some(wait) = waits.find(is_it) else {
            continue;
        };
        let Some((root, is_likely)) = root_of(graph, requests, wait) else {
            continue;
        };
        let behind = roots.entry(root).or_default();
        match waiter {
            Waiter::Task(_) => behind.tasks += 1,
            Waiter::Thread(_) | Waiter::Process(_) => behind.threads += 1,
        }
        behind.longest_ms = behind.longest_ms.max(wait.waiting_ms);
        behind.is_likely |= is_likely;
    }
    let long = roots
        .into_iter()
        .filter(|(_, behind)| behind.longest_ms >= SHORT);
    let mut roots: Vec<(Waiter, Behind)> = long.collect();
    roots.sort_by_key(|(_, behind)| std::cmp::Reverse(behind.tasks + behind.threads));
    let mut notes = (Vec::new(), Vec::new());
    for (root, behind) in &roots {
        let outside = outside(graph, *root);
        if !outside.is_empty() {
            notes.0.push(note(snapshot, *root, behind, &outside));
            continue;
        }
        let unknown = unknown(graph, *root);
        if !unknown.is_empty() && !explained.contains(root) {
            notes.1.push(note(snapshot, *root, behind, &unknown));
        }
    }
    notes
}

/// Returns the waits of a root for members that are not known.
fn unknown<'a>(graph: &Graph<'a>, root: Waiter) -> Vec<&'a Wait> {
    let waits = graph.waits(root).iter().copied();
    let unknown = waits.filter(|wait| {
        let is_it = wait.semantics.mode == Mode::Join && !wait.is_timed && !wait.is_short();
        is_it && graph.enders(wait).waiters.is_empty()
    });
    unknown.collect()
}

/// Returns `true` if the system or another process ends the wait: a peer, a child, a file. A service that has nothing to do
/// waits for the next connection and for signals.
fn is_outside(wait: &Wait) -> bool {
    let is_idle = |source: &str| source.starts_with("accept ") || wait.kind == Kind::Signal.name();
    let source = wait.source.as_deref();
    let is_source = source.is_some_and(|source| !is_idle(source));
    is_source && wait.semantics.mode == Mode::Other || wait.semantics.ended_by == EndedBy::Peers
}

/// Follows a wait to the last waiter that holds it up. The second value is `true` if a step on the way is likely only.
fn root_of(graph: &Graph<'_>, requests: &Requests<'_>, wait: &Wait) -> Option<(Waiter, bool)> {
    let ender = |wait: &Wait| graph.first_ender(wait).or_else(|| requests.actor(wait));
    let (mut wait, mut is_likely) = (wait, false);
    let mut seen = BTreeSet::from([wait.waiter]);
    loop {
        is_likely |= !graph.enders(wait).is_certain;
        let holder = ender(wait)?;
        if !seen.insert(holder) {
            return None;
        }
        let mut waits = graph.waits(holder).iter();
        match waits.find(|wait| {
            is_contention(wait) && graph.first_ender(wait).is_some()
                || requests.actor(wait).is_some()
        }) {
            Some(next) => wait = next,
            None => return Some((holder, is_likely)),
        }
    }
}

/// Returns the waits of a root for something outside; none if it may wait for something else.
fn outside<'a>(graph: &Graph<'a>, root: Waiter) -> Vec<&'a Wait> {
    let waits = graph.waits(root);
    let all = waits.iter().copied().filter(|wait| is_outside(wait));
    let (of_program, others): (Vec<&Wait>, Vec<&Wait>) =
        all.partition(|wait| !wait.location.is_empty());
    let is_known = |wait: &&Wait| is_outside(wait) || wait.semantics.mode == Mode::Closed;
    if !of_program.is_empty() {
        return of_program;
    }
    if !graph.has_records_only(root, false) {
        return Vec::new();
    }
    if waits.iter().all(is_known) {
        return others;
    }
    let timers = waits.iter().copied().filter(|wait| is_timer(wait));
    let timers: Vec<&Wait> = timers.filter(|wait| is_long(graph, wait)).collect();
    let mut rest = waits.iter().filter(|wait| !is_timer(wait));
    if rest.all(is_known) {
        return timers;
    }
    Vec::new()
}

/// Returns `true` if a timer has a second left. If that is not known: if it has lasted for one.
fn is_long(graph: &Graph<'_>, timer: &Wait) -> bool {
    match left_ms(graph.snapshot, timer) {
        Some(left) => left >= SHORT,
        None => !timer.is_short(),
    }
}

/// Returns the time that a timer has left, if that is known.
pub(crate) fn left_ms(snapshot: &Snapshot, timer: &Wait) -> Option<u64> {
    let mut timers = snapshot.timers.iter();
    let found = timers.find(|found| found.wait == timer.id)?;
    Some(found.left_ms)
}

fn note(snapshot: &Snapshot, root: Waiter, behind: &Behind, outside: &[&Wait]) -> String {
    let waiters = tasks_and_threads(behind.tasks, behind.threads);
    let wait = match behind.tasks + behind.threads {
        1 => "waits",
        _ => "wait",
    };
    let likely = if behind.is_likely { "probably " } else { "" };
    let mut targets: Vec<String> = outside
        .iter()
        .take(NAMED)
        .map(|wait| shown(snapshot, wait))
        .collect();
    if let more @ 1.. = outside.len().saturating_sub(NAMED) {
        targets.push(format!("{more} more"));
    }
    format!(
        "{waiters} {wait} (longest {:.1} s) {likely}behind {}, which waits for {}",
        behind.longest_ms as f64 / 1e3,
        of_waiter(snapshot, root),
        targets.join(" or "),
    )
}

/// Returns the name of a target, with the line at which the program waits for it, and the time that a timer has left.
pub(crate) fn shown(snapshot: &Snapshot, wait: &Wait) -> String {
    let mut text = of_target(snapshot, wait);
    let place = short(&wait.location);
    if !place.is_empty() {
        text += &format!(" at {place}");
    }
    if let Some(left) = left_ms(snapshot, wait) {
        text += &format!(", which ends in {:.1} s", left as f64 / 1e3);
    }
    text
}
