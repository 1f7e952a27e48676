//! What all threads know of a multi-thread scheduler.

use std::fmt;
use std::future::Future;
use std::io;
use std::sync::Arc;

use blitz_futex::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::idle::{Calls, Idle};
use super::inject::Inject;
use super::reference::Reference;
use super::seat::Seat;
use super::worker;
use crate::common::Common;
use crate::runtime::metrics::Counters;
use crate::scheduler;
use crate::task::{Header, Id, JoinHandle, Notified, OwnedTasks};

/// See the head of this file.
pub(crate) struct Shared {
    /// One for each worker.
    pub(super) seats: Box<[Seat]>,
    pub(super) inject: Inject<Header>,
    pub(super) idle: Idle,
    pub(super) owned: OwnedTasks,
    /// The runtime is about to end.
    pub(super) closed: AtomicBool,
    /// How many workers have left for good.
    pub(super) left: AtomicUsize,
    common: Common,
}

/// Makes a scheduler and starts its workers.
pub(crate) fn launch(common: Common) -> io::Result<Arc<Shared>> {
    let shared = Arc::new(Shared::new(common));
    let handle = scheduler::Handle::MultiThread(shared.clone());
    for index in 0..shared.workers() {
        worker::start(&shared, &handle, index);
    }
    Ok(shared)
}

impl Shared {
    fn new(common: Common) -> Self {
        let workers = common.config.worker_threads;
        let processors = blitz_sync::internals::processors();
        Self {
            seats: (0..workers).map(|_| Seat::new(&common)).collect(),
            inject: Inject::new(),
            idle: Idle::new(workers, processors),
            owned: OwnedTasks::new(workers),
            closed: AtomicBool::new(false),
            left: AtomicUsize::new(0),
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
        let worker = reference.worker_here();
        let (join, task) = match reference.owner_here() {
            // SAFETY: this thread has the seat, and with it the list. The future may go to
            // other threads.
            Some(owner) => unsafe { self.owned.bind_own(owner.number(), future, reference, id) },
            None => self.owned.bind(id_shard(id), future, reference, id),
        };
        self.common.hooks.task_spawn(id);
        match worker {
            Some(worker) => worker.spawned(task),
            None => self.spawned(task),
        }
        join
    }

    /// A task was spawned by a thread that is no worker.
    pub(super) fn spawned(&self, task: Option<Notified>) {
        self.common.totals.task_spawned();
        if let Some(task) = task {
            self.queue_remotely(task);
        }
    }

    /// Queues a task from a thread that is no worker.
    pub(super) fn schedule_remotely(&self, task: Notified) {
        self.common.totals.task_scheduled();
        self.queue_remotely(task);
    }

    fn queue_remotely(&self, task: Notified) {
        self.inject.push(task.into_raw());
        self.call(self.idle.injected());
    }

    /// Unparks those who were called.
    #[inline]
    pub(super) fn call(&self, calls: Calls) {
        if calls != Calls::default() {
            self.unpark_all(calls);
        }
    }

    #[cold]
    fn unpark_all(&self, calls: Calls) {
        calls.each().for_each(|index| self.wake(index));
    }

    /// Takes the next task of the inject queue.
    #[inline]
    pub(super) fn next_injected(&self) -> Option<Notified> {
        let task = self.inject.pop()?;
        // SAFETY: tokens are put in, and each is taken out once.
        Some(unsafe { Notified::from_raw(task) })
    }

    #[inline]
    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Begins the end: the workers cancel all tasks and leave.
    pub(crate) fn close(&self) {
        if !self.closed.swap(true, Ordering::SeqCst) {
            self.idle.wake_all(|index| self.wake(index));
        }
    }

    fn wake(&self, index: usize) {
        self.seats[index].driver.unpark();
    }

    /// A worker has to look at its timers: wakes it, if it sleeps.
    pub(crate) fn unpark(&self, index: usize) {
        self.wake(index);
        if self.idle.was_called(index) {
            // It is awake, and may stand still.
            self.call(self.idle.pushed(false));
        }
    }

    /// How many workers there are.
    pub(crate) fn workers(&self) -> usize {
        self.seats.len()
    }

    /// How many tasks have not ended yet.
    pub(crate) fn alive_tasks(&self) -> usize {
        self.owned.len()
    }

    /// How many tasks wait in the queue that no worker owns.
    pub(crate) fn injected(&self) -> usize {
        self.inject.len()
    }

    /// How many tasks wait in a worker's own queue.
    #[track_caller]
    pub(crate) fn queued(&self, worker: usize) -> usize {
        let seat = &self.seats[worker];
        seat.queue_depth()
    }

    /// What a worker counts.
    #[track_caller]
    pub(crate) fn counters(&self, worker: usize) -> &Counters {
        &self.seats[worker].counters
    }
}

/// Spreads the tasks that are spawned from elsewhere over the lists.
fn id_shard(id: Id) -> usize {
    id.as_u64() as usize
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("multi_thread::Handle { ... }")
    }
}
