//! Cycles of locks, permits and awaited tasks whose tasks also wait for something else.
//!
//! Two handlers of an HTTP server that take two locks in two orders wait for each other. But the task of each is
//! that of its connection, which also waits for its socket: if the client goes away, the server drops the handler
//! and its guard. So no rule of `findings.rs` has them, which need that *each* wait of a task lasts.
//!
//! Here a task counts as stuck if *one* of its waits is stuck, and none of the others is known to end:
//!
//! 1. The stuck wait is for something that a task holds or is: a lock, a permit, or the end of a task. Tasks that
//!    wait for each other's messages look the same when nothing is to be done.
//! 2. It lasts for a second, as a holder may just be slow, and the task was not polled between the snapshots.
//! 3. No wait of the task has a deadline or is a timer.
//! 4. Another wait with known enders is stuck, too.
//! 5. For a child of a scope, point 3 holds for the task that awaits the scope, too, and that waits for something.
//!
//! Another future of a task may hold a lock of the cycle, and proceed, so all these findings are probable. In a finished
//! simulation nothing can proceed, however short the waits are, so they are certain there. Tasks that wait for a lock of
//! their own are in `own_lock.rs`.

use std::collections::BTreeSet;

use blitz_io_observe::{Kind, Mode, SOCKET};

use crate::graph::{Graph, is_held};
use crate::names::of_waiter;
use crate::own_lock::{is_movable_of_owner, may_have_given};
use crate::snapshot::{Finding, TaskState, Wait, Waiter, is_future};
use crate::stays::{Stuck, wait_stays};

/// Adds the cycles of waiters that no finding has.
pub(crate) fn held_cycles(earlier: &Graph<'_>, later: &Graph<'_>, found: &mut Vec<Finding>) {
    let stuck = stuck(earlier, later);
    let mut seen: BTreeSet<Waiter> = found.iter().flat_map(|f| f.waiters.clone()).collect();
    for &start in &stuck {
        let mut path: Vec<(Waiter, &Wait)> = Vec::new();
        let mut here = start;
        let at = loop {
            if let Some(at) = path.iter().position(|&(waiter, _)| waiter == here) {
                break at;
            }
            let next = next_of(later, &stuck, here).filter(|_| !seen.contains(&here));
            let Some((wait, next)) = next else {
                break path.len();
            };
            path.push((here, wait));
            here = next;
        };
        seen.extend(path.iter().map(|&(waiter, _)| waiter));
        let cycle = &path[at..];
        if cycle.len() > 1 {
            found.push(finding(later, cycle));
        }
    }
}

/// Returns the waiters that have a stuck wait, and none that may end in a way that is known.
fn stuck(earlier: &Graph<'_>, later: &Graph<'_>) -> BTreeSet<Waiter> {
    let has_lasted = |&waiter: &Waiter| {
        let held = later.waits(waiter).iter().filter(|wait| is_held(wait));
        let may_end = |wait: &&Wait| wait.is_timed || Kind::is_name_of_timer(&wait.kind);
        let mut owners = later.families.owners(waiter);
        held.copied().any(|wait| earlier.has_lasting(wait))
            && !later.waits(waiter).iter().any(may_end)
            && owners.all(|owner| {
                let waits = later.waits(owner);
                !waits.is_empty() && !waits.iter().any(may_end)
            })
            && is_idle(earlier, later, waiter)
    };
    let mut all: BTreeSet<Waiter> = later.waiters().filter(has_lasted).collect();
    loop {
        let both = [earlier, later].map(|graph| (graph, Stuck::new(graph, &all)));
        let stays = |waiter: &Waiter| {
            both.iter().all(|(graph, stuck)| {
                let mut held = graph.waits(*waiter).iter().filter(|wait| is_held(wait));
                held.clone().next().is_some()
                    && held.all(|wait| wait_stays(graph, wait, stuck, false))
            })
        };
        let kept: BTreeSet<Waiter> = all.iter().copied().filter(stays).collect();
        if kept.len() == all.len() {
            return all;
        }
        all = kept;
    }
}

