//! Which workers sleep, which search, and which are woken.
//!
//! # States
//!
//! A worker is *awake* or *asleep*. An awake worker may be *searching*: it has no task and
//! looks for tasks of others. A sleeping worker is in one of two places:
//!
//! * *Parked*: it sleeps on a word of its own. Another thread calls it by its number.
//! * *Waiting*: it waits in a driver, for the events of the system and for timers. Several
//!   workers may wait in one driver, up to a limit. A call ends the wait of any one of them,
//!   so workers that wait are counted and not named.
//!
//! A worker with tasks that are pinned to its thread must be woken by name (`inbox.rs`). So it
//! waits in a driver in which no other thread waits, or parks, and no worker joins it there.
//!
//! No worker waits in a driver before a task needs one (`Idle::use_drivers`): to be called
//! in a driver costs more than on a word. Afterwards a worker that goes to sleep waits in
//! its own driver, or in another one if no worker waits there, and parks only where the
//! limit is reached. So more workers than the limit do not wake for the same events. The limit is
//! the number of processors that a driver has, so that a worker whose processor is taken away, or
//! whose task computes, delays no event. But where there are more workers than processors, it is one
//! as long as fewer workers are awake than there are processors: a second one that an event wakes
//! would take the processor away from those that work. If more are awake, then some of them
//! get on with nothing, and the others may be needed.
//!
//! One of the sleepers may be the *monitor*: a parked worker, or the workers that wait in
//! one driver together. It looks every few milliseconds whether another worker is stalled.
//!
//! One word counts the workers that are awake and those that search, and has a flag for
//! a monitor ([`MONITORED`]). A lock keeps where the workers sleep (`sleepers.rs`). Going
//! to sleep, getting up and calling happen under the lock; searching begins and ends without
//! it. A thread that only wants to know whether it must call a worker reads the word.
//!
//! # Which worker is called
//!
//! * A worker that puts a task where others may steal it calls a sleeper if no worker
//!   searches and fewer are awake than there are processors (the *processors rule*: one
//!   more would only take the processor away from those that work). A poll of the driver that
//!   makes no more tasks ready than the worker claims at once makes no call: to wake another
//!   worker takes as long as to run them.
//! * A thread that is no worker and puts a task into the inject queue does the same.
//! * A called worker counts as awake and searching from the call on. So of a burst of pushes
//!   one makes a call, and a push makes none while a worker searches.
//! * The last searcher that finds a task looks whether there is more, and calls the next
//!   worker if so. That is how a burst wakes as many workers as it needs.
//! * Workers that wait are called first. An event wakes one of them too, so if parked workers
//!   went first, more than fit on the processors would be awake.
//! * A worker that puts a task anywhere while others sleep and none of them is the monitor
//!   makes one the monitor. In a driver that takes no wake-up, if the driver has a timer.
//!
//! # A call reaches a worker that waits
//!
//! 1. The caller, under the lock, moves one worker from `waiting` to `called`, and counts it
//!    as awake and searching. Then it wakes the driver.
//! 2. A worker whose wait ends because of the wake-up takes a call, under the lock, if there
//!    is one.
//! 3. A worker that gets up for another reason, such as an event, takes a call if there is
//!    one. It leaves the wake-up to another worker, which finds no call and waits again.
//! 4. Several wake-ups of a driver may end one wait only. So a worker that gets up and leaves
//!    calls behind wakes the driver again ([`Calls`]).
//! 5. A thread that polls the driver without waiting may take a wake-up. It wakes the driver
//!    again if there are calls ([`Idle::passes_on`]).
//!
//! So while there is a call, a wake-up is pending in the driver, or a thread has taken it
//! and has not come to step 2, 4 or 5.
//!
//! # No task waits while every worker sleeps
//!
//! *In a worker's own queue*: only the worker puts tasks there (thieves bring them into
//! their own), and it never blocks before its queue is empty. On its way to sleep it gives
//! operations to the kernel, some of which complete at once, and so it looks again after that.
//! So while all sleep, all these queues are empty.
//!
//! *In the inject queue*:
//!
//! 1. The pusher publishes the task and then reads the word. A worker changes the word and
//!    then looks at the queue. Both are sequentially consistent, so one sees the other.
//! 2. If the pusher reads the word before a worker W goes to sleep, W sees the task when it
//!    looks, and gets up again.
//! 3. If the pusher reads it after the last worker has gone to sleep, then no worker searches
//!    and none is awake, and the pusher calls one.
//! 4. A searcher because of which the pusher makes no call looks at the queue after it has
//!    left the count of searchers, or after it has gone to sleep.
//!
//! # No event waits while a worker sleeps and all others do too
//!
//! 1. `Idle::use_drivers` is called before the first source is registered. Under the lock it
//!    calls as many sleepers as there are drivers, or all.
//! 2. A worker that goes to sleep afterwards waits in a driver in which no other waits, if
//!    there is one. So there are never more such drivers than workers that are awake: a worker
//!    that gets up makes one more of each, and one that goes to sleep one less.
//! 3. When all sleep, a worker waits in each driver.
//! 4. A worker with pinned tasks does not go to a driver from which a called worker has not got
//!    up. That worker is awake, and the only one that the driver is short of.
//!
//! # No task and no event waits for ever because a worker is stalled
//!
//! A task may block its thread. Others have to take the tasks in that worker's queues, in
//! its timers, and in a driver in which no other worker waits. While a worker is awake and
//! another sleeps, then
//!
//! > there is a monitor, or no awake worker has put a task anywhere since it got up.
//!
//! 1. A push makes a sleeper the monitor if there is none.
//! 2. A worker that goes to sleep while others are awake becomes the monitor if there is
//!    none.
//! 3. The monitor steps down only if no other worker is asleep, if none is awake, or by
//!    passing the role on.
//! 4. A pusher may read an old `MONITORED`. But the bit is cleared only while the pusher is
//!    not awake, or when no worker is asleep; and the pusher knows of the moment in which it
//!    got up itself.
//! 5. The monitor looks at all queues, and gets up to work when one has a task and its worker
//!    has not polled any since the last look.
//!
//! A monitor that has found all quiet for some looks (no worker has polled, no task is
//! queued) *dozes*: it sets [`DOZING`] and looks ever more rarely. A push that reads the bit
//! clears it and calls the monitor, which begins anew. A dozing monitor sleeps no longer than
//! until the next timer of a worker that may be stalled. A monitor that finds all asleep does not doze: it
//! stays for some looks, and then steps down.
//!
//! A source of events that is registered, or a timer that is started, counts as a push, and
//! so does waking up with some.
//!
//! A push to a worker's own queue reads the word without a fence. So it may overlook that the
//! last searcher has just gone to sleep. This costs time, and no task. The worker itself is
//! awake, the next push and the next maintenance look again, and the monitor
//! looks now and then even when it dozes.
//!
//! The counts of searchers and of those awake, and the chain of calls, are those of Go's
//! scheduler and of Tokio's. The monitor does, without a thread of its own, what Go's `sysmon`
//! does for processors whose thread is blocked.

