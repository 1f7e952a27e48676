//! The rings of all threads. A thread takes one with its first event, and keeps it until it ends; then the next
//! thread gets it, with the events that it has. A ring is never freed, so a reader needs no reference, and there
//! are as many as threads have recorded at the same time.

use std::cell::Cell;
use std::env;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use blitz_io_futex::per_process::PerProcess;

use crate::records::kernel::ring::{Ring, Words};
use crate::records::recording::local::LOCAL;

/// The variable of the environment with the number of events of a ring.
const EVENTS: &str = "BLITZ_TRACE_EVENTS";
/// The number of events of a ring, unless the environment says another: 2 MiB.
const CAPACITY: usize = 1 << 16;
/// The greatest number that the environment may say: 512 MiB.
const MOST: usize = 1 << 24;

#[derive(Default)]
struct Rings {
    all: Vec<&'static Ring>,
    free: Vec<&'static Ring>,
}

static RINGS: PerProcess<Mutex<Rings>> = PerProcess::new(Mutex::default);
/// Number of events of threads that have no ring: they are about to end, or take a ring.
static HOMELESS: AtomicU64 = AtomicU64::new(0);
static EVENTS_OF_RING: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static OWNED: Owned = const { Owned };
    static IS_TAKING: Cell<bool> = const { Cell::new(false) };
}

/// Gives away the ring of a thread that ends.
struct Owned;

impl Drop for Owned {
    fn drop(&mut self) {
        if let Some(ring) = LOCAL.with(|local| local.ring.take()) {
            rings().free.push(ring);
        }
    }
}

fn rings() -> MutexGuard<'static, Rings> {
    RINGS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds an event of this thread.
#[inline]
pub(super) fn push(words: Words) {
    match LOCAL.with(|local| local.ring.get()) {
        Some(ring) => ring.push(words),
        None => push_first(words),
    }
}

#[cold]
#[inline(never)]
fn push_first(words: Words) {
    match take() {
        Some(ring) => {
            LOCAL.with(|local| local.ring.set(Some(ring)));
            ring.push(words);
        }
        None => _ = HOMELESS.fetch_add(1, Ordering::Relaxed),
    }
}

/// Returns a ring for this thread; `None` if it is about to end, or is in this function: the memory comes from the
/// program's allocator, which may record events itself.
fn take() -> Option<&'static Ring> {
    if IS_TAKING.replace(true) {
        return None;
    }
    let ring = OWNED.try_with(|_| ()).is_ok().then(|| {
        let free = rings().free.pop();
        free.unwrap_or_else(|| {
            let new: &'static Ring = Box::leak(Box::new(Ring::new(capacity())));
            rings().all.push(new);
            new
        })
    });
    IS_TAKING.set(false);
    ring
}

/// Returns the number of events of a ring.
fn capacity() -> usize {
    let known = EVENTS_OF_RING.load(Ordering::Relaxed);
    if known != 0 {
        return known;
    }
    let wanted = env::var(EVENTS).ok().and_then(|text| text.parse().ok());
    let capacity = wanted.unwrap_or(CAPACITY).clamp(1, MOST);
    EVENTS_OF_RING.store(capacity, Ordering::Relaxed);
    capacity
}

/// Copies the events of all threads, in no order, and returns the number of those that are lost.
pub(super) fn read(into: &mut Vec<Words>) -> u64 {
    let all = rings().all.clone();
    let lost: u64 = all.iter().map(|ring| ring.read(into)).sum();
    lost + HOMELESS.load(Ordering::Relaxed)
}
