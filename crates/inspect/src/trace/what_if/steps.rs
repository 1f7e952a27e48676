//! The steps of programs, which `program.rs` makes and `replay.rs` does again.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::level::Level;
use crate::trace::cause::Cause;

/// The part of a lock that a thread needs which does not share it.
pub(super) const ALONE: u64 = 1 << 32;

/// Threads that run tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pool {
    Workers,
    Blocking,
}

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Time passes.
    Time { nanos: u64, context: usize },
    /// It needs a thread of the pool from now on.
    Enter(Pool),
    /// It needs it no more.
    Leave,
    /// It takes a lock or permits. `blocks`: it keeps its thread while it waits.
    Take {
        object: usize,
        need: u64,
        blocks: bool,
    },
    /// It gives them back.
    Give { object: usize, need: u64 },
    /// It waits until another one has come to an edge.
    Await(usize),
    /// It comes to an edge.
    Reach(usize),
    /// A request begins.
    Begin(usize),
    /// A request ends.
    End(usize),
}

/// Why time passes: the same for all steps to which the same changes apply.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Context {
    pub(super) cause: Cause,
    /// The locks and permits that it has.
    pub(super) held: BTreeSet<usize>,
}

/// A lock or a semaphore.
#[derive(Debug, Default)]
pub(super) struct Object {
    /// The waits for it, one for each line.
    pub(super) causes: HashSet<Cause>,
    /// It is a semaphore.
    pub(super) is_semaphore: bool,
    pub(super) level: Level,
}

/// All programs.
#[derive(Debug, Default)]
pub(super) struct Programs {
    /// The steps of each thread and task, in the order of their first moments.
    pub(super) actors: Vec<Vec<Step>>,
    pub(super) contexts: Vec<Context>,
    pub(super) objects: HashMap<usize, Object>,
    /// The recorded moments of edges.
    pub(super) edges: Vec<u64>,
    /// Number of workers, and of threads for blocking work.
    pub(super) workers: u64,
    pub(super) blocking: u64,
}