#[cfg(feature = "inspect")]
pub mod asleep;

use blitz_io_core::Lock;
use blitz_io_core::awake::Workers;
use blitz_io_core::fences::after_rmw;
use blitz_io_futex::atomic::{AtomicUsize, Ordering};

pub use super::sleepers::Place;
use super::sleepers::Sleepers;

/// There is a monitor.
const MONITORED: usize = 1;
/// The monitor has found all quiet for a while, and looks rarely.
const DOZING: usize = 2;
/// One more worker searches.
const SEARCHING: usize = 4;
/// One more worker is awake.
const AWAKE: usize = 1 << (usize::BITS / 2);

/// Largest number of workers. It is below what the word can count: each worker has memory and a thread from the
/// beginning, so a larger number is a mistake, and rayon has the same limit.
pub const MOST_WORKERS: usize = {
    let counted = AWAKE / SEARCHING - 1;
    let usual = u16::MAX as usize;
    if counted < usual { counted } else { usual }
};

/// The word, taken apart.
#[derive(Clone, Copy)]
pub struct Count(usize);

impl Count {
    /// Returns the number of workers that are awake.
    pub fn awake(self) -> usize {
        self.0 / AWAKE
    }

    /// Returns the number of workers that search.
    pub fn searching(self) -> usize {
        self.0 % AWAKE / SEARCHING
    }

