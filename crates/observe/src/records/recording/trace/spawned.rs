//! The lines that spawned tasks whose spawn is not among the events: those that lived when the recorder was started, and
//! those whose event is lost. A recording has them as a list.

use std::collections::HashMap;
use std::panic::Location;
use std::sync::{Mutex, MutexGuard, PoisonError};

use blitz_io_futex::per_process::PerProcess;

use super::event::of_location;
use crate::Kind;
use crate::records::recording::registry::read_chosen;

/// The most tasks that are kept.
const MOST: usize = 1 << 16;

/// A task that was spawned.
#[derive(Clone, Copy)]
pub(super) struct Spawned {
    pub(super) at: Option<&'static Location<'static>>,
    pub(super) is_job: bool,
}

/// Tasks by their words.
type All = HashMap<u64, Spawned>;

/// The tasks that lived when the recorder was last started.
static BEFORE: PerProcess<Mutex<All>> = PerProcess::new(Mutex::default);

fn before() -> MutexGuard<'static, All> {
    BEFORE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps the tasks that live now.
pub(super) fn keep() {
    let alive = alive();
    *before() = alive;
}

/// Returns the tasks that were kept and those that live now, in the order of their words.
pub(super) fn all() -> Vec<(u64, Spawned)> {
    let mut all = alive();
    all.extend(before().iter().map(|(&word, &spawned)| (word, spawned)));
    let mut all: Vec<(u64, Spawned)> = all.into_iter().collect();
    all.retain(|(_, spawned)| of_location(spawned.at) != 0);
    all.sort_unstable_by_key(|(word, _)| *word);
    all
}

fn alive() -> All {
    let mut count = 0;
    let (records, _) = read_chosen(|brief| {
        let is_chosen = brief.kind == Kind::Task && count < MOST;
        count += usize::from(is_chosen);
        is_chosen
    });
    let tasks = records.iter().filter_map(|record| {
        let task = record.task.as_ref()?;
        let spawned = Spawned {
            at: record.location,
            is_job: task.is_job,
        };
        Some((record.waiter.word(), spawned))
    });
    tasks.collect()
}