/// Returns `true` if the waiter has not run between the snapshots.
fn is_idle(earlier: &Graph<'_>, later: &Graph<'_>, waiter: Waiter) -> bool {
    let Some(id) = waiter.task().filter(|&id| !is_future(id)) else {
        return true;
    };
    if later.waits(waiter).iter().any(|wait| wait.blocks_thread) {
        return true;
    }
    let both = earlier.task(id).zip(later.task(id));
    both.is_some_and(|(before, now)| before.polls == now.polls && now.state == TaskState::Idle)
}

fn next_of<'a>(
    graph: &Graph<'a>,
    stuck: &BTreeSet<Waiter>,
    waiter: Waiter,
) -> Option<(&'a Wait, Waiter)> {
    let held = graph.waits(waiter).iter().filter(|wait| is_held(wait));
    let held = held.filter(|wait| !is_movable_of_owner(graph, wait) && !may_have_given(wait));
    held.copied().find_map(|wait| {
        let enders = graph.enders(wait).waiters.into_iter();
        let mut others = enders.filter(|ender| stuck.contains(ender) && *ender != waiter);
        others.next().map(|next| (wait, next))
    })
}

fn finding(graph: &Graph<'_>, cycle: &[(Waiter, &Wait)]) -> Finding {
    let snapshot = graph.snapshot;
    let name = |waiter: Waiter| of_waiter(snapshot, waiter);
    let waits: Vec<Wait> = cycle.iter().map(|&(_, wait)| wait.clone()).collect();
    let mut further: Vec<Wait> = Vec::new();
    let mut has_unrecorded = false;
    let members = cycle.iter().map(|&(waiter, _)| waiter);
    let owners = members
        .clone()
        .flat_map(|waiter| graph.families.owners(waiter));
    let mut involved: Vec<Waiter> = Vec::new();
    for waiter in members.chain(owners) {
        if !involved.contains(&waiter) {
            involved.push(waiter);
        }
    }
    for waiter in involved {
        let all = graph.waits(waiter);
        let others = all.iter().filter(|wait| !is_held(wait));
        // In a finished simulation none of them can end it.
        let others = others.filter(|_| !snapshot.is_finished);
        further.extend(others.map(|&wait| wait.clone()));
        let task = waiter.task().and_then(|id| graph.task(id));
        has_unrecorded |= task.is_some_and(|task| task.wakers > all.len());
    }
    let names: Vec<String> = cycle.iter().map(|&(waiter, _)| name(waiter)).collect();
    let (certainty, other_ends) =
        graph.unless_finished(cycle.len(), || match &*ends(&further, has_unrecorded) {
            [] => String::new(),
            ends => format!(", and can go on only if {}", ends.join(", or if ")),
        });
    Finding {
        certainty,
        kind: "deadlock".into(),
        summary: format!("{} wait for each other{other_ends}", names.join(", ")),
        waiters: cycle.iter().map(|&(waiter, _)| waiter).collect(),
        waits,
        further,
    }
}

/// Returns the events that would end one of these waits, as the author of the program calls them. If one of the waits has no
/// such event, there is one text for all.
fn ends(further: &[Wait], has_unrecorded: bool) -> Vec<&'static str> {
    /// The end of a wait, and which waits end so.
    type End = (&'static str, fn(&Wait) -> bool);
    let known: [End; 3] = [
        ("a client goes away", |wait| wait.kind == SOCKET),
        ("a channel is closed", |wait| {
            wait.semantics.mode == Mode::Closed
        }),
        ("a message arrives", |wait| {
            wait.semantics.mode == Mode::Receive
        }),
    ];
    let is_known = |wait: &Wait| known.iter().any(|(_, is_it)| is_it(wait));
    let mut ends: Vec<&str> = if further.iter().all(is_known) {
        let there = known.iter().filter(|(_, is_it)| further.iter().any(is_it));
        there.map(|(end, _)| *end).collect()
    } else {
        vec!["another of their waits ends"]
    };
    if has_unrecorded {
        ends.push("something without a record ends");
    }
    ends
}
