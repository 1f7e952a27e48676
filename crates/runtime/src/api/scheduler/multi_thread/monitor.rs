//! The monitor: sleeping workers that look every few milliseconds whether another worker is
//! stalled.
//!
//! The role belongs to one parked worker, or to the workers that wait in one driver
//! (`idle.rs`); then the worker whose wait the timer ends takes the look. The state of the
//! monitor is shared, so a role that moves from worker to worker continues from that state.
//!
//! A look compares how many polls each worker has made, and how many tasks were taken from the
//! inject queue, with the numbers of the look before. If there is a task and the number is the
//! same, then the worker is stalled: its thread is blocked, or its task takes long. The looking
//! worker gets up to work, and takes the task. It also wakes the tasks whose time has come in
//! such a worker's timers. If no worker polls tasks, then none polls the drivers, and the monitor
//! also wakes the tasks whose events have happened.
//!
//! When no worker has polled since the last look, no task is queued, and a worker waits in
//! each driver, there is nothing to find until a worker runs again. So the monitor looks less and
//! less often, and announces that ([`Idle::doze`](crate::kernel::idle::Idle::doze)): a push then calls it. It
//! still looks when the next timer of another worker is due.
//!
//! When all workers sleep, the monitor stays for a while, as one of them may wake soon, and to
//! be made the monitor again would cost a wake-up each time.

use std::time::{Duration, Instant};

use blitz_io_sync::thread::Mutex;

use super::progress::{BLOCKED, Progress};
use super::shared::Shared;
use crate::kernel::idle::Place;

/// The first interval between two looks.
const FIRST: Duration = Duration::from_millis(1);
/// Each time that the monitor finds nothing this doubles, up to here.
const LAST: Duration = Duration::from_millis(4);
/// And up to here when it finds all asleep. A worker may get up to a long task just then, and
/// only the look after the next one sees that.
const LAST_ASLEEP: Duration = Duration::from_millis(2);
/// And up to here while all is quiet, so that the looks cost next to nothing.
const LAST_DOZING: Duration = Duration::from_millis(256);
/// The pause while no worker waits in a driver with sources. All workers of that driver are awake,
/// and may block their threads at the same time.
const UNATTENDED: Duration = Duration::from_micros(500);
/// Time that the monitor stays after the last poll that it has seen, while all sleep: a few
/// looks, as to be made the monitor again costs about as much.
const STAYS: Duration = Duration::from_millis(8);

/// Returns the time of the first look of a worker that has just become the monitor.
pub(super) fn first_look() -> Instant {
    Instant::now() + FIRST
}

/// The monitor's state; see the module documentation.
pub(super) struct Monitor(Mutex<Seen>);

/// The findings of the last look.
struct Seen {
    /// The polls of each worker.
    progress: Box<[Progress]>,
    /// Number of tasks that had been taken from the inject queue.
    taken: usize,
    /// The time of the next look. `None` while there is no monitor.
    next: Option<Instant>,
    /// The interval from the last look to the next one, but for timers.
    pause: Duration,
    dozes: bool,
    /// All slept when it looked then.
    all_slept: bool,
    /// Workers had polled when it looked then.
    polled: Option<Instant>,
}

/// Work of stalled workers that a look has found.
pub(super) struct Found {
    /// There is something to do.
    pub(super) work: bool,
    /// Some of it may have been claimed.
    pub(super) claimed: bool,
    /// No worker has polled a task, and so none polls the drivers.
    none_polls: bool,
}

impl Monitor {
    pub(super) fn new(workers: usize) -> Self {
        Self(Mutex::new(Seen {
            progress: Progress::of_all(workers),
            taken: usize::MAX,
            next: None,
            pause: FIRST,
            dozes: false,
            all_slept: false,
            polled: None,
        }))
    }

