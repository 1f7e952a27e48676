//! The text of a `futurelock`: the future that was handed a lock, permit, notification or place, and is not polled.
//!
//! The record of a handed object has the address in the waker of the future. Futures that a task polls itself have the same
//! waker, so their records do not tell which of them it was. But a release takes the first of the queue, which a future joins
//! with its first poll. So of several futures of one task, it is that with the longest wait for the object. Only `Notify` can
//! also choose the last one.

use blitz_io_observe::{Kind, Mode, SOCKET};

use crate::graph::{Graph, is_task_lock};
use crate::names::{abridged, of_target, of_waiter, short};
use crate::snapshot::{Wait, Waiter};

/// The summary names so many other waits.
const NAMES: usize = 4;

/// Describes what was handed to a future of the waiter. `wait`: one for the same object.
pub(crate) fn of_handed(graph: &Graph<'_>, wait: &Wait) -> String {
    let snapshot = graph.snapshot;
    let all = of_object(graph, wait);
    let chosen = chosen(&all);
    let task = of_waiter(snapshot, wait.waiter);
    let mut text = of_target(snapshot, wait);
    let object = wait.object.as_ref().filter(|_| is_task_lock(wait));
    if let Some(object) = object.filter(|object| !object.taken_at.is_empty()) {
        text += &format!(", taken before at {},", short(&object.taken_at));
    }
    text += &match chosen.filter(|chosen| !chosen.location.is_empty()) {
        Some(chosen) => {
            let place = short(&chosen.location);
            format!(" was handed to the future at {place}, which {task} does not poll")
        }
        None => format!(" was handed to a future of {task} that the task does not poll"),
    };
    let mut others = all
        .iter()
        .filter(|other| chosen.is_some_and(|chosen| chosen.id != other.id));
    if let Some(other) = others.find(|other| !other.location.is_empty()) {
        let place = short(&other.location);
        text += &format!(" while it waits for it again at {place}");
    }
    text
}

/// Returns what else could end the waits of such a task, as the end of a sentence.
pub(crate) fn other_ends(graph: &Graph<'_>, wait: &Wait) -> String {
    let waits = graph.waits(wait.waiter);
    let object = wait.object.as_ref().map(|object| object.id);
    let is_other = |other: &&&Wait| other.object.as_ref().map(|object| object.id) != object;
    let others: Vec<&Wait> = waits.iter().filter(is_other).copied().collect();
    let mut ways = Vec::new();
    if let Some(more) = of_more(wait) {
        ways.push(more.to_owned());
    }
    let names = others.iter().map(|other| of_target(graph.snapshot, other));
    let mut names = abridged(names.collect(), NAMES);
    if has_unrecorded(graph, wait.waiter) {
        names.push("something without a record".into());
    }
    if !names.is_empty() {
        let is_of_client =
            others.iter().all(|other| other.kind == SOCKET) && names.len() == others.len();
        let end = if is_of_client {
            "its client goes away"
        } else {
            "another of its waits ends"
        };
        ways.push(format!("{end}; also waiting: {}", names.join(", ")));
    }
    if ways.is_empty() {
        ways.push("one of its futures is dropped".into());
    }
    format!(", and can go on only if {}", ways.join(", or "))
}

/// Returns what gives the object another permit, notification or place.
pub(crate) fn of_more(wait: &Wait) -> Option<&'static str> {
    match wait.semantics.mode {
        _ if is_task_lock(wait) => None,
        Mode::Permit => Some("another permit comes back"),
        Mode::Send => Some("another value is received"),
        _ => Some("it is notified again"),
    }
}

/// Returns `true` if the task has more wakers than it needs for the waits that still have theirs.
fn has_unrecorded(graph: &Graph<'_>, waiter: Waiter) -> bool {
    let task = waiter.task().and_then(|id| graph.task(id));
    task.is_some_and(|task| task.wakers > graph.waits(waiter).len())
}

/// Returns the waits of the same waiter for the same object.
fn of_object<'a>(graph: &Graph<'a>, wait: &Wait) -> Vec<&'a Wait> {
    let object = wait.object.as_ref().map(|object| object.id);
    let is_same = |other: &&&Wait| other.object.as_ref().map(|object| object.id) == object;
    graph
        .waits(wait.waiter)
        .iter()
        .filter(is_same)
        .copied()
        .collect()
}

/// Returns the wait of the future that was handed the object, if it is known.
fn chosen<'a>(all: &[&'a Wait]) -> Option<&'a Wait> {
    let mut marked: Vec<&Wait> = all.iter().filter(|wait| wait.is_handed).copied().collect();
    if marked.is_empty() {
        marked = all.to_vec();
    }
    let first = marked.iter().min_by_key(|wait| (wait.since_ms, wait.id))?;
    // The numbers of one thread ascend.
    let is_later = |wait: &&Wait| wait.since_ms > first.since_ms || wait.thread == first.thread;
    let is_sole = marked.len() == 1;
    let is_known = is_sole || first.kind != Kind::Notify.name() && marked.iter().all(is_later);
    is_known.then_some(*first)
}
