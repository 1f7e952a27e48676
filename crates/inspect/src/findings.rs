//! Judges a snapshot: which waits can never end.
//!
//! # Method
//!
//! A waiter (a task or a thread) proceeds if *any* of its waits ends, and a wait ends if *any* of its
//! *enders* proceeds: the holder of a lock, a reader (all must leave, so one that is stuck suffices),
//! the awaited task. So a set of waiters is stuck for ever if each wait of each member is ended by
//! members only. The largest such set comes from all waiters, by removing those that may proceed,
//! until none is left to remove:
//!
//! 1. A waiter without a record may proceed: a thread or task that runs, or waits for something that
//!    has no records.
//! 2. A task that was polled between the snapshots, or is scheduled, may proceed. So may a thread
//!    that has ended a wait in between. Each wait has a number of its own, and the polls of a task
//!    are counted. A task that waits for shared memory is polled twenty times a second to look for dead
//!    participants; these polls do not count if all its waits are the same ones.
//! 3. A task that has more wakers than recorded waits may proceed (`graph.rs`).
//! 4. A waiter may proceed if one of its waits has a deadline, or an ender that is not known, or
//!    one that may proceed.
//!
//! Both snapshots must agree: each of these rules is applied to both, and a waiter is removed if
//! the answer for one of them is that it may proceed. So an owner that was preempted before it wrote
//! itself down, or after it erased itself, counts as an owner that is not known.
//!
//! A finding of this kind is certain if every ender is known by the semantics of its primitive.
//! It is probable if an ender is only likely: the last task that used the other end of a channel
//! or acquired a permit, or a guard that may have moved.
//!
//! A child of a scope is dropped or aborted if the task or thread that awaits the scope stops to do so. So it is stuck only if
//! that is stuck (`families.rs`). A task that polls its children itself is polled for each of them, which does not count if all its waits
//! are the same ones.
//!
//! # Futurelock
//!
//! A release hands a lock to a future in the queue. If that future's task is idle nevertheless, it
//! has been polled since and did not poll that future; if the waits that it does poll are stuck, it
//! never will. `graph.rs` says how such a task is known, also if the future is in a combinator. If one of
//! these waits may end, such as that for the next bytes of a connection, the finding is probable: the task
//! may then poll the future, or drop it.
//!
//! # Full pools
//!
//! A closure for blocking work that is queued waits for the end of one that runs. If all that run are
//! stuck, as they wait for queued ones in the end, no thread gets free. `graph.rs` says why this is
//! probable at most.
//!
//! # Ends that are plain values
//!
//! No record says which task has the sender of a `oneshot`, or a handle of a `Notify`. `makers.rs` says when only tasks
//! can have it that are stuck. This is probable at most.
//!
//! # Permits
//!
//! A permit of a semaphore may come back from each of its holders. If all of them wait for another one, `permits.rs` has one
//! finding about them.
//!
//! # Tasks that nothing wakes
//!
//! A task that is idle, and has no recorded wait and no waker, is stuck unless a `JoinHandle` aborts it. So it counts as
//! stuck in probable findings, and a lock that it has is one (`never_woken.rs`).
//!
//! # All asleep
//!
//! If each thread of the process sleeps until another one wakes it, no wait ends, also one whose ender is
//! not known, such as that for a futex. `sleepers.rs` says how that is known. A handler of a signal could
//! wake a thread, so in a program with handlers the finding is probable. It is left out if a certain
//! finding is the reason.
//!
//! # Executors that do not poll
//!
//! A task that was woken, and has not been polled for a second, waits for its executor. This needs two
//! snapshots that are a second apart: the task is scheduled in both, with the same number of polls. It is
//! probable, as the system may have given the executor no processor.
//!
//! # Timers that no thread drives
//!
//! A timer that is due and has not fired belongs to a runtime that no thread drives (`overdue.rs`).
//!
//! # Fibers
//!
//! A fiber continues in one thread only. If that thread sleeps for a lock that the fiber has, both are stuck (`pinned_holder.rs`).
//!
//! # Stopped processes
//!
//! A wait for shared memory that only stopped processes can end lasts until they get `SIGCONT`, which
//! is probable at most: another process may send it at any time.

