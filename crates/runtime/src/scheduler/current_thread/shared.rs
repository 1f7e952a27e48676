//! What all threads know of a current-thread scheduler.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use blitz_futex::atomic::{AtomicBool, Ordering};

use super::reference::Reference;
use super::remote::Remote;
use crate::common::Common;
use crate::driver::Driver;
use crate::runtime::metrics::Counters;
use crate::task::{Id, JoinHandle, Notified, OwnedTasks};

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
}

impl Shared {
    pub(super) fn new(common: Common) -> Self {
        Self {
            remote: Remote::new(),
            owned: OwnedTasks::new(1),
            main_woken: AtomicBool::new(false),
            driver: Driver::new(),
            counters: Counters::new(&common.config),
            common,
        }
    }

    #[inline]
    pub(crate) fn common(&self) -> &Common {
        &self.common
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
        // Who finds it woken already leaves the rest to who did it.
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
