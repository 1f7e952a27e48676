//! What all threads know of a current-thread scheduler: its queue for other threads, and how
//! tasks refer to it.
//!
//! No task is forgotten in that queue: a pusher writes the length and then unparks, and the
//! running thread looks at the length before it parks. Either it sees the length, or the
//! unpark comes later than its look, and the park returns (`driver.rs`).
//!
//! A task refers to its scheduler by an [`Address`], which counts nothing; the head of
//! `address.rs` says what makes it valid. Here:
//!
//! - The runtime holds a counted reference, and its end waits until the list of tasks is
//!   empty (`turns.rs`).
//! - The functions for the end of a task are called by the thread that runs the tasks,
//!   which is in a method of the runtime.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::mem;
use std::ptr::NonNull;
use std::sync::Arc;

use blitz_futex::atomic::{AtomicBool, AtomicUsize, Ordering};
use blitz_sync::internals::Lock;

use super::super::address::Address;
use super::core::Core;
use crate::common::Common;
use crate::core::{Header, Id, JoinHandle, Notified, OwnedTasks, Schedule};
use crate::driver::Driver;
use crate::metrics::Counters;
use crate::pool::Spawner;

/// See the head of this file.
pub(crate) struct Shared {
    pub(super) remote: Remote,
    pub(super) owned: OwnedTasks,
    /// Another thread has woken the future that `block_on` was given.
    pub(super) main_woken: AtomicBool,
    /// What the running thread parks in.
    pub(super) driver: Driver,
    pub(super) counters: Counters,
    common: Common,
    pool: Spawner,
}

impl Shared {
    pub(super) fn new(common: Common, pool: Spawner) -> Self {
        Self {
            remote: Remote::new(),
            owned: OwnedTasks::new(1),
            main_woken: AtomicBool::new(false),
            driver: Driver::of(&common, 0),
            counters: Counters::new(&common.config),
            common,
            pool,
        }
    }

    #[inline]
    pub(crate) fn common(&self) -> &Common {
        &self.common
    }

    #[inline]
    pub(crate) fn pool(&self) -> &Spawner {
        &self.pool
    }

    /// Makes a task and queues it.
    #[inline]
    pub(crate) fn spawn<F>(self: &Arc<Self>, future: F, id: Id) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let reference = Reference::new(self);
        let (join, task) = match reference.core_here() {
            // SAFETY: this thread has the core, and with it the list. The future may go to
            // other threads.
            Some(_) => unsafe { self.owned.bind_own(0, future, reference, id) },
            None => self.owned.bind(0, future, reference, id),
        };
        self.begin(id, task, reference);
        join
    }

    /// The same for a future that stays on this thread.
    ///
    /// # Safety
    ///
    /// Only this thread ever runs the tasks and ends the runtime.
    pub(crate) unsafe fn spawn_local<F>(
        self: &Arc<Self>,
        future: F,
        id: Id,
    ) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        let reference = Reference::new(self);
        // SAFETY: as the caller promises.
        let (join, task) = unsafe { self.owned.bind_local(0, future, reference, id) };
        self.begin(id, task, reference);
        join
    }

    #[inline]
    fn begin(&self, id: Id, task: Option<Notified>, reference: Reference) {
        self.common.hooks.task_spawn(id);
        let core = reference.core_here();
        match (core, task) {
            (Some(core), task) => {
                self.counters.spawned.add(1);
                if let Some(task) = task {
                    core.schedule(task, &self.counters);
                }
            }
            (None, task) => self.spawned_remotely(task),
        }
    }

    fn spawned_remotely(&self, task: Option<Notified>) {
        self.common.totals.task_spawned();
        if let Some(task) = task {
            self.queue_remotely(task);
        }
    }

    pub(super) fn schedule_remotely(&self, task: Notified) {
        self.common.totals.task_scheduled();
        self.queue_remotely(task);
    }

    fn queue_remotely(&self, task: Notified) {
        self.remote.push(task);
        self.driver.unpark();
    }

    /// Wakes the future that `block_on` was given, from another thread.
    pub(super) fn wake_main(&self) {
        // The first one to wake it unparks.
        if !self.main_woken.swap(true, Ordering::AcqRel) {
            self.driver.unpark();
        }
    }

    /// There is nothing to begin: the tasks end when the runtime is dropped, on the
    /// thread that does it.
    pub(crate) fn close(&self) {}

    /// Wakes the thread that runs the tasks, if it sleeps.
    pub(crate) fn unpark(&self) {
        self.driver.unpark();
    }

    /// How many tasks have not ended yet.
    pub(crate) fn alive_tasks(&self) -> usize {
        self.owned.len()
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

/// How a task refers to the scheduler.
#[derive(Clone, Copy)]
pub(super) struct Reference(Address<Shared>);

impl Reference {
    pub(super) fn new(shared: &Arc<Shared>) -> Self {
        Self(Address::of(shared))
    }

    fn shared(&self) -> &Shared {
        // SAFETY: the callers are those for whom the address is valid.
        unsafe { self.0.get() }
    }

    /// The core, if this is the thread that runs the tasks.
    #[inline]
    pub(super) fn core_here(&self) -> Option<&Core> {
        let core = self.0.worker_here();
        // SAFETY: for a scheduler of this kind the worker is a `Core` (`turns.rs`), which
        // stays where it is as long as it is in the context. `self` is a borrow from
        // the running function, which ends before the thread's turn does.
        unsafe { core.cast::<Core>().as_ref() }
    }

    /// Queues a task from another thread.
    #[cold]
    fn schedule_remotely(self, task: Notified) {
        // SAFETY: we have the token, so the address is valid.
        let shared = unsafe { self.0.counted() };
        shared.schedule_remotely(task);
    }
}

impl Schedule for Reference {
    #[inline]
    fn schedule(&self, task: Notified) {
        match self.core_here() {
            Some(core) => core.schedule(task, &self.shared().counters),
            None => self.schedule_remotely(task),
        }
    }

    #[inline]
    fn release(&self, task: &Header) {
        let owned = &self.shared().owned;
        match self.core_here() {
            // SAFETY: this thread has the core, and with it the list.
            Some(_) => unsafe { owned.remove_by_owner(task, 0) },
            None => owned.remove(task),
        }
    }

    #[inline]
    fn outlives_call(&self) -> bool {
        self.core_here().is_some()
    }

    #[cold]
    fn unhandled_panic(&self) {
        if let Some(core) = self.core_here() {
            core.unhandled_panic(self.shared());
        }
    }

    #[inline]
    fn terminated(&self, id: Id) {
        self.shared().common().hooks.task_terminate(id);
    }
}
