//! A worker that has run out of tasks: it searches, and then it sleeps.

use std::time::{Duration, Instant};

use blitz_io_core::Spin;
use blitz_io_observe as observe;

use super::progress::STALLED;
use super::worker::Worker;
use crate::api::hooks;
use crate::api::metrics::Stopwatch;
use crate::kernel::context;
use crate::kernel::idle::{Calls, Place, Sleeper};
use crate::kernel::task::Notified;

/// Shorter parks should have been spins.
const BRIEF: Duration = Duration::from_micros(100);

/// Looks for a task with the other workers, for a moment, and sleeps if there is
/// none. `None` when the worker should look at its own queues again.
#[cold]
pub(super) fn find_task(worker: &Worker) -> Option<Notified> {
    worker.count_forced_yields();
    if may_search(worker) {
        let mut spin = may_linger(worker).then_some(Spin::EVENT);
        loop {
            if let Some(task) = steal(worker) {
                worker.begins(worker.core(), 1);
                return Some(task);
            }
            if worker.sees_injected() || worker.has_ready_pinned() || worker.is_closed() {
                return None;
            }
            if !spin.as_mut().is_some_and(Spin::turn) {
                break;
            }
        }
    }
    worker.count_busy();
    sleep(worker);
    let now = Stopwatch::start();
    worker.core().local.busy.set(now);
    observe::cache_time_after_sleep();
    if let Some(wheels) = &worker.shared.base.common.time {
        wheels.look_at(worker.index, now.started());
    }
    None
}

/// Returns `true` if the worker should search for a moment before it sleeps. To sleep and be woken
/// takes longer than many a pause between two tasks; but where pauses are long, spinning
/// would find nothing. So it depends on how long the last park was.
fn may_linger(worker: &Worker) -> bool {
    worker.core().local.parked_briefly.get()
        && !worker.shared.idle.is_oversubscribed()
        // The system's events are seen only by a worker that waits in a driver.
        && !worker.shared.drivers.are_in_use()
}

fn may_search(worker: &Worker) -> bool {
    let searching = &worker.core().local.searching;
    if !searching.get() {
        searching.set(worker.shared.idle.start_searching());
    }
    searching.get()
}

/// Takes half of what another worker has.
pub(super) fn steal(worker: &Worker) -> Option<Notified> {
    let workers = worker.shared.cores.len();
    if workers == 1 {
        // No number is drawn: with a seed, the numbers are those of `select!` alone.
        return None;
    }
    let first = context::random(workers as u32) as usize;
    (first..first + workers)
        .map(|other| other % workers)
        .filter(|&other| other != worker.index)
        .find_map(|other| steal_from(worker, other))
}

fn steal_from(worker: &Worker, other: usize) -> Option<Notified> {
    let (core, victim) = (worker.core(), &worker.shared.cores[other]);
    let reclaims = core.local.reclaims.get()
        || victim.queue.has_claimed()
            && core.local.progress[other].stands_for(&victim.counters) >= STALLED;
    if !victim.queue.is_worth_stealing_from(pause) && !reclaims {
        return None;
    }
    // SAFETY: this thread has the core, and with it the queue, whose ring is empty: a worker
    // searches when it has run out of tasks, and only it puts some there.
    let (task, count) = unsafe {
        match victim.queue.steal_into(&core.queue) {
            None if reclaims => victim.queue.reclaim_into(&core.queue)?,
            stolen => stolen?,
        }
    };
    core.counters.steals.add(1);
    core.counters.stolen.add(count as u64);
    Some(task)
}

