//! What else could end the waits of a probable cycle: the reasons for which it is not certain.

use blitz_io_observe::{EndedBy, Mode};

use crate::graph::{Enders, Graph, is_for_guard, is_queued_job};
use crate::handed::of_more;
use crate::names::{of_target, of_waiter};
use crate::snapshot::{Wait, Waiter};

/// So many are named.
const WAYS: usize = 4;

/// Returns what else could end one of these waits, as the end of a sentence.
pub(crate) fn other_ends(graph: &Graph<'_>, cycle: &[(Waiter, &Wait)]) -> String {
    let mut ways: Vec<String> = Vec::new();
    for &(waiter, wait) in cycle {
        let of_waiter = of_unrecorded(graph, waiter);
        for way in of_wait(graph, wait).into_iter().chain(of_waiter) {
            if !ways.contains(&way) {
                ways.push(way);
            }
        }
    }
    ways.truncate(WAYS);
    if ways.is_empty() {
        ways.push("something without a record ends one of these waits".into());
    }
    format!(", and can go on only if {}", ways.join(", or if "))
}

/// Returns the ender of a wait that the records do not name.
fn of_wait(graph: &Graph<'_>, wait: &Wait) -> Option<String> {
    let enders = graph.enders(wait);
    if enders.waiters.is_empty() {
        return Some(of_made(graph, wait));
    }
    of_enders(graph, wait, &enders).map(str::to_owned)
}

/// Describes how another task may have got what ends the wait (`makers.rs`).
fn of_made(graph: &Graph<'_>, wait: &Wait) -> String {
    let end = match wait.semantics.mode {
        Mode::Send | Mode::Receive | Mode::Closed => "the other end of ",
        _ => "",
    };
    let target = of_target(graph.snapshot, wait);
    format!("another task has got {end}{target} from something that tasks share, such as a map")
}

fn of_enders(graph: &Graph<'_>, wait: &Wait, enders: &Enders) -> Option<&'static str> {
    if let Some(more) = of_more(wait).filter(|_| graph.is_handed(wait)) {
        return Some(more);
    }
    if is_queued_job(wait) {
        return Some("the runtime has another thread for blocking work");
    }
    let mut families = enders.waiters.iter().chain([&wait.waiter]);
    let is_in_scope = families.any(|&member| graph.families.owners(member).next().is_some());
    if enders.is_certain {
        let may_be_lent = is_in_scope && is_for_guard(wait);
        return may_be_lent.then_some("another child of the scope has the guard by now");
    }
    Some(match (wait.semantics.ended_by, wait.semantics.mode) {
        (EndedBy::Peers, _) => "another thread or process uses the shared memory",
        (_, Mode::Permit) => "another task or thread has the permit by now",
        (_, Mode::Send) => "another task or thread has the receiver by now",
        (_, Mode::Receive) => "another task or thread has a sender by now",
        _ if is_for_guard(wait) => "another task or thread has the guard by now",
        _ => "a task that is not known ends it",
    })
}

/// Describes a wait without a record, which a future may have that has a waker of its own or that another library drives.
fn of_unrecorded(graph: &Graph<'_>, waiter: Waiter) -> Option<String> {
    let waits = graph.waits(waiter);
    let has_foreign_waker = waits.iter().all(|wait| !wait.blocks_thread)
        && waits.iter().any(|wait| !wait.is_direct)
        && !graph.has_records_only(waiter, true);
    let name = of_waiter(graph.snapshot, waiter);
    has_foreign_waker.then(|| format!("{name} also waits for something without a record"))
}
