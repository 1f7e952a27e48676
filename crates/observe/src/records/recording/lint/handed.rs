//! Locks, permits and the like that were handed to a future, and that no poll has taken since.
//!
//! A release gives a lock to the first future in the queue and wakes its task. If that task has been polled since, to
//! the end of a poll, and the future still has not been, then its task awaits something else: a *futurelock*. The
//! lock belongs to a future that is not polled, and each other waiter waits for it.
//!
//! 1. A release adds the lock under the address in the future's waker, before it wakes the task.
//! 2. The poll of a task reads what is under the address of the task's own wakers when it begins, and looks again
//!    when it ends. So a lock that is handed over during the poll does not count.
//! 3. The future that gets the lock, or is dropped, removes it. It may remove what was handed to other futures of
//!    the same object: then a futurelock is not seen.
//! 4. A task that wakes itself in its poll is polled again at once, and may poll the future then. This does not count.
//!
//! A future of a combinator with wakers of its own (`FuturesUnordered`) is not seen.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use blitz_io_futex::per_process::PerProcess;

use crate::records::kernel::counted_map::CountedMap;
use crate::records::recording::block::Block;

/// The most addresses with something.
const MOST: usize = 1 << 16;

/// Something that was handed to a future.
#[derive(Clone, Copy)]
pub(super) struct Handed {
    pub(super) block: &'static Block,
    /// Identifies the hand-over.
    number: u64,
}

/// The map, whose key is the address in the waker.
static HANDED: PerProcess<CountedMap<Vec<Handed>>> = PerProcess::new(CountedMap::default);
/// The addresses of an object, by its block.
static ADDRESSES: PerProcess<Mutex<HashMap<u64, Vec<u64>>>> = PerProcess::new(Mutex::default);
static LAST: AtomicU64 = AtomicU64::new(0);

/// The object with this block was handed to the future that keeps this waker.
pub(super) fn add(block: &'static Block, waker: usize) {
    let number = LAST.fetch_add(1, Ordering::Relaxed);
    let waker = waker as u64;
    let handed = Handed { block, number };
    let mut is_kept = false;
    HANDED.change(waker, |list| {
        list.push(handed);
        is_kept = true;
        true
    });
    if !is_kept && HANDED.add(waker, vec![handed], MOST).is_err() {
        return;
    }
    let mut addresses = ADDRESSES.lock().unwrap_or_else(PoisonError::into_inner);
    addresses.entry(block.id()).or_default().push(waker);
}

/// A future has taken what it was handed of this object, or is dropped.
pub(super) fn remove(block: &'static Block) {
    if HANDED.is_empty() {
        return;
    }
    let mut addresses = ADDRESSES.lock().unwrap_or_else(PoisonError::into_inner);
    let wakers = addresses.remove(&block.id()).unwrap_or_default();
    drop(addresses);
    for waker in wakers {
        HANDED.change(waker, |list| {
            list.retain(|handed| !std::ptr::eq(handed.block, block));
            !list.is_empty()
        });
    }
}

/// Returns what was handed to futures with this waker.
pub(super) fn of(waker: usize) -> Vec<Handed> {
    let mut found = Vec::new();
    if waker != 0 {
        HANDED.change(waker as u64, |list| {
            found.clone_from(list);
            true
        });
    }
    found
}

/// Returns what is in both lists.
pub(super) fn still<'a>(
    before: &'a [Handed],
    now: &'a [Handed],
) -> impl Iterator<Item = &'a Handed> {
    let is_in = |handed: &&Handed| now.iter().any(|other| other.number == handed.number);
    before.iter().filter(is_in)
}