    /// Returns `true` if there is a monitor.
    pub fn is_monitored(self) -> bool {
        self.0 & MONITORED != 0
    }

    /// Returns `true` if the monitor looks rarely.
    pub fn is_dozing(self) -> bool {
        self.0 & DOZING != 0
    }

    /// Returns `true` if there is a monitor that looks every few milliseconds.
    fn is_well_monitored(self) -> bool {
        self.0 & (MONITORED | DOZING) == MONITORED
    }
}

/// The workers to be woken.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
#[must_use]
pub struct Calls {
    /// A worker here is awake now, and searching.
    pub to_work: Option<Place>,
    /// Workers here are the monitor now, and go on sleeping with a time-out.
    pub to_monitor: Option<Place>,
}

impl Calls {
    /// Returns the calls except those of worker `index`.
    pub fn without(self, index: usize) -> Calls {
        let other = |&called: &Place| called != Place::Parked(index);
        Calls {
            to_work: self.to_work.filter(other),
            to_monitor: self.to_monitor.filter(other),
        }
    }
}

/// The sleep states of all workers; see the module documentation.
#[repr(align(128))]
pub struct Idle {
    word: AtomicUsize,
    workers: usize,
    processors: usize,
    /// Largest number of workers that may wait in one driver.
    most_waiting: usize,
    sleepers: Lock<Sleepers>,
}

impl Idle {
    /// Creates the state in which all of `workers` are awake and not searching. At most `most_waiting`
    /// may wait in each of the `drivers`.
    pub fn new(workers: usize, processors: usize, drivers: usize, most_waiting: usize) -> Self {
        assert!(workers <= MOST_WORKERS, "too many workers");
        Self {
            word: AtomicUsize::new(workers * AWAKE),
            workers,
            processors,
            most_waiting,
            sleepers: Lock::new(Sleepers::new(workers, drivers)),
        }
    }

    /// Returns how many workers are awake and search, and whether there is a monitor.
    pub fn count(&self) -> Count {
        Count(self.word.load(Ordering::Relaxed))
    }

    /// Returns `true` if more workers are awake than there are processors.
    pub fn is_oversubscribed(&self) -> bool {
        self.count().awake() > self.processors
    }

    /// Returns `true` if a worker waits in each of so many drivers, or is about to. A worker that
    /// goes to sleep waits in a driver in which no other does, if there is one.
    #[inline]
    pub fn waits_in_each(&self, drivers: usize) -> bool {
        self.workers - self.count().awake() >= drivers
    }

    /// Returns `true` if one more worker may be woken to work.
    fn wants_worker(&self, count: Count) -> bool {
        count.searching() == 0 && count.awake() < self.processors.min(self.workers)
    }

    /// Calls workers after a push to a worker's own queue. `stealable`: others may take the task, also
    /// while the worker is busy.
    #[inline]
    pub fn pushed(&self, stealable: bool) -> Calls {
        let count = self.count();
        let calls_worker = stealable && self.wants_worker(count);
        if count.awake() == self.workers || (count.is_well_monitored() && !calls_worker) {
            return Calls::default();
        }
        self.call(stealable, true)
    }

    /// Calls workers after a push to the inject queue.
    pub fn injected(&self) -> Calls {
        after_rmw();
        let count = Count(self.word.load(Ordering::SeqCst));
        let awake = count.awake();
        if awake == self.workers || count.searching() > 0 {
            return Calls::default();
        }
        if awake >= self.processors && count.is_well_monitored() {
            return Calls::default();
        }
        self.call(true, awake >= self.processors)
    }

    #[cold]
    fn call(&self, worker: bool, monitor: bool) -> Calls {
        let mut sleepers = self.sleepers.lock();
        let mut calls = Calls::default();
        let had_monitor = sleepers.monitor.is_some();
        if worker && self.wants_worker(self.count()) {
            calls.to_work = self.call_to_work(&mut sleepers);
        }
        if sleepers.monitor.is_none() && (monitor || had_monitor) {
            calls.to_monitor = self.call_to_monitor(&mut sleepers);
        } else if monitor && self.count().is_dozing() {
            self.word.fetch_sub(DOZING, Ordering::SeqCst);
            calls.to_monitor = sleepers.monitor;
        }
        calls
    }

