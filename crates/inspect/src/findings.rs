//! Judges a snapshot: which waits can never end.
//!
//! # Method
//!
//! A waiter (a task or a thread) goes on if *any* of its waits ends, and a wait ends if *any* of its
//! *enders* goes on: the holder of a lock, a reader (all must leave, so one that is stuck suffices),
//! the awaited task. So a set of waiters is stuck for ever if each wait of each member is ended by
//! members only. The largest such set comes from all waiters, by removing those that may go on,
//! until none is left to remove:
//!
//! 1. A waiter without a record may go on: a thread or task that runs, or waits for something that
//!    has no records.
//! 2. A task that is scheduled or running outside a recorded sleep of its thread may go on.
//! 3. A waiter may go on if one of its waits has a deadline, or an ender that is not known, or
//!    one that may go on.
//!
//! A finding of this kind is certain if every ender is known by the semantics of its primitive.
//! Where the ender is only likely (the task that used the other end of a channel last, the last
//! task that acquired a permit, a guard that may have moved), the finding is probable.
//!
//! # Futurelock
//!
//! A lock without a holder, for which futures wait, was handed to the future that waits longest.
//! That future's task was woken for it. If the task is idle nevertheless, it has been polled since
//! and did not poll that future; if the waits that it does poll are stuck, it never will. A second
//! snapshot must show the same, because the wake-up comes after the hand-over.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::names::{of_target, of_waiter};
use crate::snapshot::{Snapshot, TaskState, Wait, Waiter};

/// How sure a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Certainty {
    /// By the semantics of the primitives, no step of the program ends this wait.
    Certain,
    /// It looks so; the finding says why it is not certain.
    Probable,
}

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// How sure it is.
    pub certainty: Certainty,
    /// `deadlock`, `self-wait`, `futurelock`, `lost-holder` or `long-poll`.
    pub kind: String,
    /// One sentence.
    pub summary: String,
    /// The threads and tasks concerned, in the order of the chain.
    pub waiters: Vec<Waiter>,
    /// The waits of the chain.
    pub waits: Vec<Wait>,
}

/// A poll that takes longer than this is a finding, in milliseconds.
const LONG_POLL: u64 = 1_000;

/// What can end a wait.
enum Enders {
    /// Something that has no record.
    Unknown,
    /// One of these, for certain.
    Known(Vec<Waiter>),
    /// One of these, as far as is known.
    Likely(Vec<Waiter>),
    /// The object was handed to a future of this waiter, which has not been polled since.
    HandedTo(Vec<Waiter>),
}

impl Enders {
    fn waiters(&self) -> &[Waiter] {
        match self {
            Self::Unknown => &[],
            Self::Known(list) | Self::Likely(list) | Self::HandedTo(list) => list,
        }
    }
}

/// Judges a snapshot. `earlier` is one of the same process, some milliseconds before.
#[must_use]
pub fn findings(earlier: &Snapshot, snapshot: &Snapshot) -> Vec<Finding> {
    let mut found = Vec::new();
    let certain = stuck(earlier, snapshot, true);
    chains(snapshot, &certain, Certainty::Certain, &mut found);
    let mut likely = stuck(earlier, snapshot, false);
    likely.retain(|waiter, _| !certain.contains_key(waiter));
    chains(snapshot, &likely, Certainty::Probable, &mut found);
    lost_holders(earlier, snapshot, &mut found);
    long_polls(snapshot, &mut found);
    found
}

