//! Cycles of locks, permits, awaited tasks, full channels and answers whose tasks also wait for something else.
//!
//! Two handlers of an HTTP server that take two locks in two orders wait for each other. But the task of each is
//! that of its connection, which also waits for its socket: if the client goes away, the server drops the handler
//! and its guard. So no rule of `findings.rs` has them, which need that *each* wait of a task lasts.
//!
//! Here a task counts as stuck if *one* of its waits is stuck, and none of the others is known to end:
//!
//! 1. The stuck wait is for something that a task holds or is: a lock, a permit, or the end of a task; for room in a channel
//!    whose last receiver is known; or for the answer of a task that has probably got the request (`requests.rs`). Tasks that
//!    wait for each other's messages look the same when nothing is to be done, so a cycle has a wait that is for no answer.
//! 2. It lasts for a second, as a holder may just be slow, and the task was not polled between the snapshots.
//! 3. No wait of the task has a deadline or is a timer. A cycle with timers, such as the limits of requests, has a note.
//! 4. Another wait with known enders is stuck, too.
//! 5. For a child of a scope, point 3 holds for the task that awaits the scope, too, and that waits for something.
//!
//! Another future of a task may hold a lock of the cycle, and proceed, so all these findings are probable. In a finished
//! simulation nothing can proceed, however short the waits are, so they are certain there. Tasks that wait for a lock of
//! their own are in `own_lock.rs`.

use std::collections::BTreeSet;

use blitz_io_observe::{Mode, SOCKET};

use crate::behind_outside::{left_ms, shown};
use crate::graph::{Graph, is_contention, is_held, is_timer};
use crate::names::{IN_SUMMARY, abridged, of_waiter};
use crate::own_lock::{is_movable_of_owner, may_have_given};
use crate::requests::Requests;
use crate::snapshot::{Certainty, Finding, TaskState, Wait, Waiter, is_future};
use crate::stays::{Stuck, wait_stays};

/// A snapshot, and the waits of it that count here.
struct Side<'g, 'a> {
    graph: &'g Graph<'a>,
    /// Those of the later snapshot: an earlier one may be without the channels.
    requests: &'g Requests<'a>,
}

impl<'a> Side<'_, 'a> {
    /// Returns the waits of the waiter that count.
    fn waits(&self, waiter: Waiter) -> impl Iterator<Item = &'a Wait> {
        let all = self.graph.waits(waiter).iter().copied();
        all.filter(|wait| self.counts(wait))
    }

    fn counts(&self, wait: &Wait) -> bool {
        is_held(wait)
            || is_contention(wait) && self.graph.first_ender(wait).is_some()
            || self.requests.actor(wait).is_some()
    }

    /// Returns `true` if only these waiters can end the wait.
    fn stays(&self, wait: &Wait, stuck: &Stuck<'_, '_>) -> bool {
        match self.requests.actor(wait) {
            Some(actor) => stuck.all.contains(&actor),
            None => wait_stays(self.graph, wait, stuck, false),
        }
    }

    /// Returns a wait of the waiter, and another stuck waiter that would have to end it.
    fn next_of(&self, stuck: &BTreeSet<Waiter>, waiter: Waiter) -> Option<(&'a Wait, Waiter)> {
        let mut waits = self
            .waits(waiter)
            .filter(|wait| !is_movable_of_owner(self.graph, wait) && !may_have_given(wait));
        waits.find_map(|wait| {
            let actor = self.requests.actor(wait).into_iter();
            let enders = self.graph.enders(wait).waiters.into_iter();
            let is_other = |ender: &Waiter| stuck.contains(ender) && *ender != waiter;
            Some((wait, actor.chain(enders).find(is_other)?))
        })
    }
}

/// Adds the cycles of waiters that no finding has.
pub(crate) fn held_cycles(earlier: &Graph<'_>, later: &Graph<'_>, found: &mut Vec<Finding>) {
    let requests = &Requests::new(later);
    let [earlier, later] = [earlier, later].map(|graph| Side { graph, requests });
    let all = cycles(&earlier, &later, found, Limit::None);
    found.extend(all.iter().map(|cycle| finding(&later, cycle)));
}

/// Returns the note about each cycle of waiters that no finding has, and that goes on when a timer ends.
pub(crate) fn notes(
    graph: &Graph<'_>,
    requests: &Requests<'_>,
    findings: &[Finding],
) -> Vec<String> {
    let side = Side { graph, requests };
    let all = cycles(&side, &side, findings, Limit::Timer);
    all.iter().filter_map(|cycle| note(graph, cycle)).collect()
}

/// What may end the waits of a cycle, beside those of which the program has no line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Limit {
    None,
    /// A timer, which may be the time limit of a request. Or the task works so, and holds its lock as long.
    Timer,
}

type Cycle<'a> = Vec<(Waiter, &'a Wait)>;

fn cycles<'a>(
    earlier: &Side<'_, 'a>,
    later: &Side<'_, 'a>,
    found: &[Finding],
    limit: Limit,
) -> Vec<Cycle<'a>> {
    let stuck = stuck(earlier, later, limit);
    let mut seen: BTreeSet<Waiter> = found.iter().flat_map(|f| f.waiters.clone()).collect();
    let mut cycles = Vec::new();
    for &start in &stuck {
        let mut path: Cycle<'a> = Vec::new();
        let mut here = start;
        let at = loop {
            if let Some(at) = path.iter().position(|&(waiter, _)| waiter == here) {
                break at;
            }
            let next = later.next_of(&stuck, here);
            let Some((wait, next)) = next.filter(|_| !seen.contains(&here)) else {
                break path.len();
            };
            path.push((here, wait));
            here = next;
        };
        seen.extend(path.iter().map(|&(waiter, _)| waiter));
        let cycle = path.split_off(at);
        if cycle.len() > 1 && cycle.iter().any(|(_, wait)| is_contention(wait)) {
            cycles.push(cycle);
        }
    }
    cycles
}

