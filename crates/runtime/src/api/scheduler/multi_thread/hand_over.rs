//! A task is about to block its thread: another thread acquires the worker's core.
//!
//! The new thread runs the worker's tasks. When the task no longer blocks, its thread
//! acquires the core again if no other has done so yet. Otherwise the thread finishes the
//! poll without a core and then goes back to the pool.

#[cfg(feature = "io")]
use std::ptr;
use std::sync::Arc;

use blitz_io_observe as observe;

use super::run;
use super::shared::Shared;
use super::worker::Worker;
use crate::api::metrics::Stopwatch;

/// A worker has given its core away; the drop takes it back if that is possible.
#[must_use]
pub(crate) struct HandedOver(*const Worker);

/// Gives the core of this thread's worker away. `None` if the thread is no worker, or has
/// no core.
///
/// The caller is below the worker's loop on the thread's stack, and drops the result
/// before it returns there.
pub(crate) fn hand_over() -> Option<HandedOver> {
    // SAFETY: the worker's loop is further up the stack, and the result is dropped before it returns there.
    let worker = unsafe { Worker::here() }?;
    (worker.has_core.get() && !worker.shutting_down.get()).then(|| {
        give_core_away(worker);
        HandedOver(worker)
    })
}

impl Shared {
    /// Returns the number of the worker that this thread is, if it is one of this scheduler.
    #[cfg(feature = "io")]
    pub(crate) fn own_index(&self) -> Option<usize> {
        // SAFETY: the reference is used here only.
        let worker = unsafe { Worker::here() }?;
        // A thread that has given its core away polls no driver.
        let is_own = worker.has_core.get() && ptr::eq(&*worker.shared, self);
        is_own.then_some(worker.index)
    }

    /// Prepares for a source of events that a thread is about to register. Should its worker stall later,
    /// another one sees what happens.
    #[cfg(feature = "io")]
    pub(crate) fn source_expected(&self) {
        if !self.drivers.begin_to_use() {
            self.idle
                .use_drivers(self.drivers.len(), |place| self.wake(place));
        }
        // SAFETY: the reference is used here only.
        if let Some(worker) = unsafe { Worker::here() } {
            worker.notify_pushed(false);
        }
    }
}

/// Prepares for a timer that this thread's worker starts, if it is one.
#[inline]
pub(crate) fn timer_expected() {
    // SAFETY: the reference is used here only.
    if let Some(worker) = unsafe { Worker::here() } {
        worker.notify_pushed(false);
        if worker.shared.drivers.are_in_use() {
            worker.timer_started.set(true);
            worker.pending.set(true);
        }
    }
}

/// Returns the number of the worker that this thread is, or was before it gave its core away.
pub(crate) fn number_here() -> Option<usize> {
    // SAFETY: the reference is used here only.
    let worker = unsafe { Worker::here() }?;
    Some(worker.index)
}

#[cold]
fn give_core_away(worker: &Worker) {
    let core = worker.core();
    // The pool may have no thread for the core. Then the other workers take tasks only
    // from the ring.
    worker.queue_yielded();
    while let Some(task) = worker.next_claimed(core) {
        worker.push_back(core, task);
    }
    if let Some(task) = worker.take_lifo(core) {
        worker.push_back(core, task);
    }
    if core.queue.has_stealable() {
        worker.notify_pushed(true);
    }
    worker.count_forced_yields();
    worker.count_busy();
    worker.has_core.set(false);
    worker.pending.set(true);
    observe::forget_time();
    // Timers that start here from now on are another worker's.
    crate::api::timers::detach();
    core.release();
    let shared: &Arc<_> = &worker.shared;
    // Mandatory: the task may wait for something that only a worker completes.
    if !run::start(shared, worker.index) {
        run::start_late(shared, worker.index);
    }
}

impl Drop for HandedOver {
    fn drop(&mut self) {
        // SAFETY: see `hand_over`.
        let worker = unsafe { &*self.0 };
        if worker.core().try_acquire() {
            worker.has_core.set(true);
            worker.core().local.busy.set(Stopwatch::start());
            observe::cache_time_after_sleep();
            if let Some(wheels) = &worker.shared.base.common.time {
                wheels.attach_again(worker.index);
            }
            let counters = &worker.core().counters;
            counters.is_run_by(std::thread::current().id());
        }
    }
}
