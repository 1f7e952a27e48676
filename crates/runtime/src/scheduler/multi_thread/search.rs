//! What a worker does that has run out of tasks: it searches, and then it sleeps.

use std::ptr::NonNull;
use std::time::{Duration, Instant};

use blitz_sync::internals::EventSpin;

use super::idle::Calls;
use super::seat::Seat;
use super::sleep::Sleeper;
use super::worker::Worker;
use crate::context;
use crate::runtime::metrics::Stopwatch;
use crate::task::{Header, Notified};

/// A sleep that was shorter than this would better not have been one.
const BRIEF: Duration = Duration::from_micros(100);

impl Worker {
    /// Looks for a task with the other workers, for a moment, and sleeps if there is
    /// none. `None` when it is worth while to look at one's own queues again.
    #[cold]
    pub(super) fn find_task(&self, busy: &mut Stopwatch) -> Option<Notified> {
        self.count_forced_yields();
        if self.may_search() {
            let mut spin = self.may_linger().then(EventSpin::new);
            loop {
                if let Some(task) = self.steal() {
                    self.own().begins(1);
                    return Some(task);
                }
                if self.sees_injected() || self.is_closed() {
                    return None;
                }
                if !spin.as_mut().is_some_and(EventSpin::turn) {
                    break;
                }
            }
        }
        self.seat().counters.busy(busy);
        self.sleep();
        *busy = Stopwatch::start();
        None
    }

    /// Whether to go on searching for a moment before sleeping. To sleep and be woken
    /// takes longer than many a pause between two tasks; but where pauses are long, it
    /// would be in vain each time. So it depends on how long the last sleep was.
    fn may_linger(&self) -> bool {
        self.own().slept_briefly.get() && !self.shared.idle.is_crowded()
    }

    fn may_search(&self) -> bool {
        let searching = &self.own().searching;
        if !searching.get() {
            searching.set(self.shared.idle.start_searching());
        }
        searching.get()
    }

    /// Found something.
    #[cold]
    pub(super) fn stop_searching(&self) {
        let own = self.own();
        own.searching.set(false);
        own.robs.set(false);
        self.shared.idle.found_work(self);
    }

    /// Takes half of what another worker has.
    pub(super) fn steal(&self) -> Option<Notified> {
        let workers = self.shared.workers();
        if workers == 1 {
            // No number is drawn: with a seed, the numbers are those of `select!` alone.
            return None;
        }
        let first = context::random(workers as u32) as usize;
        (first..first + workers)
            .map(|other| other % workers)
            .filter(|&other| other != self.number())
            .find_map(|other| self.steal_from(other))
    }

    fn steal_from(&self, other: usize) -> Option<Notified> {
        let (seat, victim) = (self.seat(), &self.shared.seats[other]);
        let in_hand = || victim.tray.len();
        if !victim.ring.is_worth_stealing_from(in_hand, pause) && !seat.own.robs.get() {
            return None;
        }
        // SAFETY: the seat is ours, and with it the ring, which is empty: a worker
        // searches when it has run out of tasks, and only it puts some there.
        let stolen = unsafe { victim.ring.steal_into(&seat.ring, in_hand()) };
        let (task, count) = match stolen {
            Some(stolen) => stolen,
            None if seat.own.robs.get() => self.rob(victim)?,
            None => return None,
        };
        seat.counters.steals.add(1);
        seat.counters.stolen.add(count as u64);
        // SAFETY: tokens are put in, and each is taken out once.
        Some(unsafe { Notified::from_raw(task) })
    }

    /// Takes what only its owner should have taken. The first is returned, with the number
    /// of those taken; the others are put into this worker's ring.
    #[cold]
    fn rob(&self, victim: &Seat) -> Option<(NonNull<Header>, usize)> {
        let mut first = None;
        let keep = |task| match first {
            None => first = Some(task),
            // SAFETY: tokens are put in, and each is taken out once.
            Some(_) => self.push_back(self.seat(), unsafe { Notified::from_raw(task) }),
        };
        // SAFETY: tray and ring are of one seat.
        let count = unsafe { victim.tray.rob(&victim.ring, keep) };
        match first {
            Some(first) => Some((first, count)),
            None => Some((victim.slot.rob()?, 1)),
        }
    }

    /// Sleeps until it is called, a timer fires, or it sees as the watchman that
    /// something stands still.
    fn sleep(&self) {
        self.free_tasks();
        let hooks = &self.shared.common().hooks;
        hooks.thread_park();
        // The hook may have made something ready.
        if !self.has_tasks() {
            self.begin_watch();
            let own = self.own();
            let began = Instant::now();
            own.searching
                .set(self.shared.idle.sleep(self, own.searching.get()));
            own.slept_briefly.set(began.elapsed() < BRIEF);
        }
        hooks.thread_unpark();
        let wheels = self.shared.common().time.as_ref();
        if wheels.is_some_and(|wheels| wheels.has_timers(self.number())) {
            // A task may block this thread before their time comes.
            self.shared.call(self.shared.idle.pushed(false));
        }
    }
}

impl Sleeper for Worker {
    #[inline]
    fn index(&self) -> usize {
        self.number()
    }

    fn sees_injected(&self) -> bool {
        !self.shared.inject.is_empty()
    }

    fn sees_any(&self) -> bool {
        self.sees_injected() || self.shared.seats.iter().any(|seat| !seat.ring.is_empty())
    }

    fn has_tasks(&self) -> bool {
        self.seat().has_tasks() || self.own().again.get().is_some()
    }

    fn is_closed(&self) -> bool {
        self.shared.is_closed()
    }

    /// Also wakes those whose time has come.
    fn park(&self) {
        let seat = self.seat();
        let wheels = self.shared.common().time.as_ref();
        let timer = wheels.and_then(|wheels| wheels.next_deadline(self.number()));
        let look = self.next_look();
        let deadline = [timer, look].into_iter().flatten().min();
        seat.counters.about_to_park();
        seat.driver.park(deadline);
        seat.counters.unparked();
        self.turn_timers();
    }

    fn stands_still(&self) -> bool {
        self.is_time_to_look() && self.look()
    }

    fn call(&self, calls: Calls) {
        self.shared.call(calls);
    }
}

/// Longer than a short poll takes, and shorter than it takes to wake a thread.
fn pause() {
    (0..128).for_each(|_| std::hint::spin_loop());
}
