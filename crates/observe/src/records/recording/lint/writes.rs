//! The writers of locks that have readers: a reader that reads again while a writer waits is a deadlock.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use blitz_io_futex::per_process::PerProcess;

use super::edges::{EDGES, GATES, Side, lost};
use super::lock::At;

/// The most writers of one lock: one of two is not the reader.
const WRITERS: usize = 2;

/// An owner that has written.
pub(super) struct Write {
    pub(super) side: Side,
    /// The task or thread.
    pub(super) owner: u64,
    /// The line at which the task was spawned, if the thread polls it.
    pub(super) owner_at: At,
    /// Other locks that were held exclusively, or zeros.
    pub(super) gates: [(u64, u32); GATES],
}

type Writes = HashMap<(u64, u32), Vec<Write>>;

static WRITES: PerProcess<Mutex<Writes>> = PerProcess::new(Mutex::default);

pub(super) fn writes() -> MutexGuard<'static, Writes> {
    WRITES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps an owner that has written. Of owners with the same gates, it keeps two.
pub(super) fn add((owner, owner_at): (u64, At), side: Side, gates: [(u64, u32); GATES]) {
    let mut all = writes();
    if all.len() >= EDGES && !all.contains_key(&side.lock) {
        drop(all);
        return lost(|lost| &mut lost.edges);
    }
    let known = all.entry(side.lock).or_default();
    let alike = known.iter().filter(|write| write.gates == gates);
    let is_known = known
        .iter()
        .any(|write| write.owner == owner && write.gates == gates);
    // A lock whose writers hold other locks each time would have a list without an end.
    if !is_known && alike.count() < WRITERS && known.len() < 4 * WRITERS {
        known.push(Write {
            side,
            owner,
            owner_at,
            gates,
        });
    }
}