use std::collections::BTreeSet;

use blitz_io_observe::Mode;

use crate::all_asleep::all_asleep;
use crate::graph::{
    Graph, is_for_failure, is_pipeline_worker, is_queued_job, is_task_lock, polls_children,
};
use crate::handed::{self, of_handed};
use crate::held_cycle::held_cycles;
use crate::long_poll::long_polls;
use crate::long_wait::long_waits;
use crate::lost_holder::lost_holders;
use crate::names::{IN_SUMMARY, abridged, of_target, of_waiter, since_taken};
use crate::never_woken::never_woken;
use crate::other_ends::other_ends;
use crate::overdue::overdue_timers;
use crate::own_lock::{is_movable, is_movable_of_owner, may_have_given, own_locks};
use crate::permits::all_taken;
use crate::pinned_holder::pinned_holders;
use crate::snapshot::{Certainty, Finding, Snapshot, TaskState, Wait, Waiter, is_future};
use crate::spawned_since::of_makers;
use crate::stays::{Stuck, wait_stays};

/// A woken task that is not polled for this time is a finding, in milliseconds.
pub(crate) const LONG_SCHEDULED: u64 = 1_000;

/// The kind of finding about tasks that were woken and are not polled.
pub(crate) const NOT_POLLED: &str = "not-polled";

/// Judges a snapshot. `earlier` is one of the same process, some milliseconds before.
#[must_use]
pub fn findings(earlier: &Snapshot, snapshot: &Snapshot) -> Vec<Finding> {
    let (earlier, later) = (Graph::new(earlier), Graph::new(snapshot));
    let mut found = Vec::new();
    let certain = stuck(&earlier, &later, true);
    chains(
        &later,
        &certain,
        Certainty::Certain,
        BTreeSet::new(),
        &mut found,
    );
    let mut likely = stuck(&earlier, &later, false);
    let told = all_taken(&later, &likely, &mut found);
    likely.retain(|waiter| !certain.contains(waiter));
    chains(&later, &likely, Certainty::Probable, told, &mut found);
    pinned_holders(&earlier, &later, &mut found);
    held_cycles(&earlier, &later, &mut found);
    own_locks(&earlier, &later, &mut found);
    futurelocks(&earlier, &later, &mut found);
    lost_holders(&earlier, &later, &mut found);
    never_woken(&earlier, &later, &mut found);
    all_asleep(&earlier, &later, &mut found);
    stopped_peers(&earlier, &later, &mut found);
    long_polls(&later, &mut found);
    not_polled(&earlier, &later, &mut found);
    overdue_timers(&earlier, &later, &mut found);
    long_waits(&earlier, &later, &mut found);
    found
}

/// Returns the waiters that cannot proceed. `certain`: only by known enders.
fn stuck(earlier: &Graph<'_>, later: &Graph<'_>, certain: bool) -> BTreeSet<Waiter> {
    let both = [earlier, later];
    // A finding that rests on a task of which only its `JoinHandle` is left is probable.
    let never_woken = later.never_woken().filter(|_| !certain);
    let mut all: BTreeSet<Waiter> = later
        .waiters()
        .chain(never_woken)
        .filter(|&waiter| has_lasted(earlier, later, waiter))
        .filter(|&waiter| {
            both.iter()
                .all(|graph| graph.has_records_only(waiter, certain))
        })
        .collect();
    loop {
        let both = both.map(|graph| (graph, Stuck::new(graph, &all)));
        let stays = |waiter: &Waiter| {
            both.iter().all(|(graph, stuck)| {
                let mut waits = graph.effective_waits(*waiter);
                graph.families.owner_is_in(*waiter, &all)
                    && waits.all(|wait| wait_stays(graph, wait, stuck, certain))
            })
        };
        let kept: BTreeSet<Waiter> = all.iter().copied().filter(stays).collect();
        if kept.len() == all.len() {
            return all;
        }
        all = kept;
    }
}