    /// Returns the time at which a worker that sleeps at `place` has to look next, if it is the monitor.
    pub(super) fn next_look(&self, shared: &Shared, place: Place) -> Option<Instant> {
        let mut seen = self.0.lock();
        let polled = |polled: Instant| polled.elapsed() < STAYS;
        // A monitor that has just been called may come when the others sleep again.
        let stays = seen.next.is_none() || seen.polled.is_some_and(polled);
        if !shared.idle.is_monitor(place, stays) {
            if !shared.idle.count().is_monitored() {
                (seen.next, seen.polled) = (None, None);
            }
            return None;
        }
        if seen.next.is_none() {
            seen.remember(shared);
            seen.schedule(shared, FIRST, false);
        } else if seen.dozes && !shared.idle.count().is_dozing() {
            // It was called, because there is something to see.
            seen.schedule(shared, FIRST, false);
        }
        seen.next
    }

    /// If the monitor is at `place` and it is time, looks at all queues, timers and drivers.
    /// Returns the findings; `None` if it is not time.
    pub(super) fn look(&self, shared: &Shared, place: Place) -> Option<Found> {
        if !shared.idle.is_monitor(place, true) {
            return None;
        }
        let found = {
            let mut seen = self.0.try_lock()?;
            if seen.next.is_none_or(|next| Instant::now() < next) {
                return None;
            }
            seen.look(shared, place)
        };
        // The tasks that this wakes are ready on this thread. It may ask for the next look.
        shared.turn_due_timers();
        for driver in 0..shared.drivers.len() {
            // A worker that polls tasks polls its own driver, too.
            let is_polled = !found.none_polls && shared.drivers.len() == 1;
            if !is_polled && !shared.idle.is_attended(driver) {
                shared.poll_driver(driver);
            }
        }
        Some(found)
    }
}

impl Seen {
    fn remember(&mut self, shared: &Shared) {
        for (progress, core) in self.progress.iter().zip(&shared.cores) {
            progress.stands_for(&core.counters);
        }
        self.taken = shared.inject.taken();
    }

    /// Sets the time of the next look.
    fn schedule(&mut self, shared: &Shared, pause: Duration, dozes: bool) {
        self.pause = pause;
        self.dozes = dozes;
        let next = Instant::now() + pause;
        let timer = shared.earliest_timer().filter(|_| dozes);
        self.next = Some(timer.map_or(next, |timer| next.min(timer)));
    }

    fn look(&mut self, shared: &Shared, place: Place) -> Found {
        let injected = !shared.inject.is_empty();
        let mut found = Found {
            work: injected && shared.inject.taken() == self.taken,
            claimed: false,
            none_polls: true,
        };
        let mut is_quiet = !injected;
        for (core, progress) in shared.cores.iter().zip(&self.progress) {
            let stands_for = progress.stands_for(&core.counters);
            if stands_for.is_zero() {
                found.none_polls = false;
                self.polled = Some(Instant::now());
            } else if core.queue.has_tasks() {
                is_quiet = false;
                found.claimed = true;
                found.work |= stands_for >= BLOCKED;
            }
        }
        found.work |= found.claimed && found.none_polls;
        is_quiet &= found.none_polls;
        let attended =
            |driver| !shared.drivers.has_sources(driver) || shared.idle.is_attended(driver);
        let is_attended = (0..shared.drivers.len()).all(attended);
        is_quiet &= is_attended;
        self.taken = shared.inject.taken();
        let all_asleep = shared.idle.count().awake() == 0;
        let dozes = is_quiet && !all_asleep && self.pause >= LAST && shared.idle.doze(place);
        let most = match (dozes, all_asleep) {
            _ if !is_attended => UNATTENDED,
            (true, _) => LAST_DOZING,
            (false, true) => LAST_ASLEEP,
            (false, false) => LAST,
        };
        let gets_up = self.all_slept && !all_asleep;
        self.all_slept = all_asleep;
        let pause = if gets_up { FIRST } else { self.pause * 2 };
        self.schedule(shared, pause.min(most), dozes);
        found
    }
}