/// Returns the waiters that have a stuck wait, and none that may end in a way that is known.
fn stuck(earlier: &Side<'_, '_>, later: &Side<'_, '_>, limit: Limit) -> BTreeSet<Waiter> {
    let has_lasted = |&waiter: &Waiter| {
        let waits = |waiter| later.graph.waits(waiter);
        let may_end = |wait: &&Wait| match limit {
            Limit::None => wait.is_timed || is_timer(wait),
            Limit::Timer => wait.is_timed && !is_timer(wait),
        };
        let mut owners = later.graph.families.owners(waiter);
        later
            .waits(waiter)
            .any(|wait| earlier.graph.has_lasting(wait))
            && !waits(waiter).iter().any(may_end)
            && owners.all(|owner| !waits(owner).is_empty() && !waits(owner).iter().any(may_end))
            && is_idle(earlier.graph, later.graph, waiter)
    };
    let mut all: BTreeSet<Waiter> = later.graph.waiters().filter(has_lasted).collect();
    loop {
        let both = [earlier, later].map(|side| (side, Stuck::new(side.graph, &all)));
        let stays = |waiter: &Waiter| {
            both.iter().all(|(side, stuck)| {
                let mut waits = side.waits(*waiter).peekable();
                waits.peek().is_some() && waits.all(|wait| side.stays(wait, stuck))
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

/// Returns the note about a cycle with a timer: the first one that ends.
fn note(graph: &Graph<'_>, cycle: &[(Waiter, &Wait)]) -> Option<String> {
    let waiters = with_owners(graph, cycle);
    let all = waiters.iter().flat_map(|&waiter| graph.waits(waiter));
    let timers = all.copied().filter(|wait| is_timer(wait));
    let left = |timer: &&Wait| left_ms(graph.snapshot, timer).unwrap_or(u64::MAX);
    let first = timers.min_by_key(left)?;
    let names = cycle
        .iter()
        .map(|&(waiter, _)| of_waiter(graph.snapshot, waiter));
    let names: Vec<String> = names.collect();
    Some(format!(
        "{} wait for each other, probably until a timer ends: {}",
        names.join(", "),
        shown(graph.snapshot, first),
    ))
}

/// Returns the waiters of a cycle, and the tasks of whose scopes these are children.
fn with_owners(graph: &Graph<'_>, cycle: &[(Waiter, &Wait)]) -> Vec<Waiter> {
    let members = cycle.iter().map(|&(waiter, _)| waiter);
    let owners = members
        .clone()
        .flat_map(|waiter| graph.families.owners(waiter));
    let mut all: Vec<Waiter> = Vec::new();
    for waiter in members.chain(owners) {
        if !all.contains(&waiter) {
            all.push(waiter);
        }
    }
    all
}

fn finding(side: &Side<'_, '_>, cycle: &[(Waiter, &Wait)]) -> Finding {
    let graph = side.graph;
    let snapshot = graph.snapshot;
    let name = |waiter: Waiter| of_waiter(snapshot, waiter);
    let waits: Vec<Wait> = cycle.iter().map(|&(_, wait)| wait.clone()).collect();
    let mut further: Vec<Wait> = Vec::new();
    let mut has_unrecorded = false;
    for waiter in with_owners(graph, cycle) {
        let all = graph.waits(waiter);
        let others = all.iter().filter(|wait| !side.counts(wait));
        // In a finished simulation none of them can end it.
        let others = others.filter(|_| !snapshot.is_finished);
        further.extend(others.map(|&wait| wait.clone()));
        let task = waiter.task().and_then(|id| graph.task(id));
        has_unrecorded |= task.is_some_and(|task| task.wakers > all.len());
    }
    let names = cycle.iter().map(|&(waiter, _)| name(waiter)).collect();
    let names = abridged(names, IN_SUMMARY);
    let mut ends = ends(&further, has_unrecorded);
    ends.extend(moved_ends(cycle));
    let other_ends = || match &*ends {
        [] => String::new(),
        ends => format!(", and can go on only if {}", ends.join(", or if ")),
    };
    // Who answers is likely only, in a finished simulation, too.
    let (certainty, other_ends) = if cycle.iter().all(|(_, wait)| is_contention(wait)) {
        graph.unless_finished(cycle.len(), other_ends)
    } else {
        (Certainty::Probable, other_ends())
    };
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

/// Returns the ways in which a wait of the cycle would end as its channel has another end than the records tell.
fn moved_ends(cycle: &[(Waiter, &Wait)]) -> Vec<&'static str> {
    let modes = || cycle.iter().map(|(_, wait)| wait.semantics.mode);
    let sends = modes().any(|mode| mode == Mode::Send);
    let receives = modes().any(|mode| mode == Mode::Receive);
    let receiver = sends.then_some("another task has the receiver by now");
    let sender = receives.then_some("another task has the sender of the answer");
    receiver.into_iter().chain(sender).collect()
}
