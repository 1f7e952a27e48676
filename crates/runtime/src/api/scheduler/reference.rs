//! How tasks refer to their scheduler, and how they come there.
//!
//! A task has the scheduler's address, which counts nothing, so that spawning and ending
//! a task change no count that all threads share. The address is valid because:
//!
//! - A task that has not ended is in the list of the scheduler's tasks, or on its way
//!   into it, with the spawner holding a counted reference.
//! - Some thread holds a counted reference until that list is empty and closed. Each
//!   worker holds one, and the last one ends only when the list is empty
//!   (`multi_thread/run.rs`). A current-thread runtime holds one, and its end waits for
//!   that (`current_thread/turns.rs`).
//! - So the address is valid as long as the task has not ended. A task does not end
//!   before its token has been run, so it is valid for the holder of the token, up to the
//!   moment of giving it away. Code that needs the scheduler longer counts a reference first.
//! - The functions for the end of a task are called by the threads that run the tasks, and by
//!   a spawner that finds the list closed.

use std::future::Future;
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Instant;

use blitz_io_core::coop;
use blitz_io_futex::atomic::Ordering;

use crate::api::common::Common;
use crate::api::hooks;
use crate::api::metrics::Counters;
use crate::api::pool::Spawner;
use crate::kernel::context;
use crate::kernel::task::{Header, Id, JoinHandle, ListId, Notified, OwnedTasks, Ran, Schedule};

/// The common part of both kinds of schedulers.
pub(crate) struct Base {
    pub(crate) common: Common,
    /// Gets blocking work done.
    pub(crate) pool: Spawner,
    pub(crate) owned: OwnedTasks,
}

impl Base {
    pub(super) fn new(common: Common, pool: Spawner) -> Self {
        Self {
            owned: OwnedTasks::new(common.config.worker_threads),
            common,
            pool,
        }
    }

    /// Runs a task whose poll the user wants to know of. `may_count`: whether the counters are
    /// this thread's still.
    #[cold]
    pub(super) fn run_observed(
        &self,
        task: Notified,
        worker: usize,
        counters: &Counters,
        may_count: impl FnOnce() -> bool,
    ) -> Ran {
        let id = task.id();
        let stalls = self.common.stalls.as_ref();
        let latency = self.common.ready_clock.latency(&task);
        if let Some(latency) = latency {
            counters.was_ready(latency);
        }
        let began = counters.watches_polls().then(Instant::now);
        let hooks = &self.common.hooks;
        if let Some(hook) = &hooks.before_task_poll {
            hooks::tell_poll(hook, id, latency);
        }
        if let Some(stalls) = stalls {
            stalls.poll_begins(worker, id);
        }
        let ran = task.run();
        if let Some(hook) = &hooks.after_task_poll {
            hooks::tell_poll(hook, id, latency);
        }
        if let Ran::Again(task) | Ran::Yielded(task) | Ran::Here(task) = &ran {
            self.common.ready_clock.ready(task);
        }
        if !may_count() {
            return ran;
        }
        if let Some(stalls) = stalls {
            stalls.poll_ends(worker);
        }
        if let Some(began) = began {
            counters.poll_took(began.elapsed());
        }
        ran
    }
}

/// The part of a scheduler that all threads know.
pub(super) trait Scheduler: Send + Sync + Sized + 'static {
    /// The context's entry for a thread that runs the tasks.
    type Worker;

    fn base(&self) -> &Base;

    /// Which list of tasks the thread of this worker owns at the moment.
    fn own_list(worker: &Self::Worker) -> Option<usize>;

    /// Returns the worker's counters.
    fn counters_of<'a>(&'a self, worker: &'a Self::Worker) -> &'a Counters;

    /// Queues a task that was made ready on the worker's thread, which owns a list.
    fn schedule_here(&self, worker: &Self::Worker, task: Notified);

    /// Queues a task from any other thread.
    fn queue_remotely(&self, task: Notified);

    /// Queues a task that was woken on such a thread.
    fn schedule_remotely(&self, task: Notified) {
        let totals = &self.base().common.totals;
        totals.scheduled.fetch_add(1, Ordering::Relaxed);
        self.queue_remotely(task);
    }

    /// A task's future panicked on the worker's thread.
    fn unhandled_panic(&self, _: &Self::Worker) {}
}

/// Makes a task and queues it.
///
/// # Safety
///
/// If the future is not `Send`, only this thread ever runs the scheduler's tasks and ends it.
#[inline]
pub(super) unsafe fn spawn<S, F>(scheduler: &Arc<S>, future: F, id: Id) -> JoinHandle<F::Output>
where
    S: Scheduler,
    F: Future<Output: 'static> + 'static,
{
    // SAFETY: if the future is not `Send`, only this thread runs the scheduler's tasks and ends it.
    unsafe { spawn_as(scheduler, future, id, |reference| reference) }
}

/// Makes a task with its own kind of reference to its scheduler, and queues it.
///
/// # Safety
///
/// As for [`spawn`], unless `reference` sees to the threads of a pinned task.
#[inline]
pub(super) unsafe fn spawn_as<S, F, R>(
    scheduler: &Arc<S>,
    future: F,
    id: Id,
    with: impl FnOnce(Reference<S>) -> R,
) -> JoinHandle<F::Output>
where
    S: Scheduler,
    F: Future<Output: 'static> + 'static,
    R: Schedule,
{
    let reference = Reference::of(scheduler);
    let worker = reference.worker_here();
    let list = list_for(&**scheduler, worker, id);
    let list = if R::PINS { list.pinned() } else { list };
    let owned = &scheduler.base().owned;
    // SAFETY: a future that is not `Send` is for this thread, as `spawn_as` requires; so is an own list.
    let (join, task) = unsafe { owned.bind(list, future, with(reference), id) };
    begin(&**scheduler, worker, id, task);
    join
}