fn enders(snapshot: &Snapshot, wait: &Wait) -> Enders {
    if wait.is_timed {
        return Enders::Unknown;
    }
    if let Some(task) = wait.task {
        return Enders::Known(vec![Waiter::Task(task)]);
    }
    let Some(object) = &wait.object else {
        return Enders::Unknown;
    };
    match wait.kind.as_str() {
        "Mutex"
        | "RwLock (read)"
        | "RwLock (write)"
        | "thread::Mutex"
        | "thread::RwLock (read)"
        | "thread::RwLock (write)" => {
            if let Some(holder) = object.holder {
                return if object.is_movable {
                    Enders::Likely(vec![holder])
                } else {
                    Enders::Known(vec![holder])
                };
            }
            if object.unnamed != 0 {
                return Enders::Unknown;
            }
            if !object.readers.is_empty() {
                return Enders::Known(object.readers.clone());
            }
            if wait.blocks_thread || wait.kind.starts_with("thread") {
                return Enders::Unknown;
            }
            handed_to(snapshot, object.id)
        }
        "Semaphore" | "mpsc::Sender" | "mpmc::Sender" | "mpsc::Receiver" | "mpmc::Receiver" => {
            let other = if wait.kind.ends_with("Sender") {
                object.receiver
            } else if wait.kind.ends_with("Receiver") {
                object.sender
            } else {
                object.holder
            };
            other.map_or(Enders::Unknown, |other| Enders::Likely(vec![other]))
        }
        _ => Enders::Unknown,
    }
}

/// The lock is free or handed over. Which waiter has it is known if only one waits; otherwise all
/// of them have to be stuck.
fn handed_to(snapshot: &Snapshot, object: u64) -> Enders {
    let waits = snapshot.waits.iter();
    let its = waits.filter(|wait| wait.object.as_ref().is_some_and(|other| other.id == object));
    let mut all = Vec::new();
    for wait in its {
        if wait.blocks_thread {
            return Enders::Unknown;
        }
        all.push(wait.waiter);
    }
    Enders::HandedTo(all)
}

/// The waiters that cannot go on, with their waits. `certain`: only by known enders.
fn stuck<'a>(
    earlier: &Snapshot,
    snapshot: &'a Snapshot,
    certain: bool,
) -> BTreeMap<Waiter, Vec<&'a Wait>> {
    let mut all: BTreeMap<Waiter, Vec<&Wait>> = BTreeMap::new();
    for wait in &snapshot.waits {
        all.entry(wait.waiter).or_default().push(wait);
    }
    all.retain(|&waiter, waits| {
        // A thread that sleeps sleeps for one object; its other futures are not polled meanwhile.
        if waits.iter().any(|wait| wait.blocks_thread) {
            waits.retain(|wait| wait.blocks_thread);
        }
        let lasts = waits.iter().all(|wait| earlier.has_same(wait));
        lasts && !may_run(snapshot, waiter, waits) && !may_run(earlier, waiter, waits)
    });
    loop {
        let before = all.len();
        let stays = |waiter: &Waiter, wait: &Wait| {
            let enders = enders(snapshot, wait);
            let known = match &enders {
                Enders::Unknown => false,
                Enders::Known(_) => true,
                Enders::Likely(_) => !certain,
                Enders::HandedTo(list) => list.len() > 1 || list.first() != Some(waiter),
            };
            // All readers must leave, and a handed-over lock is used by one of several futures: in
            // the first case one stuck ender suffices, in the second all must be.
            let is_read = wait
                .object
                .as_ref()
                .is_some_and(|object| object.holder.is_none());
            let list = enders.waiters();
            // A reader that waits beside readers waits behind a writer, which might give up.
            if is_read && wait.kind.ends_with("(read)") && !writers_stay(snapshot, wait, &all) {
                return false;
            }
            if matches!(enders, Enders::HandedTo(_)) && !was_free(earlier, wait) {
                return false;
            }
            known
                && if is_read && matches!(enders, Enders::Known(_)) {
                    list.iter().any(|ender| all.contains_key(ender))
                } else {
                    !list.is_empty() && list.iter().all(|ender| all.contains_key(ender))
                }
        };
        let keep: Vec<Waiter> = all
            .iter()
            .filter(|(waiter, waits)| waits_stay(snapshot, waiter, waits, &stays))
            .map(|(&waiter, _)| waiter)
            .collect();
        all.retain(|waiter, _| keep.contains(waiter));
        if all.len() == before {
            return all;
        }
    }
}

