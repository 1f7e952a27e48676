//! A task is about to block its thread: another thread takes the worker's seat.
//!
//! The new thread runs the worker's tasks. When the task has blocked for long enough, its
//! thread takes the seat back if nobody has taken it yet; otherwise it finishes the poll
//! without one and then goes back to the pool.

use std::cell::Cell;
use std::ptr;
use std::sync::Arc;

use super::worker::{self, Worker};
use crate::context;
use crate::scheduler;
use crate::task::Notified;

/// A worker has given its seat away; the drop takes it back if that is possible.
#[must_use]
pub(crate) struct HandedOver(*const Worker);

/// Gives the seat of this thread's worker away. `None` if the thread is no worker, or has
/// no seat.
///
/// The caller is below the worker's `run` on the thread's stack, and drops what it gets
/// before it returns there.
pub(crate) fn hand_over() -> Option<HandedOver> {
    let place = HERE.get();
    // SAFETY: the worker set it, and takes it back before it goes away.
    let worker = unsafe { place.as_ref() }?;
    // The thread may drive another runtime's tasks by now, within a poll of ours.
    let address = Arc::as_ptr(&worker.shared).cast();
    let is_innermost = context::with(|context| context.worker_of.get()) == address;
    (is_innermost && worker.seated.get() && !worker.leaving.get()).then(|| {
        worker.give_seat_away();
        HandedOver(place)
    })
}

/// A timer is started by this thread's worker, if it is one. When a task blocks the
/// thread later, somebody else has to see that the timer's time has come.
#[inline]
pub(crate) fn timer_starts() {
    // SAFETY: as in `hand_over`.
    if let Some(worker) = unsafe { HERE.get().as_ref() } {
        worker.shared.call(worker.shared.idle.pushed(false));
    }
}

/// The number of the worker that this thread is, if it is one of the scheduler at
/// `address`.
pub(crate) fn number_here(address: *const ()) -> Option<usize> {
    // SAFETY: as in `hand_over`.
    let worker = unsafe { HERE.get().as_ref() }?;
    let of: *const () = Arc::as_ptr(&worker.shared).cast();
    (of == address).then(|| worker.number())
}

thread_local! {
    /// The multi-thread scheduler's worker that this thread is.
    static HERE: Cell<*const Worker> = const { Cell::new(ptr::null()) };
}

/// Runs `run` with the worker known to [`hand_over`].
pub(super) fn with_worker(worker: &Worker, run: impl FnOnce()) {
    struct Back(*const Worker);
    impl Drop for Back {
        fn drop(&mut self) {
            HERE.set(self.0);
        }
    }
    let _back = Back(HERE.replace(worker));
    run();
}

impl Worker {
    #[cold]
    fn give_seat_away(&self) {
        let seat = self.seat();
        // The pool may have no thread for the seat. Then the other workers take what is
        // in the ring, but not what is elsewhere.
        self.queue_again();
        // SAFETY: the seat is ours, and with it the tray and the ring.
        while let Some(task) = unsafe { seat.tray.take(&seat.ring) } {
            // SAFETY: tokens are put in, and each is taken out once.
            self.push_back(seat, unsafe { Notified::from_raw(task) });
        }
        if let Some(task) = self.take_slot() {
            self.push_back(seat, task);
        }
        if !seat.ring.is_empty() {
            self.shared.call(self.shared.idle.pushed(true));
        }
        self.count_forced_yields();
        self.seated.set(false);
        self.has_news.set(true);
        // Timers that start here from now on are another worker's.
        context::with(|context| context.wheel.set(None));
        seat.give_back();
        let handle = scheduler::Handle::MultiThread(self.shared.clone());
        let (shared, index) = (self.shared.clone(), self.number());
        let pool = &self.shared.common().blocking;
        // Mandatory, as the task may wait for what only a worker brings to an end.
        if (pool.spawn_mandatory(&handle, move || worker::run(shared, index))).is_none() {
            worker::start_late(&self.shared, self.number());
        }
    }
}

impl Drop for HandedOver {
    fn drop(&mut self) {
        // SAFETY: see `hand_over`.
        let worker = unsafe { &*self.0 };
        if worker.seat().take() {
            worker.seated.set(true);
            if let Some(wheels) = &worker.shared.common().time {
                wheels.attach_again(worker.number());
            }
            let counters = &worker.seat().counters;
            counters.is_run_by(std::thread::current().id());
        }
    }
}