/// Sleeps until it is called, a timer fires, or it sees as the monitor that another worker
/// is stalled.
fn sleep(worker: &Worker) {
    worker.free_tasks();
    let hooks = &worker.shared.base.common.hooks;
    hooks::call(hooks.on_thread_park.as_ref());
    // The hook may have made something ready.
    if !worker.has_tasks() {
        let local = &worker.core().local;
        let began = Instant::now();
        let searching = worker.shared.idle.sleep(worker, local.searching.get());
        local.searching.set(searching);
        local.parked_briefly.set(began.elapsed() < BRIEF);
    }
    hooks::call(hooks.on_thread_unpark.as_ref());
    let wheels = worker.shared.base.common.time.as_ref();
    let has_timers = wheels.is_some_and(|wheels| wheels.has_timers(worker.index));
    if has_timers || worker.has_tasks() || worker.shared.drivers.are_in_use() {
        // A task may block this thread before their time comes.
        worker.notify_pushed(worker.has_plenty());
    }
}

impl Sleeper for Worker {
    #[inline]
    fn index(&self) -> usize {
        self.index
    }

    fn driver(&self) -> usize {
        self.shared.driver_of(self.index)
    }

    fn sees_injected(&self) -> bool {
        !self.shared.inject.is_empty()
    }

    fn sees_any(&self) -> bool {
        let mut cores = self.shared.cores.iter();
        self.sees_injected() || cores.any(|core| core.queue.has_stealable())
    }

    fn has_tasks(&self) -> bool {
        self.core().queue.has_tasks() || self.has_yielded() || self.has_ready_pinned()
    }

    fn has_pinned(&self) -> bool {
        self.pins()
    }

    fn tell_place(&self, place: Option<Place>) -> bool {
        self.tell_pushers(place)
    }

    /// More tasks than the worker would claim next: to wake another one for fewer takes longer
    /// than to run them.
    fn has_plenty(&self) -> bool {
        let core = self.core();
        core.queue.stealable() > core.local.tuning.claimed()
    }

    fn is_closed(&self) -> bool {
        self.shared.is_closed()
    }

    /// Also wakes the tasks whose time has come.
    fn sleep(&self, place: Place) -> bool {
        let core = self.core();
        core.counters.about_to_park();
        self.parking.set(true);
        let deadline = deadline(self, place);
        let may_be_called = match place {
            Place::Parked(_) => {
                // The flush may have completed an operation that a task of this worker waits for.
                if !Sleeper::has_tasks(self) {
                    core.parker.park(deadline);
                }
                self.turn_timers();
                true
            }
            Place::Driver(driver) => {
                let reports = self.shared.drivers.wait(driver, deadline);
                // The deadline was that of all timers, so all that are due have to go.
                self.shared.turn_due_timers();
                self.shared.take_expiry(driver, reports);
                reports.woken
            }
        };
        core.counters.unparked();
        self.parking.set(false);
        may_be_called
    }

    fn sees_stalled(&self, place: Place) -> bool {
        let Some(found) = self.shared.monitor.look(&self.shared, place) else {
            return false;
        };
        if found.claimed {
            self.core().local.reclaims.set(true);
        }
        found.work || Sleeper::has_tasks(self)
    }

    fn call(&self, calls: Calls) {
        self.unpark_called(calls);
    }
}

/// Returns the time until which the worker may sleep. Workers that wait in a driver wake for all
/// timers: the other workers may be stalled, or parked.
fn deadline(worker: &Worker, place: Place) -> Option<Instant> {
    let (shared, driver) = (&worker.shared, worker.driver());
    let wheels = shared.base.common.time.as_ref();
    let own = wheels.and_then(|wheels| wheels.next_deadline(worker.index));
    if place != Place::Driver(driver) {
        // The wait would have done it.
        shared.drivers.flush(driver);
    }
    let timer = match place {
        Place::Driver(_) => [own, shared.earliest_timer()].into_iter().flatten().min(),
        Place::Parked(_) => own.filter(|&own| !shared.drivers.wake_by(driver, own)),
    };
    let look = shared.monitor.next_look(shared, place);
    [timer, look].into_iter().flatten().min()
}

/// Longer than a short poll takes, and shorter than it takes to wake a thread.
fn pause() {
    blitz_io_core::pause::pause(128);
}
