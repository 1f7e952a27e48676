//! All sources that are registered with one driver.
//!
//! The system knows an [`Entry`] by its address, so an entry must not be freed while a
//! thread that polls may find it in an event. An entry goes through three steps:
//!
//! 1. *Registered*: it is in the set, and the system reports events with its address.
//! 2. *Deregistered*: the system has been told to report no more events, and has agreed.
//!    But a thread may be processing events that were reported before that. The entry waits
//!    among the `leaving`.
//! 3. *Released*: the next thread that has the right to poll (one at a time has, see
//!    `driver.rs`) drops the leaving entries before it polls. It has no events yet, no
//!    other thread has any, and new ones cannot name those entries.
//!
//! If the system does not agree, for example because the descriptor has been closed and the
//! file lives on under another one, it may report events forever. Then the entry stays in
//! the set until the driver is dropped.
//!
//! Many sources may leave while the owner sleeps. So [`remove`](Entries::remove) reports
//! when it is time for a poll, after [`MOST_LEAVING`] of them.

use std::sync::Arc;

use blitz_futex::atomic::{AtomicUsize, Ordering};
use blitz_sync::internals::fences::after_rmw;
use slab::Slab;

use crate::entry::Entry;
use crate::lock::Mutex;
use crate::mutant::{Mutant, active};
use crate::wakers::Wakers;

/// The number of sources that may wait to be released. It is large enough that a poll made
/// for their sake costs little for each, and small enough that their memory is little.
const MOST_LEAVING: usize = 32;

struct Set {
    registered: Slab<Arc<Entry>>,
    leaving: Vec<Arc<Entry>>,
    is_shut_down: bool,
}

/// See the head of this file.
pub struct Entries {
    set: Mutex<Set>,
    /// The number of registered entries.
    len: AtomicUsize,
    /// The number of leaving entries, as a hint. Written under the lock.
    leaving: AtomicUsize,
}

impl Entries {
    pub fn new() -> Self {
        Self {
            set: Mutex::new(Set {
                registered: Slab::new(),
                leaving: Vec::new(),
                is_shut_down: false,
            }),
            len: AtomicUsize::new(0),
            leaving: AtomicUsize::new(0),
        }
    }

    /// Returns whether no entry is registered. Sequentially consistent, and so is the
    /// change by [`add`](Self::add): of an owner that announces that it sleeps and then
    /// calls this, and a thread that adds an entry and then checks whether the owner
    /// sleeps, one sees the other.
    pub fn is_empty(&self) -> bool {
        self.len.load(Ordering::SeqCst) == 0
    }

    /// Makes what was written before an entry was added visible to a thread that has an
    /// event of it. The system does that anyway, but the memory model does not know it.
    #[inline]
    pub fn acquire(&self) {
        self.len.load(Ordering::Acquire);
    }

    /// Adds a new entry. Returns `None` after the shutdown.
    pub fn add(&self) -> Option<Arc<Entry>> {
        let mut set = self.set.lock();
        if set.is_shut_down {
            return None;
        }
        let place = set.registered.vacant_entry();
        let entry = Arc::new(Entry::new(place.key()));
        place.insert(entry.clone());
        drop(set);
        self.len.fetch_add(1, Ordering::SeqCst);
        after_rmw();
        Some(entry)
    }

    /// Removes an entry for which the system reports no more events. Returns whether it is
    /// time for a poll.
    pub fn remove(&self, entry: &Entry) -> bool {
        let mut set = self.set.lock();
        let Some(entry) = set.registered.try_remove(entry.key) else {
            // It has already left.
            return false;
        };
        self.len.fetch_sub(1, Ordering::Relaxed);
        if active(Mutant::ReleasesAtOnce) {
            drop(set);
            release(entry);
            return false;
        }
        set.leaving.push(entry);
        self.leaving.store(set.leaving.len(), Ordering::Relaxed);
        set.leaving.len() % MOST_LEAVING == 0
    }

    /// Drops the leaving entries. The caller has the right to poll, and no events.
    #[inline]
    pub fn release(&self) {
        if self.leaving.load(Ordering::Relaxed) != 0 {
            self.release_all();
        }
    }

    #[cold]
    fn release_all(&self) {
        let leaving = {
            let mut set = self.set.lock();
            self.leaving.store(0, Ordering::Relaxed);
            std::mem::take(&mut set.leaving)
        };
        leaving.into_iter().for_each(release);
    }

    /// Ends all entries, and prevents new ones. They remain in the set, because the system
    /// may still report events for them.
    pub fn shut_down(&self, wakers: &mut Wakers) {
        let mut set = self.set.lock();
        set.is_shut_down = true;
        for (_, entry) in &set.registered {
            entry.shut_down(wakers);
        }
    }
}

/// Drops an entry, or marks it in a model.
fn release(entry: Arc<Entry>) {
    #[cfg(loom)]
    entry.released.store(true, Ordering::Relaxed);
    drop(entry);
}
