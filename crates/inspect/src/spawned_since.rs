//! Tasks that may have the other end of a channel for which a waiter of a probable cycle waits (`makers.rs`).
//!
//! The maker of the object has spawned them later, and they are stuck. A task that waits for a member of the cycle is a member,
//! too. The other ones have, for example, a deadlock among themselves: the text mentions them, but they are no members.

use std::collections::BTreeSet;

use crate::graph::Graph;
use crate::names::{of_target, of_waiter};
use crate::snapshot::{Maker, Spawned, Wait, Waiter};

/// So many tasks of a kind are named.
const NAMED: usize = 4;

/// Returns the members outside of the cycle, and the text about all these tasks.
pub(crate) fn of_makers(graph: &Graph<'_>, cycle: &[(Waiter, &Wait)]) -> (Vec<Waiter>, String) {
    let rests = |wait: &&Wait| graph.enders(wait).waiters.is_empty();
    let waits = cycle.iter().map(|&(_, wait)| wait).filter(rests);
    let made: Vec<(&Wait, &Maker)> = waits
        .filter_map(|wait| Some((wait, graph.maker_of(wait)?)))
        .collect();
    let Some(&(first, maker)) = made.first() else {
        return (Vec::new(), String::new());
    };
    let has_one = |spawned: &&Spawned| {
        let mut made = made.iter();
        made.any(|(_, maker)| spawned.by == Some(maker.maker) && spawned.number >= maker.number)
    };
    let spawned = graph.snapshot.spawned.iter().filter(has_one);
    let mut later: Vec<Waiter> = spawned.map(|spawned| Waiter::Task(spawned.task)).collect();
    later.retain(|&task| cycle.iter().all(|&(waiter, _)| waiter != task));
    later.sort_unstable();
    let (mut members, mut others): (Vec<Waiter>, Vec<Waiter>) = later
        .into_iter()
        .partition(|&task| leads_to(graph, task, cycle));
    let more_members = more(&mut members);
    let more_others = more(&mut others);
    let name = |waiter| of_waiter(graph.snapshot, waiter);
    let beside = match &*others {
        [] => String::new(),
        others => {
            let names: Vec<String> = others.iter().map(|&other| name(other)).collect();
            let names = names.join(", ");
            format!(", beside {names}{more_others}, stuck for another reason")
        }
    };
    let text = format!(
        "{more_members}: {} waits for {}, which {} made, and only these were spawned with it{beside}",
        name(first.waiter),
        of_target(graph.snapshot, first),
        name(maker.maker),
    );
    (members, text)
}

/// Keeps the tasks that are named, and returns the text about the number of the others.
fn more(tasks: &mut Vec<Waiter>) -> String {
    let more = tasks.len().saturating_sub(NAMED);
    tasks.truncate(NAMED);
    match more {
        0 => String::new(),
        more => format!(", and {more} more tasks like these"),
    }
}

/// Returns `true` if a task waits, directly or through others, for a member of the cycle.
fn leads_to(graph: &Graph<'_>, task: Waiter, cycle: &[(Waiter, &Wait)]) -> bool {
    let (mut next, mut seen) = (vec![task], BTreeSet::from([task]));
    while let Some(here) = next.pop() {
        for wait in graph.effective_waits(here) {
            let maker = graph.maker_of(wait).map(|maker| maker.maker);
            for ender in graph.enders(wait).waiters.into_iter().chain(maker) {
                if cycle.iter().any(|&(member, _)| member == ender) {
                    return true;
                }
                if seen.insert(ender) {
                    next.push(ender);
                }
            }
        }
    }
    false
}