/// Returns `true` if a waiter has the same waits in both snapshots, and has not run in between.
fn has_lasted(earlier: &Graph<'_>, later: &Graph<'_>, waiter: Waiter) -> bool {
    let (before, now) = (earlier.waits(waiter), later.waits(waiter));
    if before.len() != now.len() || !now.iter().all(|wait| earlier.same(wait).is_some()) {
        return false;
    }
    let Some(id) = waiter.task().filter(|&id| !is_future(id)) else {
        return true;
    };
    let tasks = earlier.task(id).zip(later.task(id));
    let looks = |wait: &&Wait| later.end(wait).is_some() || polls_children(wait);
    let looks = now.iter().any(looks);
    now.iter()
        .any(|wait| wait.blocks_thread || is_queued_job(wait))
        || tasks.is_some_and(|(before, now)| {
            (looks || before.polls == now.polls)
                && before.state == TaskState::Idle
                && now.state == TaskState::Idle
        })
}

/// Follows the enders from each stuck waiter to the cycle, and reports each cycle once. `seen`: the waiters that have a finding.
fn chains(
    graph: &Graph<'_>,
    stuck: &BTreeSet<Waiter>,
    certainty: Certainty,
    mut seen: BTreeSet<Waiter>,
    found: &mut Vec<Finding>,
) {
    for &start in stuck {
        let cycle = cycle_from(graph, stuck, start, &mut seen);
        let cycle = cycle.filter(|cycle| !has_given_away(graph, cycle));
        found.extend(cycle.map(|cycle| of_cycle(graph, &cycle, certainty)));
    }
}

/// Returns `true` if a task, or a child of its scope, waits for a lock or permit of the task that it may have given to
/// another task (`own_lock.rs`).
fn has_given_away(graph: &Graph<'_>, cycle: &[(Waiter, &Wait)]) -> bool {
    let mut waits = cycle.iter().map(|(_, wait)| wait);
    matches!(cycle, [(_, wait)] if is_movable(wait))
        || waits.any(|wait| is_movable_of_owner(graph, wait))
}

/// Follows the enders to a cycle without waiters that have been `seen`.
fn cycle_from<'a>(
    graph: &Graph<'a>,
    stuck: &BTreeSet<Waiter>,
    start: Waiter,
    seen: &mut BTreeSet<Waiter>,
) -> Option<Vec<(Waiter, &'a Wait)>> {
    let mut path: Vec<(Waiter, &Wait)> = Vec::new();
    let mut here = start;
    let cycle = loop {
        if let Some(at) = path.iter().position(|&(waiter, _)| waiter == here) {
            break Some(at);
        }
        if seen.contains(&here) {
            break None;
        }
        let Some((wait, next)) = next_of(graph, stuck, here) else {
            break None;
        };
        path.push((here, wait));
        here = next;
    };
    seen.extend(path.iter().map(|&(waiter, _)| waiter));
    cycle.map(|at| path.split_off(at))
}

/// Returns the certain finding because of which a waiter can never proceed, if there is one.
#[cfg(feature = "records")]
pub(crate) fn finding_of(earlier: &Snapshot, later: &Snapshot, waiter: Waiter) -> Option<Finding> {
    let (earlier, later) = (Graph::new(earlier), Graph::new(later));
    let stuck = stuck(&earlier, &later, true);
    if !stuck.contains(&waiter) {
        return None;
    }
    let cycle = cycle_from(&later, &stuck, waiter, &mut BTreeSet::new())?;
    Some(of_cycle(&later, &cycle, Certainty::Certain))
}