    fn call_to_work(&self, sleepers: &mut Sleepers) -> Option<Place> {
        let place = sleepers.call()?;
        self.word.fetch_add(AWAKE + SEARCHING, Ordering::SeqCst);
        self.step_down_from(sleepers, place);
        Some(place)
    }

    fn call_to_monitor(&self, sleepers: &mut Sleepers) -> Option<Place> {
        sleepers.monitor = sleepers.next_monitor();
        let monitored = if sleepers.monitor.is_some() {
            MONITORED
        } else {
            0
        };
        self.word.fetch_or(monitored, Ordering::SeqCst);
        sleepers.monitor
    }

    /// Ends the role of the monitor for a worker at `place` that is awake now, if it was alone there.
    fn step_down_from(&self, sleepers: &mut Sleepers, place: Place) -> bool {
        let steps_down = sleepers.monitor == Some(place) && !sleepers.has(place);
        if steps_down {
            self.end_monitor(sleepers);
        }
        steps_down
    }

    fn end_monitor(&self, sleepers: &mut Sleepers) {
        sleepers.monitor = None;
        self.word.fetch_and(!(MONITORED | DOZING), Ordering::SeqCst);
    }

    /// The monitor, at `place`, has found all quiet: it will look rarely, until a push calls
    /// it. `false` if it is not the monitor any more.
    pub fn doze(&self, place: Place) -> bool {
        let sleepers = self.sleepers.lock();
        let is_monitor = sleepers.monitor == Some(place);
        if is_monitor {
            self.word.fetch_or(DOZING, Ordering::SeqCst);
        }
        is_monitor
    }

    /// Returns `true` if the sleeping worker is the monitor, and has to sleep with a time-out.
    /// With no worker awake, the monitor steps down, unless it `stays`.
    pub fn is_monitor(&self, place: Place, stays: bool) -> bool {
        if !self.count().is_monitored() {
            return false;
        }
        let mut sleepers = self.sleepers.lock();
        if sleepers.monitor != Some(place) {
            return false;
        }
        let stays = stays || self.count().awake() > 0;
        if !stays {
            self.end_monitor(&mut sleepers);
        }
        stays
    }

    /// Lets workers wait in the drivers, which are so many, from now on. Calls one for each driver
    /// to do so, if those that sleep are parked.
    #[cfg(any(feature = "io", loom))]
    pub fn use_drivers(&self, drivers: usize, wake: impl FnMut(Place)) {
        let mut sleepers = self.sleepers.lock();
        if std::mem::replace(&mut sleepers.uses_drivers, true) {
            return;
        }
        let places: Vec<Place> = (0..drivers)
            .map_while(|_| self.call_to_work(&mut sleepers))
            .collect();
        drop(sleepers);
        places.into_iter().for_each(wake);
    }

    /// Returns `true` if a worker waits in this driver.
    pub fn is_attended(&self, driver: usize) -> bool {
        self.sleepers.lock().has(Place::Driver(driver))
    }

    /// A thread that does not wait has taken a wake-up of this driver. Whether it has to wake
    /// the driver again. A worker that was called needs that. So does a worker that waits: where
    /// there is no timer, a wake-up is also for an earlier deadline.
    pub fn passes_on(&self, driver: usize) -> bool {
        self.sleepers.lock().has_threads(driver)
    }

    /// Returns `true` if the worker with this number is not parked, or was called.
    pub fn was_called(&self, index: usize) -> bool {
        !self.sleepers.lock().has(Place::Parked(index))
    }

    /// Wakes all, for the end. A worker that goes to sleep later sees all writes
    /// before this call.
    pub fn wake_all(&self, wake: impl FnMut(Place)) {
        let mut sleepers = self.sleepers.lock();
        let called = std::iter::from_fn(|| self.call_to_work(&mut sleepers));
        let mut places: Vec<Place> = called.collect();
        drop(sleepers);
        // A worker that takes one of several calls wakes another one for the rest.
        places.dedup();
        places.into_iter().for_each(wake);
    }
}

