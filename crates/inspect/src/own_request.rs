//! Notes about actors that may wait for the answer to a request of their own.
//!
//! An actor that sends itself a request, with the sender of a `oneshot` in it, and waits for the answer, receives that request
//! never. What the records have: it waits for a `oneshot`, alone receives from a channel with values, and sent to that
//! last.
//!
//! An actor that works looks the same: it has sent itself a message for later, and waits for the answer of another task.
//! No record says which value has the sender of the `oneshot`, nor what a task did first: make the `oneshot`, or send. So
//! this is a note in the report, and no finding.

use blitz_io_observe::{Kind, counted};

use crate::graph::Graph;
use crate::names::{of_target, of_waiter};
use crate::objects::{created_at, of_object};
use crate::snapshot::{Finding, Resource, Snapshot, Wait, Waiter};

/// Returns the note about each such task or thread that is in no finding.
pub(crate) fn notes(graph: &Graph<'_>, findings: &[Finding]) -> Vec<String> {
    let snapshot = graph.snapshot;
    let is_in_finding = |waiter: Waiter| {
        let mut findings = findings.iter();
        findings.any(|finding| finding.waiters.contains(&waiter))
    };
    let own = snapshot.objects.iter().flatten().filter_map(own_channel);
    let own = own.filter(|&(waiter, ..)| !is_in_finding(waiter));
    let notes = own.filter_map(|(waiter, channel, values)| {
        let wait = only_wait(graph, waiter)?;
        Some(note(snapshot, wait, channel, values))
    });
    notes.collect()
}

/// Returns the task or thread that has received from a channel last and sent to it last, and the number of values there, if
/// there are any.
fn own_channel(channel: &Resource) -> Option<(Waiter, &Resource, usize)> {
    let receiver = channel.object.receiver?;
    let values = channel.fill?.used;
    let is_own = values != 0 && channel.object.sender == Some(receiver);
    is_own.then_some((receiver, channel, values))
}

/// Returns the wait of a task or thread, if it has just this one, which is for the value of a `oneshot` and not a short one.
fn only_wait<'a>(graph: &Graph<'a>, waiter: Waiter) -> Option<&'a Wait> {
    let [wait] = graph.waits(waiter) else {
        return None;
    };
    let is_it = wait.kind == Kind::OneshotReceive.name()
        && !wait.is_timed
        && !wait.is_short()
        && graph.has_records_only(waiter, false);
    is_it.then_some(*wait)
}

fn note(snapshot: &Snapshot, wait: &Wait, channel: &Resource, values: usize) -> String {
    let named = Some(&channel.object).filter(|object| object.name.is_some());
    let place = match named.and_then(created_at) {
        Some(place) => format!(" (created at {place})"),
        None => String::new(),
    };
    format!(
        "{} waits for {}, and receives nothing meanwhile from its own {}{place}, which has {} and to which it has \
         sent last. If that is the request for the answer, this never ends",
        of_waiter(snapshot, wait.waiter),
        of_target(snapshot, wait),
        of_object(snapshot, "channel", &channel.object),
        counted(values, "value"),
    )
}