/// Returns a wait of a stuck waiter, and a stuck waiter that would have to end it. A wait that is polled
/// comes before one whose lock was handed over. The wait of a pipeline's worker for the others comes last, and so does
/// that of a scope for the failure of a child.
fn next_of<'a>(
    graph: &Graph<'a>,
    stuck: &BTreeSet<Waiter>,
    waiter: Waiter,
) -> Option<(&'a Wait, Waiter)> {
    let ender = |&wait: &&'a Wait| {
        let enders = graph.enders(wait);
        let maker = graph.maker_of(wait).map(|maker| maker.maker);
        let maker = maker.filter(|_| enders.waiters.is_empty());
        let waiters = enders.waiters.into_iter().chain(maker);
        let mut waiters: Vec<Waiter> = waiters.filter(|ender| stuck.contains(ender)).collect();
        // Another holder of permits says more than the waiter itself.
        let is_permit = wait.semantics.mode == Mode::Permit && !may_have_given(wait);
        waiters.sort_by_key(|&ender| is_permit && ender == waiter);
        waiters.first().map(|&next| (wait, next))
    };
    let mut waits: Vec<&Wait> = graph.effective_waits(waiter).collect();
    waits.sort_by_key(|wait| {
        let is_last = is_pipeline_worker(wait) || is_for_failure(wait);
        (graph.is_handed(wait), is_last)
    });
    waits.iter().find_map(ender)
}

fn of_cycle(graph: &Graph<'_>, cycle: &[(Waiter, &Wait)], certainty: Certainty) -> Finding {
    let snapshot = graph.snapshot;
    let mut waits: Vec<Wait> = cycle.iter().map(|&(_, wait)| wait.clone()).collect();
    // Which future of the cycle's tasks has the lock that was handed over.
    let mut handed = None;
    for &(waiter, _) in cycle {
        for &wait in graph.waits(waiter) {
            if graph.is_handed(wait) {
                handed = handed.or(Some(wait.clone()));
                if !waits.contains(wait) {
                    waits.push(wait.clone());
                }
            }
        }
    }
    let (kind, summary) = if let Some(wait) = handed {
        ("futurelock", of_handed(graph, &wait))
    } else if let Some(&(queued, _)) = cycle.iter().find(|(_, wait)| is_queued_job(wait)) {
        let names = graph.running_jobs().map(|job| of_waiter(snapshot, job));
        let names = abridged(names.collect(), IN_SUMMARY);
        (
            "pool-starvation",
            format!(
                "{} is queued, and {} wait for queued jobs on all threads",
                of_waiter(snapshot, queued),
                names.join(", "),
            ),
        )
    } else if let [(waiter, wait)] = cycle {
        let target = of_target(snapshot, wait);
        (
            "self-wait",
            format!(
                "{} waits for {target}, which only it can end{}",
                of_waiter(snapshot, *waiter),
                of_own(wait),
            ),
        )
    } else {
        let (members, made) = of_makers(graph, cycle);
        for &task in &members {
            waits.extend(graph.waits(task).iter().map(|&wait| wait.clone()));
        }
        let members = cycle.iter().map(|&(waiter, _)| waiter).chain(members);
        let names = members.map(|waiter| of_waiter(snapshot, waiter));
        let names = abridged(names.collect(), IN_SUMMARY);
        (
            "deadlock",
            format!("{} wait for each other{made}", names.join(", ")),
        )
    };
    let waiters = cycle.iter().map(|&(waiter, _)| waiter).collect();
    let (certainty, other_ends) = match certainty {
        Certainty::Certain => (certainty, String::new()),
        Certainty::Probable => graph.unless_finished(cycle.len(), || other_ends(graph, cycle)),
    };
    Finding {
        certainty,
        kind: kind.into(),
        summary: summary + &other_ends,
        waiters,
        waits,
        further: Vec::new(),
    }
}

/// Says where a waiter has taken what it waits for itself.
fn of_own(wait: &Wait) -> String {
    match since_taken(wait) {
        place if place.is_empty() => place,
        place => format!(": it has it{place}"),
    }
}

