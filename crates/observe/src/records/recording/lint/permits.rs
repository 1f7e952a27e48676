//! Permits that the program has forgotten, and whether their semaphores go on with fewer.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use blitz_io_futex::per_process::PerProcess;

use super::edges::{EVENTS, Side, lost};
use super::lock::{At, Lock};
use crate::records::recording::block::Block;
use crate::records::recording::registry;

/// A semaphore whose permits were forgotten, or to which some were added.
pub(super) struct Permits {
    /// The semaphore, and the line at which a permit was forgotten last.
    pub(super) side: Side,
    /// The task or thread that has forgotten it.
    pub(super) owner: u64,
    /// The line at which that task was spawned.
    pub(super) owner_at: At,
    /// The number of times that permits were forgotten.
    pub(super) forgotten: u64,
    /// The number of times that permits were taken since the first time.
    pub(super) taken: u64,
    /// A future or a thread waited for permits when some were forgotten, or later.
    pub(super) is_awaited: bool,
    /// Permits were added.
    pub(super) is_refilled: bool,
}

type Semaphores = HashMap<(u64, u32), Permits>;

static SEMAPHORES: PerProcess<Mutex<Semaphores>> = PerProcess::new(Mutex::default);
/// The length of `SEMAPHORES`, so that most acquisitions take no lock. It may be a moment old.
static COUNT: AtomicUsize = AtomicUsize::new(0);

pub(super) fn semaphores() -> MutexGuard<'static, Semaphores> {
    SEMAPHORES.lock().unwrap_or_else(PoisonError::into_inner)
}

fn change(semaphore: Lock, at: At, change: impl FnOnce(&mut Permits)) {
    let mut all = semaphores();
    if all.len() >= EVENTS && !all.contains_key(&semaphore.id()) {
        drop(all);
        return lost(|lost| &mut lost.events);
    }
    change(all.entry(semaphore.id()).or_insert_with(|| Permits {
        side: Side::new(&semaphore, at),
        owner: 0,
        owner_at: None,
        forgotten: 0,
        taken: 0,
        is_awaited: false,
        is_refilled: false,
    }));
    COUNT.store(all.len(), Ordering::Relaxed);
}

/// The current task or thread has forgotten permits.
pub(super) fn forgotten((owner, owner_at): (u64, At), semaphore: Lock, at: At) {
    let is_awaited = registry::is_awaited(semaphore.block);
    change(semaphore, at, |permits| {
        permits.side = Side::new(&semaphore, at);
        (permits.owner, permits.owner_at) = (owner, owner_at);
        permits.forgotten += 1;
        permits.is_awaited |= is_awaited;
    });
}

/// Permits were added to a semaphore.
pub(super) fn refilled(semaphore: Lock, at: At) {
    change(semaphore, at, |permits| permits.is_refilled = true);
}

/// Permits were taken of the semaphore with this block.
pub(super) fn taken(block: &'static Block) {
    change_known(block, block.generation(), |permits| permits.taken += 1);
}

/// A future or a thread begins to wait for the object with this block.
pub(super) fn awaited(block: &'static Block, generation: u32) {
    change_known(block, generation, |permits| permits.is_awaited = true);
}

/// Changes what is known about a semaphore of which permits were forgotten or added. Does nothing for other objects.
fn change_known(block: &'static Block, generation: u32, change: impl FnOnce(&mut Permits)) {
    if COUNT.load(Ordering::Relaxed) != 0 {
        if let Some(permits) = semaphores().get_mut(&(block.id(), generation)) {
            change(permits);
        }
    }
}
