//! What all threads know of a current-thread scheduler: its queue for other threads.
//!
//! No task is forgotten in that queue: a pusher writes the length and then unparks, and the
//! running thread looks at the length before it parks. Either it sees the length, or the
//! unpark comes later than its look, and the park returns (`driver.rs`).

use std::collections::VecDeque;
use std::fmt;
use std::mem;
use std::ptr::NonNull;

use blitz_futex::atomic::{AtomicBool, AtomicUsize, Ordering};
use blitz_sync::internals::Lock;

use super::core::Core;
use crate::common::Common;
use crate::core::{Header, Notified};
use crate::driver::Driver;
use crate::metrics::Counters;
use crate::pool::Spawner;
use crate::scheduler::reference::{Base, Scheduler};

/// See the head of this file.
pub(crate) struct Shared {
    pub(super) remote: Remote,
    /// Another thread has woken the future that `block_on` was given.
    pub(super) main_woken: AtomicBool,
    /// What the running thread parks in.
    pub(super) driver: Driver,
    pub(super) counters: Counters,
    pub(crate) base: Base,
}

impl Shared {
    pub(super) fn new(common: Common, pool: Spawner) -> Self {
        Self {
            remote: Remote::new(),
            main_woken: AtomicBool::new(false),
            driver: Driver::of(&common, 0),
            counters: Counters::new(&common.config),
            base: Base::new(common, pool),
        }
    }

    /// Wakes the future that `block_on` was given, from another thread.
    pub(super) fn wake_main(&self) {
        // The first one to wake it unparks.
        if !self.main_woken.swap(true, Ordering::AcqRel) {
            self.driver.unpark();
        }
    }

    /// Wakes the thread that runs the tasks, if it sleeps.
    pub(crate) fn unpark(&self, _: usize) {
        self.driver.unpark();
    }

    /// How many tasks other threads have made ready, that have not been taken.
    pub(crate) fn injected(&self) -> usize {
        self.remote.len()
    }

    /// How many tasks wait in the running thread's queue.
    #[track_caller]
    pub(crate) fn queued(&self, worker: usize) -> usize {
        self.counters(worker).queued.get() as usize
    }

    /// What the running thread counts.
    #[track_caller]
    pub(crate) fn counters(&self, worker: usize) -> &Counters {
        assert_eq!(0, worker);
        &self.counters
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("current_thread::Handle { ... }")
    }
}

/// A list that has held more than this gives its memory back when it is empty.
const KEEP: usize = 4096;

/// The queue for what other threads have made ready: a list under a lock, and its length
/// beside it, which the running thread looks at without the lock. It takes all there is at
/// once: one lock for a whole burst.
pub(super) struct Remote {
    length: AtomicUsize,
    list: Lock<VecDeque<NonNull<Header>>>,
}

// SAFETY: tokens may be sent.
unsafe impl Send for Remote {}
// SAFETY: as above.
unsafe impl Sync for Remote {}

impl Remote {
    pub(super) fn new() -> Self {
        Self {
            length: AtomicUsize::new(0),
            list: Lock::new(VecDeque::new()),
        }
    }

    /// How many wait.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.length.load(Ordering::Acquire)
    }

    /// Puts one at the end.
    pub(super) fn push(&self, task: Notified) {
        self.locked(|list| list.push_back(task.into_raw()));
    }

    /// Moves all there are to the end of `queue`.
    #[cold]
    pub(super) fn drain_into(&self, queue: &mut VecDeque<NonNull<Header>>) {
        self.locked(|list| {
            if queue.is_empty() && list.capacity() <= KEEP {
                mem::swap(list, queue);
            } else {
                queue.append(list);
                list.shrink_to(KEEP);
            }
        });
    }

    fn locked(&self, change: impl FnOnce(&mut VecDeque<NonNull<Header>>)) {
        let mut list = self.list.lock();
        change(&mut list);
        self.length.store(list.len(), Ordering::Release);
    }
}

impl Scheduler for Shared {
    type Worker = Core;

    #[inline]
    fn base(&self) -> &Base {
        &self.base
    }

    #[inline]
    fn own_list(_: &Core) -> Option<usize> {
        Some(0)
    }

    #[inline]
    fn counters_of<'a>(&'a self, _: &'a Core) -> &'a Counters {
        &self.counters
    }

    #[inline]
    fn schedule_here(&self, core: &Core, task: Notified) {
        core.schedule(task, &self.counters);
    }

    fn queue_remotely(&self, task: Notified) {
        self.remote.push(task);
        self.driver.unpark();
    }

    fn unhandled_panic(&self, core: &Core) {
        core.unhandled_panic(self);
    }
}