impl Workers for Idle {
    fn awake(&self) -> usize {
        self.count().awake()
    }
}

// The steps of searching, going to sleep and getting up, in the order on which the proof rests.
// A trait has the worker's queues and its sleep, so that the model checker runs these same steps.

/// A worker, as far as sleeping goes.
pub trait Sleeper {
    /// Returns its number.
    fn index(&self) -> usize;

    /// Returns the number of its driver.
    fn driver(&self) -> usize;

    /// Returns `true` if the inject queue has something.
    fn sees_injected(&self) -> bool;

    /// Returns `true` if the inject queue or any ring has something.
    fn sees_any(&self) -> bool;

    /// Returns `true` if its own queues have something.
    fn has_tasks(&self) -> bool;

    /// Returns `true` if its ring has so many tasks that another worker should be woken for them.
    fn has_plenty(&self) -> bool;

    /// Returns `true` if the runtime is about to end.
    fn is_closed(&self) -> bool;

    /// Blocks the thread: a parked worker until it is unparked, a worker in a driver until an
    /// event, a wake-up or a timer. The monitor wakes up when it is time to look. Returns whether
    /// it may have been called: it was parked, or has taken a wake-up of the driver. If a task of
    /// its own queues becomes ready before it blocks, it does not block.
    fn sleep(&self, place: Place) -> bool;

    /// Returns `true` if it is the monitor and sees that another worker is stalled.
    fn sees_stalled(&self, place: Place) -> bool;

    /// Wakes those that were called.
    fn call(&self, calls: Calls);

    /// Returns `true` if tasks are pinned to its thread.
    fn has_pinned(&self) -> bool {
        false
    }

    /// Tells the threads that make pinned tasks ready where it sleeps, or that it is awake.
    /// Returns `true` if such a task is ready already.
    fn tell_place(&self, place: Option<Place>) -> bool {
        _ = place;
        false
    }
}

impl Idle {
    /// Lets a worker without work search, unless half of the workers do so already.
    pub fn start_searching(&self) -> bool {
        if self.count().searching() * 2 >= self.workers {
            return false;
        }
        self.word.fetch_add(SEARCHING, Ordering::SeqCst);
        true
    }

    /// Ends the search of a worker that has found something. The last one that searched calls the next
    /// if there is more.
    pub fn found_work(&self, sleeper: &impl Sleeper) {
        let before = Count(self.word.fetch_sub(SEARCHING, Ordering::SeqCst));
        after_rmw();
        if before.searching() > 1 {
            return;
        }
        if sleeper.has_tasks() {
            sleeper.call(self.pushed(sleeper.has_plenty()));
        } else if sleeper.sees_injected() {
            sleeper.call(self.injected());
        }
    }

    /// Sleeps until there is something to do. Returns `true` if the worker counts as searching
    /// from now on, as a called worker does.
    pub fn sleep(&self, sleeper: &impl Sleeper, searching: bool) -> bool {
        let (index, own) = (sleeper.index(), sleeper.driver());
        let (place, searched_last) = self.go_to_sleep(index, own, searching, sleeper.has_pinned());
        let has_work = if searched_last {
            sleeper.sees_any()
        } else {
            sleeper.sees_injected()
        };
        let has_pinned = sleeper.tell_place(Some(place));
        let searching = self.sleep_at(sleeper, place, has_work, has_pinned);
        sleeper.tell_place(None);
        searching
    }

    /// The worker goes to sleep. Then it looks again: at the inject queue, and at all queues if
    /// it was the last one that searched, which is returned with the place. If it finds a task, it
    /// must [`get_up`](Self::get_up) again.
    /// `exclusive`: it is to be woken by name, so no other worker waits in the same driver.
    pub fn go_to_sleep(
        &self,
        index: usize,
        own: usize,
        searching: bool,
        exclusive: bool,
    ) -> (Place, bool) {
        let mut sleepers = self.sleepers.lock();
        let becomes_monitor = sleepers.monitor.is_none() && self.count().awake() > 1;
        let place = sleepers.place(index, own, exclusive, self.most_waiting_now());
        sleepers.add(place, exclusive, becomes_monitor);
        let mut change = AWAKE;
        if searching {
            change += SEARCHING;
        }
        if becomes_monitor {
            change -= MONITORED;
        }
        let before = Count(self.word.fetch_sub(change, Ordering::SeqCst));
        drop(sleepers);
        after_rmw();
        (place, searching && before.searching() == 1)
    }