/// Finds locks that were handed to a future which its task does not poll, although the task may proceed.
fn futurelocks(earlier: &Graph<'_>, later: &Graph<'_>, found: &mut Vec<Finding>) {
    let before = earlier.handed_locks();
    for &(object, waiter) in later.handed_locks().intersection(&before) {
        let is_it =
            |finding: &Finding| finding.kind == "futurelock" && finding.waiters.contains(&waiter);
        let mut waits: Vec<Wait> = later.waits(waiter).iter().copied().cloned().collect();
        waits.retain(|wait| wait.object.as_ref().is_some_and(|of| of.id == object));
        let has_lasted = waits.iter().all(|wait| earlier.same(wait).is_some());
        let Some(first) = waits.first().filter(|_| has_lasted) else {
            continue;
        };
        // A hand-over does no harm unless another future waits for the object. Only a lock certainly has
        // nothing else to give: other objects may have more permits, notifications or places.
        let lasting = later.waits_for(object).iter();
        let lasting =
            lasting.filter(|wait| wait.kind == first.kind && earlier.same(wait).is_some());
        if !is_task_lock(first) && lasting.count() < 2 {
            continue;
        }
        if !found.iter().any(is_it) {
            let ends = || handed::other_ends(later, first);
            let (certainty, other_ends) = later.unless_finished(1, ends);
            found.push(Finding {
                certainty,
                kind: "futurelock".into(),
                summary: of_handed(later, first) + &other_ends,
                waiters: vec![waiter],
                waits,
                further: Vec::new(),
            });
        }
    }
}

/// Waits that only stopped processes can end.
fn stopped_peers(earlier: &Graph<'_>, later: &Graph<'_>, found: &mut Vec<Finding>) {
    for wait in &later.snapshot.waits {
        let has_lasted = |before: &Wait| !earlier.stopped_peers(before).is_empty();
        if wait.is_timed || !earlier.same(wait).is_some_and(has_lasted) {
            continue;
        }
        let mut processes: Vec<Waiter> = Vec::new();
        for peer in later.stopped_peers(wait) {
            let process = Waiter::Process(peer.pid);
            if !processes.contains(&process) {
                processes.push(process);
            }
        }
        if processes.is_empty() {
            continue;
        }
        let snapshot = later.snapshot;
        let name = |&process: &Waiter| of_waiter(snapshot, process);
        let names: Vec<String> = processes.iter().map(name).collect();
        let is_or_are = if names.len() == 1 { "is" } else { "are" };
        found.push(Finding {
            certainty: Certainty::Probable,
            kind: "stopped-peer".into(),
            summary: format!(
                "{} waits for {}, and {} {is_or_are} stopped until SIGCONT",
                of_waiter(snapshot, wait.waiter),
                of_target(snapshot, wait),
                names.join(", "),
            ),
            waiters: std::iter::once(wait.waiter).chain(processes).collect(),
            waits: vec![wait.clone()],
            further: Vec::new(),
        });
    }
}

/// Returns the tasks that were woken before the earlier snapshot, and have not been polled since.
pub(crate) fn never_polled(earlier: &Snapshot, later: &Snapshot) -> Vec<Waiter> {
    let scheduled = |snapshot: &Snapshot| {
        let tasks = snapshot.tasks.iter();
        let scheduled = tasks.filter(|task| task.state == TaskState::Scheduled);
        scheduled
            .map(|task| (task.id, task.polls))
            .collect::<BTreeSet<_>>()
    };
    let (earlier, later) = (scheduled(earlier), scheduled(later));
    let both = later.intersection(&earlier);
    both.map(|&(id, _)| Waiter::Task(id)).collect()
}

fn not_polled(earlier: &Graph<'_>, later: &Graph<'_>, found: &mut Vec<Finding>) {
    let (earlier, later) = (earlier.snapshot, later.snapshot);
    let time = later.at_ms.saturating_sub(earlier.at_ms);
    if time < LONG_SCHEDULED {
        return;
    }
    let waiters = never_polled(earlier, later);
    if waiters.is_empty() {
        return;
    }
    let names = waiters.iter().map(|&waiter| of_waiter(later, waiter));
    let names = abridged(names.collect(), IN_SUMMARY);
    found.push(Finding {
        certainty: Certainty::Probable,
        kind: NOT_POLLED.into(),
        summary: format!(
            "{} could go on, and {} not been polled for {time} ms; the executor may have got no processor",
            names.join(", "),
            if waiters.len() == 1 { "has" } else { "have" },
        ),
        waiters,
        waits: Vec::new(),
        further: Vec::new(),
    });
}