/// Whether writers wait for the same lock, and none of them may go on.
fn writers_stay(snapshot: &Snapshot, read: &Wait, all: &BTreeMap<Waiter, Vec<&Wait>>) -> bool {
    let id = |wait: &Wait| wait.object.as_ref().map(|object| object.id);
    let is_writer = |wait: &&Wait| wait.kind.ends_with("(write)") && id(wait) == id(read);
    let mut writers = snapshot.waits.iter().filter(is_writer).peekable();
    writers.peek().is_some() && writers.all(|wait| !wait.is_timed && all.contains_key(&wait.waiter))
}

/// Whether the lock had no holder in the earlier snapshot either.
fn was_free(earlier: &Snapshot, wait: &Wait) -> bool {
    let object = |wait: &Wait| wait.object.clone().unwrap_or_default();
    let id = object(wait).id;
    let mut waits = earlier
        .waits
        .iter()
        .map(object)
        .filter(|object| object.id == id);
    waits.all(|object| object.holder.is_none() && object.readers.is_empty())
}

/// Whether all waits of a waiter stay. The future to which a lock was handed is not among those
/// that the task polls, so it counts only if there is no other.
fn waits_stay(
    snapshot: &Snapshot,
    waiter: &Waiter,
    waits: &[&Wait],
    stays: &impl Fn(&Waiter, &Wait) -> bool,
) -> bool {
    let polled: Vec<&&Wait> = waits
        .iter()
        .filter(|wait| !is_handed(snapshot, wait))
        .collect();
    if polled.is_empty() {
        // Two futures of one task wait for the same lock, and the one that got it is not polled.
        let first = waits.first().and_then(|wait| wait.object.as_ref());
        let same =
            |wait: &&Wait| wait.object.as_ref().map(|object| object.id) == first.map(|o| o.id);
        return waits.len() > 1
            && waits.iter().all(same)
            && waits.iter().all(|wait| stays(waiter, wait));
    }
    polled.iter().all(|wait| stays(waiter, wait))
}

fn is_handed(snapshot: &Snapshot, wait: &Wait) -> bool {
    matches!(enders(snapshot, wait), Enders::HandedTo(_))
}

fn may_run(snapshot: &Snapshot, waiter: Waiter, waits: &[&Wait]) -> bool {
    let Waiter::Task(id) = waiter else {
        return false;
    };
    let sleeps = waits.iter().any(|wait| wait.blocks_thread);
    !sleeps
        && snapshot
            .task(id)
            .is_none_or(|task| task.state != TaskState::Idle)
}

/// Follows the enders from each stuck waiter to the cycle, and reports each cycle once.
fn chains<'a>(
    snapshot: &Snapshot,
    stuck: &BTreeMap<Waiter, Vec<&'a Wait>>,
    certainty: Certainty,
    found: &mut Vec<Finding>,
) {
    let mut seen: Vec<Waiter> = Vec::new();
    for &start in stuck.keys() {
        let mut path: Vec<(Waiter, &'a Wait)> = Vec::new();
        let mut here = start;
        let cycle = loop {
            if let Some(at) = path.iter().position(|&(waiter, _)| waiter == here) {
                break Some(path.split_off(at));
            }
            if seen.contains(&here) {
                break None;
            }
            let next = stuck.get(&here).and_then(|waits| {
                let ender = |&wait: &&'a Wait| ender_of(snapshot, stuck, wait);
                // A wait that is polled, before one that was handed its lock.
                let polled = waits
                    .iter()
                    .filter(|wait| !is_handed(snapshot, wait))
                    .find_map(ender);
                polled.or_else(|| waits.iter().find_map(ender))
            });
            let Some((wait, next)) = next else { break None };
            path.push((here, wait));
            here = next;
        };
        seen.extend(path.iter().map(|&(waiter, _)| waiter));
        if let Some(cycle) = cycle {
            seen.extend(cycle.iter().map(|&(waiter, _)| waiter));
            found.push(of_cycle(snapshot, stuck, &cycle, certainty));
        }
    }
}

/// The wait, and a stuck waiter that would have to end it.
fn ender_of<'a>(
    snapshot: &Snapshot,
    stuck: &BTreeMap<Waiter, Vec<&'a Wait>>,
    wait: &'a Wait,
) -> Option<(&'a Wait, Waiter)> {
    let enders = enders(snapshot, wait);
    let mut known = enders.waiters().iter().copied();
    known
        .find(|waiter| stuck.contains_key(waiter))
        .map(|next| (wait, next))
}

