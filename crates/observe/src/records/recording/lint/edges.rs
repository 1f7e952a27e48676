//! The recorder's data of all threads: pairs of locks, and the lines of the operations in polls.
//!
//! A pair is kept once. Two lines of the program have [`SAMPLES`] pairs of locks at most: a program that makes a
//! million locks at one line has them all in the same order, or shows the other order among the first ones.

use std::collections::HashMap;
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use blitz_io_futex::per_process::PerProcess;

use super::lock::{At, Lock};
use crate::Kind;

/// The most pairs.
pub(super) const EDGES: usize = 1 << 14;
/// The most pairs of the same two lines.
pub(super) const SAMPLES: u32 = 64;
/// The most gates of a pair: other locks that its owner holds.
pub(super) const GATES: usize = 4;
/// The most lines of each kind of event.
pub(super) const EVENTS: usize = 1 << 12;

/// A lock, and the line at which it was taken.
#[derive(Clone, Copy)]
pub(super) struct Side {
    pub(super) lock: (u64, u32),
    pub(super) kind: Kind,
    pub(super) name: Option<&'static str>,
    pub(super) made_at: At,
    pub(super) at: At,
}

impl Side {
    pub(super) fn new(lock: &Lock, at: At) -> Self {
        Self {
            lock: lock.id(),
            kind: lock.kind,
            name: lock.name(),
            made_at: lock.made_at,
            at,
        }
    }
}

/// Two locks, the second of which was taken while the first one was held.
pub(super) struct Edge {
    pub(super) from: Side,
    pub(super) to: Side,
    /// The task or thread.
    pub(super) owner: u64,
    /// The line at which the task was spawned, if the thread polls it.
    pub(super) owner_at: At,
    /// The guard of the first one may have moved to another task.
    pub(super) is_movable: bool,
    /// Other locks that were held exclusively, or zeros.
    pub(super) gates: [(u64, u32); GATES],
    /// The task had pending futures that wait for a lock, a channel or a task: one of them may have taken the first lock.
    pub(super) is_joined: bool,
    /// It had others that wait as those beside the handler of a connection do.
    pub(super) is_beside: bool,
}

/// A line at which something happened, and how often.
pub(super) struct Event {
    /// The lock that a task kept, or the wait.
    pub(super) side: Option<Side>,
    /// The line at which the holder took the lock that a poll waited for.
    pub(super) holder_at: At,
    /// The line at which the task was spawned.
    pub(super) task_at: At,
    pub(super) task: u64,
    /// The place of the name of the request for which the task worked, or 0.
    pub(super) request: u64,
    /// The lines before and after the longest part of a poll.
    pub(super) between: [At; 2],
    pub(super) count: u64,
    /// The time of the longest.
    pub(super) longest: Duration,
    /// The processor time of the longest.
    pub(super) processor: Duration,
}

/// Numbers of things that the bounds have kept out.
#[derive(Default)]
pub(super) struct Lost {
    pub(super) held: u64,
    pub(super) tasks: u64,
    pub(super) edges: u64,
    pub(super) events: u64,
}

/// All that is kept.
#[derive(Default)]
pub(super) struct Table {
    pub(super) edges: HashMap<u64, Edge>,
    pairs: HashMap<u64, u32>,
    pub(super) guards: HashMap<u64, Event>,
    pub(super) blocked: HashMap<u64, Event>,
    pub(super) polls: HashMap<u64, Event>,
    pub(super) handed: HashMap<u64, Event>,
    pub(super) sockets: HashMap<u64, Event>,
    pub(super) lost: Lost,
}

static TABLE: PerProcess<Mutex<Table>> = PerProcess::new(Mutex::default);

pub(super) fn table() -> MutexGuard<'static, Table> {
    TABLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts something that did not fit.
pub(super) fn lost(of: impl FnOnce(&mut Lost) -> &mut u64) {
    *of(&mut table().lost) += 1;
}

/// Returns a number for the lines of a pair.
pub(super) fn lines(from: &Lock, from_at: At, to: &Lock, to_at: At) -> u64 {
    hash(&[
        address(from_at),
        address(to_at),
        address(from.made_at),
        address(to.made_at),
        (from.kind as u64) << 32 | to.kind as u64,
    ])
}

/// Keeps a pair under its hash. Returns `true` if there is no room for more of its lines.
pub(super) fn add(key: u64, lines: u64, edge: Edge) -> bool {
    let mut table = table();
    if let Some(known) = table.edges.get_mut(&key) {
        // The one with the least doubt.
        if (edge.is_joined, edge.is_beside) < (known.is_joined, known.is_beside) {
            (known.is_joined, known.is_beside) = (edge.is_joined, edge.is_beside);
        }
        return false;
    }
    let is_full = table.edges.len() >= EDGES;
    let count = table.pairs.entry(lines).or_default();
    if is_full || *count >= SAMPLES {
        // More of the same lines are no loss.
        if *count == 0 {
            table.pairs.remove(&lines);
            table.lost.edges += 1;
        }
        return true;
    }
    *count += 1;
    table.edges.insert(key, edge);
    false
}

/// Counts an event under the lines that it has.
pub(super) fn count(of: impl FnOnce(&mut Table) -> &mut HashMap<u64, Event>, event: Event) {
    let side = event.side;
    let key = hash(&[
        address(event.task_at),
        address(event.holder_at),
        address(side.and_then(|side| side.at)),
        side.map_or(0, |side| side.kind as u64),
        address(event.between[0]),
        address(event.between[1]),
        own_name(&event),
    ]);
    let mut table = table();
    let events = of(&mut table);
    if let Some(known) = events.get_mut(&key) {
        known.count += event.count;
        if event.longest > known.longest {
            known.longest = event.longest;
            known.processor = event.processor;
            known.request = event.request;
        }
    } else if events.len() < EVENTS {
        events.insert(key, event);
    } else {
        table.lost.events += 1;
    }
}

/// Returns the request of an event that no line of the program tells from others.
fn own_name(event: &Event) -> u64 {
    let has_line = event.side.is_some_and(|side| side.at.is_some()) || event.between != [None; 2];
    if has_line { 0 } else { event.request }
}

/// Returns the address of a location, or 0.
pub(super) fn address(at: At) -> u64 {
    at.map_or(0, |at| ptr::from_ref(at).addr() as u64)
}

/// The hash of FNV, by words.
pub(super) fn hash(words: &[u64]) -> u64 {
    words.iter().fold(0xcbf2_9ce4_8422_2325, |hash, word| {
        (hash ^ word)
            .wrapping_mul(0x0000_0100_0000_01b3)
            .rotate_left(29)
    })
}
