//! What all threads know of a multi-thread scheduler.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use blitz_io_core::Lock;
use blitz_io_core::awake::{self, Registered};
use blitz_io_futex::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::monitor::{self, Monitor};
use super::worker_core::Core;
use crate::api::common::Common;
use crate::api::drivers::{Drivers, Reports};
use crate::api::metrics::Counters;
use crate::api::pool::Spawner;
use crate::api::scheduler::reference::Base;
use crate::kernel::idle::{Calls, Idle, Place};
use crate::kernel::inject::Inject;
use crate::kernel::task::Notified;

/// The shared state of a multi-thread scheduler.
pub(crate) struct Shared {
    /// Dropped first: until then the counter reads the number of awake workers from `idle`.
    registered: Lock<Option<Registered>>,
    /// One for each worker.
    pub(super) cores: Box<[Core]>,
    pub(super) inject: Inject<Notified>,
    pub(crate) idle: Idle,
    pub(super) drivers: Drivers,
    pub(super) monitor: Monitor,
    /// The runtime is about to end.
    closed: AtomicBool,
    /// Number of workers that have shut down.
    pub(super) shut_down: AtomicUsize,
    pub(crate) base: Base,
}

impl Shared {
    pub(super) fn new(common: Common, pool: Spawner) -> Self {
        let workers = common.config.worker_threads;
        let processors = blitz_io_core::processors();
        let drivers = Drivers::of(&common);
        let most_waiting = drivers.most_waiting(workers, processors);
        Self {
            registered: Lock::new(None),
            cores: (0..workers).map(|_| Core::new(&common)).collect(),
            inject: Inject::new(),
            idle: Idle::new(workers, processors, drivers.len(), most_waiting),
            drivers,
            monitor: Monitor::new(workers),
            closed: AtomicBool::new(false),
            shut_down: AtomicUsize::new(0),
            base: Base::new(common, pool),
        }
    }

    /// Lets others in this process know how many workers are awake.
    pub(super) fn register(this: &Arc<Self>) {
        // SAFETY: neither moves, and `registered` is dropped before `idle`.
        let registered = unsafe { awake::register(&this.idle) };
        *this.registered.lock() = Some(registered);
    }

    /// Returns the number of a worker's own driver.
    pub(super) fn driver_of(&self, worker: usize) -> usize {
        worker % self.drivers.len()
    }

    /// Wakes the tasks whose events have happened in a driver. For a worker that does not
    /// wait there.
    #[inline]
    pub(super) fn poll_driver(&self, driver: usize) {
        let reports = self.drivers.poll(driver);
        if reports.woken && self.idle.passes_on(driver) {
            self.drivers.wake(driver);
        }
        self.take_expiry(driver, reports);
    }

    /// Handles the event of the timer, if a poll has taken it: wakes the tasks whose time has come in any
    /// worker's timers, and sets the timer for those that come next.
    #[inline]
    pub(super) fn take_expiry(&self, driver: usize, reports: Reports) {
        if reports.expired {
            self.turn_all_timers(driver);
        }
    }

    #[cold]
    fn turn_all_timers(&self, driver: usize) {
        self.turn_due_timers();
        let look = self.monitor.next_look(self, Place::Driver(driver));
        if let Some(next) = [self.earliest_timer(), look].into_iter().flatten().min() {
            self.drivers.wake_by(driver, next);
        }
    }

    /// Wakes the tasks whose time has come in any worker's timers.
    pub(super) fn turn_due_timers(&self) {
        if let Some(wheels) = &self.base.common.time {
            for worker in 0..self.cores.len() {
                _ = wheels.turn_if_due(worker);
            }
        }
    }

    /// Returns the time at which the first timer of any worker is due, or an earlier one.
    pub(super) fn earliest_timer(&self) -> Option<Instant> {
        let wheels = self.base.common.time.as_ref()?;
        let timers = (0..self.cores.len()).filter_map(|worker| wheels.earliest(worker));
        timers.min()
    }

    /// Takes the next task of the inject queue.
    #[inline]
    pub(super) fn next_injected(&self) -> Option<Notified> {
        self.inject.pop()
    }

    #[inline]
    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Begins the end: the workers cancel all tasks and shut down.
    pub(crate) fn close(&self) {
        if !self.closed.swap(true, Ordering::SeqCst) {
            drop(self.registered.lock().take());
            self.idle.wake_all(|place| self.wake(place));
        }
    }

    pub(super) fn wake(&self, place: Place) {
        match place {
            Place::Parked(index) => self.cores[index].parker.unpark(),
            Place::Driver(driver) => self.drivers.wake(driver),
        }
    }

    /// Wakes those that were called.
    #[inline]
    pub(super) fn unpark_called(&self, calls: Calls) {
        if calls != Calls::default() {
            self.unpark_all(calls, None);
        }
    }

    /// Wakes the called workers, except for the caller if it is awake.
    #[cold]
    pub(super) fn unpark_all(&self, calls: Calls, caller: Option<usize>) {
        let calls = caller.map_or(calls, |index| calls.without(index));
        if let Some(place) = calls.to_work {
            self.wake(place);
        }
        match calls.to_monitor {
            Some(Place::Driver(driver)) if self.drivers.wake_by(driver, monitor::first_look()) => {}
            Some(place) => self.wake(place),
            None => {}
        }
    }

    /// A timer was started in the wheel of the worker at `index` by another thread, and is due
    /// before all others there.
    pub(crate) fn unpark(&self, index: usize) {
        if !self.is_timer_set_for(index) {
            self.cores[index].parker.unpark();
            if self.drivers.are_in_use() {
                self.drivers.wake(self.driver_of(index));
            }
        }
        if self.idle.was_called(index) {
            // It is awake, and may be stalled.
            self.unpark_called(self.idle.pushed(false));
        }
    }

    /// Makes the timer of a worker's driver expire when its own timers do. `false` if there
    /// is none, or no worker waits in drivers.
    pub(super) fn is_timer_set_for(&self, index: usize) -> bool {
        let wheels = self.base.common.time.as_ref();
        let earliest = wheels.and_then(|wheels| wheels.earliest(index));
        earliest.is_some_and(|at| self.drivers.wake_by(self.driver_of(index), at))
    }

    /// Returns the number of tasks in the queue that no worker owns.
    pub(crate) fn injected(&self) -> usize {
        self.inject.len()
    }

    /// Returns the number of tasks in a worker's own queue.
    #[track_caller]
    pub(crate) fn queued(&self, worker: usize) -> usize {
        self.cores[worker].queue.depth()
    }

    /// Returns the counters of a worker.
    #[track_caller]
    pub(crate) fn counters(&self, worker: usize) -> &Counters {
        &self.cores[worker].counters
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("multi_thread::Handle { ... }")
    }
}