fn of_cycle(
    snapshot: &Snapshot,
    stuck: &BTreeMap<Waiter, Vec<&Wait>>,
    cycle: &[(Waiter, &Wait)],
    certainty: Certainty,
) -> Finding {
    let mut waits: Vec<Wait> = cycle.iter().map(|&(_, wait)| wait.clone()).collect();
    // Which future of the cycle's tasks has the lock that was handed over.
    let mut handed = None;
    for (waiter, _) in cycle {
        for wait in &stuck[waiter] {
            if is_handed(snapshot, wait) {
                handed = handed.or(Some((*wait).clone()));
                if !waits.contains(wait) {
                    waits.push((*wait).clone());
                }
            }
        }
    }
    let (kind, summary) = if let Some(wait) = handed {
        let task = of_waiter(snapshot, wait.waiter);
        let target = of_target(snapshot, &wait);
        (
            "futurelock",
            format!("{target} was handed to a future of {task} that the task does not poll"),
        )
    } else if let [(waiter, wait)] = cycle {
        let target = of_target(snapshot, wait);
        (
            "self-wait",
            format!(
                "{} waits for {target}, which only it can end",
                of_waiter(snapshot, *waiter)
            ),
        )
    } else {
        let names: Vec<String> = cycle
            .iter()
            .map(|&(waiter, _)| of_waiter(snapshot, waiter))
            .collect();
        (
            "deadlock",
            format!("{} wait for each other", names.join(", ")),
        )
    };
    let waiters = cycle.iter().map(|&(waiter, _)| waiter).collect();
    Finding {
        certainty,
        kind: kind.into(),
        summary,
        waiters,
        waits,
    }
}

/// Locks and permits whose holder is a task that has ended.
fn lost_holders(earlier: &Snapshot, snapshot: &Snapshot, found: &mut Vec<Finding>) {
    let mut seen = Vec::new();
    for wait in &snapshot.waits {
        let Some(object) = &wait.object else { continue };
        let Some(Waiter::Task(holder)) = object.holder else {
            continue;
        };
        let is_new = earlier
            .waits
            .iter()
            .all(|other| other.object.as_ref() != Some(object));
        if wait.is_timed || is_new || snapshot.task(holder).is_some() || seen.contains(&object.id) {
            continue;
        }
        seen.push(object.id);
        found.push(Finding {
            certainty: Certainty::Probable,
            kind: "lost-holder".into(),
            summary: format!(
                "{} waits for {}, which task {holder} acquired last and did not release before it ended",
                of_waiter(snapshot, wait.waiter),
                of_target(snapshot, wait),
            ),
            waiters: vec![wait.waiter],
            waits: vec![wait.clone()],
        });
    }
}

fn long_polls(snapshot: &Snapshot, found: &mut Vec<Finding>) {
    for task in &snapshot.tasks {
        let Some(time) = task.poll_ms.filter(|&time| time >= LONG_POLL) else {
            continue;
        };
        let waiter = Waiter::Task(task.id);
        let waits: Vec<Wait> = snapshot
            .waits
            .iter()
            .filter(|w| w.waiter == waiter && w.blocks_thread)
            .cloned()
            .collect();
        found.push(Finding {
            certainty: Certainty::Probable,
            kind: "long-poll".into(),
            summary: format!(
                "{}, spawned at {}, has kept {} in one poll for {time} ms",
                of_waiter(snapshot, waiter),
                task.location,
                of_waiter(snapshot, Waiter::Thread(task.thread)),
            ),
            waiters: vec![waiter],
            waits,
        });
    }
}