    /// Returns how many workers may wait in one driver while one goes to sleep; see the module
    /// documentation.
    fn most_waiting_now(&self) -> usize {
        let others_awake = self.count().awake() - 1;
        if self.workers > self.processors && others_awake < self.processors {
            self.most_waiting.min(1)
        } else {
            self.most_waiting
        }
    }

    fn sleep_at(
        &self,
        sleeper: &impl Sleeper,
        place: Place,
        has_work: bool,
        has_pinned: bool,
    ) -> bool {
        if has_work || sleeper.is_closed() {
            return self.rise(sleeper, place, true);
        }
        if has_pinned {
            return self.rise(sleeper, place, false);
        }
        loop {
            let may_be_called = sleeper.sleep(place);
            if sleeper.has_tasks() {
                // An event has happened, or a timer has fired.
                return self.rise(sleeper, place, false);
            }
            if sleeper.sees_stalled(place) || sleeper.is_closed() {
                return self.rise(sleeper, place, true);
            }
            if may_be_called {
                let calls = take_call(&mut self.sleepers.lock(), place);
                if let Some(calls) = calls {
                    sleeper.call(calls);
                    return true;
                }
            }
        }
    }

    /// Gets up without having been called.
    fn rise(&self, sleeper: &impl Sleeper, place: Place, searching: bool) -> bool {
        let (calls, searching) = self.get_up(place, searching);
        sleeper.call(calls);
        searching
    }

    /// Wakes the sleeping worker, which was not called, as a searcher if it is
    /// going to search. Also returns whether it is a searcher: a call at the same time makes it
    /// one.
    pub fn get_up(&self, place: Place, searching: bool) -> (Calls, bool) {
        let mut sleepers = self.sleepers.lock();
        if let Some(calls) = take_call(&mut sleepers, place) {
            return (calls, true);
        }
        sleepers.remove(place);
        let mut calls = Calls::default();
        let others = self.count().awake() > 0;
        if self.step_down_from(&mut sleepers, place) && others {
            calls.to_monitor = self.call_to_monitor(&mut sleepers);
        }
        let search = if searching { SEARCHING } else { 0 };
        self.word.fetch_add(AWAKE + search, Ordering::SeqCst);
        (calls, searching)
    }
}

/// Takes a call for a worker at `place`, if there is one: it is awake, and counts as searching. It
/// calls another worker for the rest.
fn take_call(sleepers: &mut Sleepers, place: Place) -> Option<Calls> {
    let has_more = sleepers.take_call(place)?;
    Some(Calls {
        to_work: has_more.then_some(place),
        to_monitor: None,
    })
}

#[cfg(all(test, feature = "io", not(loom)))]
mod tests {
    use super::*;

    /// Returns how many workers wait in the driver after all have gone to sleep, one by one.
    fn waiting(workers: usize, processors: usize) -> usize {
        let idle = Idle::new(workers, processors, 1, workers.min(processors));
        idle.use_drivers(1, |place| panic!("{place:?}: all are awake"));
        let places = (0..workers).map(|index| idle.go_to_sleep(index, 0, false, false).0);
        places.filter(|&place| place == Place::Driver(0)).count()
    }

    #[test]
    fn workers_that_have_a_processor_each_wait_together() {
        assert_eq!(waiting(2, 2), 2);
        assert_eq!(waiting(2, 4), 2);
        assert_eq!(waiting(4, 4), 4);
    }

    #[test]
    fn of_more_workers_than_processors_one_waits_unless_others_fill_the_processors() {
        assert_eq!(waiting(8, 1), 1);
        // One is awake when the second one goes to sleep.
        assert_eq!(waiting(3, 2), 1);
        // Two are.
        assert_eq!(waiting(4, 2), 2);
        assert_eq!(waiting(8, 2), 2);
    }
}
