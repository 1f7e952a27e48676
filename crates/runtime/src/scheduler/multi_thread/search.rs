//! What a worker does that has run out of tasks: it searches, and then it sleeps.

use std::time::Instant;

use blitz_sync::internals::Spin;

use super::idle::Asleep;
use super::worker::Worker;
use crate::context;
use crate::runtime::metrics::Stopwatch;
use crate::task::Notified;

impl Worker {
    /// Looks for a task with the other workers, for a moment, and sleeps if there is
    /// none. `None` when it is worth while to look at one's own queues again.
    #[cold]
    pub(super) fn find_task(&self, busy: &mut Stopwatch) -> Option<Notified> {
        self.count_forced_yields();
        if self.may_search() {
            if let Some(task) = self.steal() {
                return Some(task);
            }
            if self.linger() {
                return None;
            }
        }
        self.seat().counters.busy(busy);
        self.sleep();
        *busy = Stopwatch::start();
        None
    }

    fn may_search(&self) -> bool {
        let searching = &self.own().searching;
        if !searching.get() {
            searching.set(self.shared.idle.start_searching());
        }
        searching.get()
    }

    /// Found something. The last one who searched calls the next if there is more.
    #[cold]
    pub(super) fn stop_searching(&self) {
        let own = self.own();
        own.searching.set(false);
        own.robs.set(false);
        if self.shared.idle.found() {
            if !self.seat().ring.is_empty() {
                self.shared.call(self.shared.idle.pushed(true));
            } else if !self.shared.inject.is_empty() {
                self.shared.call(self.shared.idle.injected());
            }
        }
    }

    /// Takes half of what another worker has.
    fn steal(&self) -> Option<Notified> {
        let workers = self.shared.workers();
        let first = context::random(workers as u32) as usize;
        (first..first + workers)
            .map(|other| other % workers)
            .filter(|&other| other != self.index())
            .find_map(|other| self.steal_from(other))
    }

    fn steal_from(&self, other: usize) -> Option<Notified> {
        let (seat, victim) = (self.seat(), &self.shared.seats[other]);
        // SAFETY: the seat is ours, and with it the ring, which is empty: a worker
        // searches when it has run out of tasks, and only it puts some there.
        let stolen = unsafe { victim.ring.steal_into(&seat.ring) };
        let (task, count) = match stolen {
            Some(stolen) => stolen,
            None if seat.own.robs.get() => (victim.slot.take()?, 1),
            None => return None,
        };
        seat.counters.steals.add(1);
        seat.counters.stolen.add(count as u64);
        // SAFETY: tokens are put in, and each is taken out once.
        Some(unsafe { Notified::from_raw(task) })
    }

    /// Waits for a moment for something to do, since to sleep and to be woken takes
    /// longer than most pauses between two tasks. Whether there is something.
    fn linger(&self) -> bool {
        if self.shared.idle.is_crowded() {
            return false;
        }
        let mut spin = Spin::new();
        while spin.turn() {
            if self.sees_work() || self.shared.is_closed() {
                return true;
            }
        }
        false
    }

    /// Whether the inject queue or another worker's ring has something.
    fn sees_work(&self) -> bool {
        !self.shared.inject.is_empty() || self.shared.seats.iter().any(|seat| !seat.ring.is_empty())
    }

    /// Whether this worker has something in its own queues.
    fn has_tasks(&self) -> bool {
        self.seat().has_tasks() || self.own().again.get().is_some()
    }

    /// Sleeps until it is called, a timer fires, or it sees as the watchman that
    /// something stands still.
    fn sleep(&self) {
        let hooks = &self.shared.common().hooks;
        hooks.thread_park();
        // The hook may have made something ready.
        if !self.has_tasks() {
            self.sleep_soundly();
        }
        hooks.thread_unpark();
    }

    fn sleep_soundly(&self) {
        let (idle, index) = (&self.shared.idle, self.index());
        let searching = self.own().searching.replace(false);
        let has_work = match idle.go_to_sleep(index, searching) {
            Asleep::LookAtInject => !self.shared.inject.is_empty(),
            Asleep::LookAtAll => self.sees_work(),
        };
        if has_work || self.shared.is_closed() {
            return self.get_up(true);
        }
        self.begin_watch();
        while !idle.was_called(index) {
            self.park();
            if self.has_tasks() {
                // A timer has fired.
                return self.get_up(false);
            }
            if self.stands_still() || self.shared.is_closed() {
                return self.get_up(true);
            }
        }
        self.own().searching.set(true);
    }

    /// Gets up without having been called.
    fn get_up(&self, searching: bool) {
        let calls = self.shared.idle.get_up(self.index(), searching);
        self.own().searching.set(searching || calls.is_err());
        if let Ok(calls) = calls {
            self.shared.call(calls);
        }
    }

    /// Parks the thread until something happens or the next timer is due, and wakes
    /// those whose time has come.
    fn park(&self) {
        let seat = self.seat();
        let wheels = self.shared.common().time.as_ref();
        let timer = wheels.and_then(|wheels| wheels.next_deadline(self.index()));
        let watch = self.next_look();
        let deadline = [timer, watch].into_iter().flatten().min();
        seat.counters.about_to_park();
        if deadline.is_none_or(|deadline| deadline > Instant::now()) {
            seat.driver.park(deadline);
        }
        seat.counters.unparked();
        self.turn_timers();
    }
}