/// Returns the list for a new task. This and [`begin`] are no part of [`spawn_as`], which is compiled for
/// each type of future.
#[inline]
fn list_for<S: Scheduler>(scheduler: &S, worker: Option<&S::Worker>, id: Id) -> ListId {
    match worker.and_then(S::own_list) {
        Some(own) => ListId::own(own),
        // Spreads the tasks that are spawned by other threads over the lists.
        None => scheduler.base().owned.any_list(id.as_u64() as usize),
    }
}

/// Counts a new task and queues its token, unless the runtime has ended.
#[inline]
fn begin<S: Scheduler>(scheduler: &S, worker: Option<&S::Worker>, id: Id, task: Option<Notified>) {
    coop::acted();
    let common = &scheduler.base().common;
    if let Some(task) = &task {
        common.ready_clock.ready(task);
    }
    if let Some(hook) = &common.hooks.on_task_spawn {
        hooks::tell(hook, id);
    }
    // The hook may have given the list away.
    let owner = worker.filter(|worker| S::own_list(worker).is_some());
    match owner {
        Some(worker) => scheduler.counters_of(worker).spawned.add(1),
        None => _ = common.totals.spawned.fetch_add(1, Ordering::Relaxed),
    }
    match (owner, task) {
        (Some(worker), Some(task)) => scheduler.schedule_here(worker, task),
        (None, Some(task)) => scheduler.queue_remotely(task),
        // The runtime has ended.
        (_, None) => {}
    }
}

/// A task's reference to its scheduler; see the module documentation.
pub(super) struct Reference<S>(NonNull<S>);

// SAFETY: it stands for a `&S`, which may be sent, and for an `Arc` of it.
unsafe impl<S: Send + Sync> Send for Reference<S> {}
// SAFETY: a shared one gives a `&S` or a clone of the `Arc`, and `S` may be sent and
// shared.
unsafe impl<S: Send + Sync> Sync for Reference<S> {}

impl<S> Clone for Reference<S> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for Reference<S> {}

impl<S: Scheduler> Reference<S> {
    #[inline]
    fn of(scheduler: &Arc<S>) -> Self {
        // As a raw pointer from the `Arc`, so that the count may be reached from it.
        let address = Arc::as_ptr(scheduler).cast_mut();
        // SAFETY: an `Arc`'s pointer is not null.
        Self(unsafe { NonNull::new_unchecked(address) })
    }

    #[inline]
    fn scheduler(&self) -> &S {
        // SAFETY: the callers are those for which the address is valid.
        unsafe { self.0.as_ref() }
    }

    /// The task becomes ready now.
    #[inline]
    pub(super) fn ready(self, task: &Notified) {
        self.scheduler().base().common.ready_clock.ready(task);
    }

    /// Returns this thread's worker, if it is one of this scheduler.
    #[inline]
    pub(super) fn worker_here<'a>(self) -> Option<&'a S::Worker> {
        let address = self.0.as_ptr().cast_const().cast();
        let worker = context::with(|context| context.worker_for(address));
        // SAFETY: for a scheduler of this kind the worker is of this type. The worker
        // outlives this reference: its guard is further up the stack. The callers let the
        // reference go before they return.
        unsafe { worker.cast::<S::Worker>().as_ref() }
    }

    /// Returns this thread's worker and the number of its list of tasks, if it owns one.
    #[inline]
    fn owner_here<'a>(self) -> Option<(&'a S::Worker, usize)> {
        let worker = self.worker_here()?;
        Some((worker, S::own_list(worker)?))
    }

    /// Queues a task from another thread.
    #[cold]
    fn schedule_remotely(self, task: Notified) {
        self.counted().schedule_remotely(task);
    }

    /// Returns a counted reference. The caller has a token of the scheduler.
    pub(super) fn counted(self) -> Arc<S> {
        // SAFETY: the address is an `Arc`'s, and valid, as the caller has a token.
        unsafe {
            Arc::increment_strong_count(self.0.as_ptr());
            Arc::from_raw(self.0.as_ptr())
        }
    }
}

impl<S: Scheduler> Schedule for Reference<S> {
    #[inline]
    fn schedule(&self, task: Notified) {
        self.ready(&task);
        match self.owner_here() {
            Some((worker, _)) => self.scheduler().schedule_here(worker, task),
            None => self.schedule_remotely(task),
        }
    }

    #[inline]
    fn release(&self, task: &Header) {
        let owned = &self.scheduler().base().owned;
        match self.owner_here() {
            // SAFETY: this thread owns the list.
            Some((_, list)) => unsafe { owned.remove_by_owner(task, list) },
            None => owned.remove(task),
        }
    }

    #[inline]
    fn outlives_call(&self) -> bool {
        self.owner_here().is_some()
    }

    #[cold]
    fn unhandled_panic(&self) {
        if let Some(worker) = self.worker_here() {
            self.scheduler().unhandled_panic(worker);
        }
    }

    #[inline]
    fn terminated(&self, id: Id) {
        let common = &self.scheduler().base().common;
        if let Some(hook) = &common.hooks.on_task_terminate {
            hooks::tell(hook, id);
        }
        if let Some(stalls) = &common.stalls {
            stalls.ended(id);
        }
    }
}
