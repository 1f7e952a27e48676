//! Which workers sleep, which search, and which are woken.
//!
//! # States
//!
//! A worker is *awake* or *asleep*. While it is awake it may be *searching*: it has
//! no task and looks whether others have. One of the sleepers may be the *monitor*: it
//! sleeps, too, but gets up every few milliseconds to see whether another worker is
//! stalled.
//!
//! One word counts the workers that are awake and those that search, and says whether there
//! is a monitor ([`MONITORED`]). The sleepers, and the monitor, are listed under a lock. Going
//! to sleep, getting up and being called happen under the lock; searching begins and
//! ends without it. A thread that only wants to know whether any worker has to be called
//! reads the word.
//!
//! # Which worker is called
//!
//! * A worker that puts a task where others may steal it calls a sleeper if no worker
//!   searches and fewer are awake than there are processors (the *processors rule*: one
//!   more would only take the processor away from those that work). Not for what the events of
//!   one poll have made ready, if it is as little as the worker claims at a time: to wake
//!   another one takes as long as to run that.
//! * A thread that is no worker and puts a task into the inject queue does the same.
//! * A worker that is called counts as awake and searching from that moment on. So of a burst
//!   of pushes one makes a call, and a push makes none while a worker searches.
//! * The last one that ends its search with success looks whether there is more, and
//!   calls the next if so. That is how a burst wakes as many as it needs.
//! * A worker that puts a task anywhere while others sleep and none of them is the monitor
//!   makes one the monitor. That one need not wake up for it, if its driver has a timer: it is
//!   told by the time of its first look.
//!
//! # No task waits while every worker sleeps
//!
//! *In a worker's own queue*: only the worker puts tasks there (thieves bring them into
//! their own), and it never goes to sleep before its queue is empty. So while all
//! sleep, all these queues are empty.
//!
//! *In the inject queue*: the pusher publishes the task and then reads the word; a
//! worker changes the word and then looks at the queue. Both are sequentially
//! consistent, so one of the two sees the other. Say the pusher reads the word before a
//! worker W goes to sleep: then W, when it looks, sees the task, and gets up again. If
//! the pusher reads it after the last worker has gone to sleep, then no worker searches and
//! none is awake, and it calls one. A searcher that the pusher has seen, and because
//! of which it calls no worker, either looks at the queue after it has left the count of
//! searchers, or it is asleep and has looked after that.
//!
//! # No task waits for ever because a worker is stalled
//!
//! A task may block its thread, and what waits in that worker's queue has to be taken
//! by others. While a worker is awake and another sleeps, then
//!
//! > there is a monitor, or no awake worker has put a task anywhere since it got up.
//!
//! For a push makes sure that there is one; a worker that goes to sleep while others are
//! awake becomes the monitor if there is none; and a monitor steps down only when no other
//! worker is asleep, when none is awake, or by passing the role on: a monitor that gets up to
//! work makes another sleeper the monitor. The word's `MONITORED` that a pusher reads may be
//! old. But the bit is cleared only while the pusher is not awake, or when no worker is
//! asleep; and of the moment in which it got up itself the pusher knows. The
//! monitor looks at all queues, and gets up to work when one has a task and its worker
//! has not polled any since the last look.
//!
//! A monitor that has found all quiet for some looks (no worker has polled, no task is
//! queued) *dozes*: it sets [`DOZING`], looks ever more rarely, and a push that reads the bit
//! clears it and calls the monitor, which begins anew. It sleeps no longer than until the next
//! timer of a worker that may be stalled. A monitor that finds all asleep does not doze: it
//! stays for some looks, and then steps down.
//!
//! A source of events that is registered with a worker's driver, or a timer that is started
//! there, counts as such a push, and so does waking up with some: what happens in the driver
//! of a stalled worker is seen by the monitor, which polls it. A worker that sleeps does so in
//! its driver, and an event ends that as a call does.
//!
//! A push to a worker's own queue reads the word without a fence. So it may overlook
//! that the last searcher has just gone to sleep. This costs time, and no task: the
//! worker itself is awake, the next push and the next maintenance look again, and
//! there is the monitor, which looks now and then even when it dozes.
//!
//! The counts of searchers and of those awake, and the chain of calls, are those of
//! Go's scheduler and of Tokio's; the monitor does, without a thread of its own, what
//! Go's `sysmon` does for processors whose thread is blocked.

use blitz_futex::atomic::{AtomicBool, AtomicUsize, Ordering};
use blitz_sync::internals::Lock;
use blitz_sync::internals::awake::Workers;
use blitz_sync::internals::fences::after_rmw;

use super::mutant::{Mutant, active};

/// There is a monitor.
const MONITORED: usize = 1;
/// The monitor has found all quiet for a while, and looks rarely.
const DOZING: usize = 2;
/// One more worker searches.
const SEARCHING: usize = 4;
/// One more worker is awake.
const AWAKE: usize = 1 << (usize::BITS / 2);

/// How many workers there may be.
pub const MOST_WORKERS: usize = AWAKE / SEARCHING - 1;

/// The word, taken apart.
#[derive(Clone, Copy)]
struct Count(usize);

impl Count {
    fn awake(self) -> usize {
        self.0 / AWAKE
    }

    fn searching(self) -> usize {
        self.0 % AWAKE / SEARCHING
    }

    fn is_monitored(self) -> bool {
        self.0 & MONITORED != 0
    }

    fn is_dozing(self) -> bool {
        self.0 & DOZING != 0
    }

    /// There is a monitor that looks every few milliseconds.
    fn is_well_monitored(self) -> bool {
        self.0 & (MONITORED | DOZING) == MONITORED
    }
}

/// Under the lock.
struct Sleepers {
    /// Those that are not the monitor. The last one has been asleep the shortest.
    parked: Vec<usize>,
    monitor: Option<usize>,
}

/// The workers whose threads have to be unparked.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
#[must_use]
pub struct Calls {
    /// This one is awake now, and searching.
    pub to_work: Option<usize>,
    /// This one is the monitor now, and goes on sleeping with a time-out.
    pub to_monitor: Option<usize>,
}

impl Calls {
    /// The same without worker `index`.
    pub fn without(self, index: usize) -> Calls {
        let other = |&called: &usize| called != index;
        Calls {
            to_work: self.to_work.filter(other),
            to_monitor: self.to_monitor.filter(other),
        }
    }

    /// All that have to be unparked.
    #[cfg(loom)]
    pub fn each(self) -> impl Iterator<Item = usize> {
        self.to_work.into_iter().chain(self.to_monitor)
    }
}

/// See the head of this file.
#[repr(align(128))]
pub struct Idle {
    word: AtomicUsize,
    workers: usize,
    processors: usize,
    sleepers: Lock<Sleepers>,
    /// Which workers are asleep; for each to see whether it was called. Written under the
    /// lock.
    asleep: Box<[AtomicBool]>,
}

impl Idle {
    /// All of `workers` are awake and not searching.
    pub fn new(workers: usize, processors: usize) -> Self {
        assert!(workers <= MOST_WORKERS, "too many workers");
        Self {
            word: AtomicUsize::new(workers * AWAKE),
            workers,
            processors,
            sleepers: Lock::new(Sleepers {
                parked: Vec::with_capacity(workers),
                monitor: None,
            }),
            asleep: (0..workers).map(|_| AtomicBool::new(false)).collect(),
        }
    }

    fn count(&self) -> Count {
        Count(self.word.load(Ordering::Relaxed))
    }

    /// Whether one more may be woken to work.
    fn wants_worker(&self, count: Count) -> bool {
        let too_many = active(Mutant::WakesTooMany);
        (count.searching() == 0 || too_many) && count.awake() < self.processors.min(self.workers)
    }

    /// Whether a sleeper has to become the monitor.
    fn wants_monitor(&self, count: Count) -> bool {
        !count.is_monitored() && !active(Mutant::NoMonitor)
    }

    /// A worker has put a task into its queue. `stealable`: others may take it, also
    /// while the worker goes on working.
    #[inline]
    pub fn pushed(&self, stealable: bool) -> Calls {
        let count = self.count();
        let calls_worker = stealable && self.wants_worker(count);
        if count.awake() == self.workers || (count.is_well_monitored() && !calls_worker) {
            return Calls::default();
        }
        self.call(stealable, true)
    }

    /// A task has been put into the inject queue.
    pub fn injected(&self) -> Calls {
        after_rmw();
        let count = Count(self.word.load(Ordering::SeqCst));
        let awake = count.awake();
        if awake == self.workers || (count.searching() > 0 && !active(Mutant::WakesTooMany)) {
            return Calls::default();
        }
        if awake >= self.processors && count.is_well_monitored() {
            return Calls::default();
        }
        let monitor = awake >= self.processors && !active(Mutant::InjectsUnmonitored);
        self.call(true, monitor)
    }

    #[cold]
    fn call(&self, worker: bool, monitor: bool) -> Calls {
        let mut sleepers = self.sleepers.lock();
        let mut calls = Calls::default();
        if worker && self.wants_worker(self.count()) {
            calls.to_work = self.call_to_work(&mut sleepers);
        }
        let count = self.count();
        if monitor && self.wants_monitor(count) {
            calls.to_monitor = self.call_to_monitor(&mut sleepers);
        } else if monitor && count.is_dozing() && !active(Mutant::MonitorDozesOn) {
            self.word.fetch_sub(DOZING, Ordering::SeqCst);
            calls.to_monitor = sleepers.monitor;
        }
        calls
    }

    /// Wakes the one that has been asleep the shortest; the monitor last.
    fn call_to_work(&self, sleepers: &mut Sleepers) -> Option<usize> {
        let mut change = AWAKE;
        if !active(Mutant::GetsUpUncounted) {
            change += SEARCHING;
        }
        let index = match sleepers.parked.pop() {
            Some(index) => index,
            None => {
                change -= self.monitor_bits();
                sleepers.monitor.take()?
            }
        };
        self.asleep[index].store(false, Ordering::Release);
        self.word.fetch_add(change, Ordering::SeqCst);
        Some(index)
    }

    /// Under the lock: what of the word is the monitor's.
    fn monitor_bits(&self) -> usize {
        self.word.load(Ordering::Relaxed) & (MONITORED | DOZING)
    }

    /// The monitor, at `index`, has found all quiet: it will look rarely, until a push calls
    /// it. `false` if it is not the monitor any more.
    pub fn doze(&self, index: usize) -> bool {
        let sleepers = self.sleepers.lock();
        let is_monitor = sleepers.monitor == Some(index);
        if is_monitor {
            self.word.fetch_or(DOZING, Ordering::SeqCst);
        }
        is_monitor
    }

    /// Whether the monitor looks rarely.
    pub fn is_dozing(&self) -> bool {
        self.count().is_dozing()
    }

    /// Makes the one that has been asleep the longest the monitor.
    fn call_to_monitor(&self, sleepers: &mut Sleepers) -> Option<usize> {
        if sleepers.parked.is_empty() {
            return None;
        }
        let index = sleepers.parked.remove(0);
        sleepers.monitor = Some(index);
        self.word.fetch_add(MONITORED, Ordering::SeqCst);
        Some(index)
    }

    /// A worker without work wants to search. Half of them may at the same time.
    pub fn start_searching(&self) -> bool {
        if self.count().searching() * 2 >= self.workers {
            return false;
        }
        self.word.fetch_add(SEARCHING, Ordering::SeqCst);
        true
    }

    /// A searcher has found work. If it was the last one, it must look whether there is
    /// more.
    pub fn found(&self) -> bool {
        let before = Count(self.word.fetch_sub(SEARCHING, Ordering::SeqCst));
        after_rmw();
        before.searching() == 1 && !active(Mutant::SearchesForItself)
    }

    /// The worker goes to sleep, unless what it sees when it looks once more keeps it
    /// from it; then it must [`get_up`](Self::get_up) again. It looks at the inject queue, and
    /// at all queues if it was the last one that searched, which is returned.
    pub fn go_to_sleep(&self, index: usize, searching: bool) -> bool {
        let mut sleepers = self.sleepers.lock();
        let count = self.count();
        let alone = count.awake() == 1;
        let mut change = AWAKE;
        if searching {
            change += SEARCHING;
        }
        if !alone && sleepers.monitor.is_none() && self.wants_monitor(count) {
            sleepers.monitor = Some(index);
            change -= MONITORED;
        } else {
            sleepers.parked.push(index);
        }
        self.asleep[index].store(true, Ordering::Relaxed);
        let before = Count(self.word.fetch_sub(change, Ordering::SeqCst));
        drop(sleepers);
        after_rmw();
        searching && before.searching() == 1
    }

    /// Whether the sleeping worker was called to work: then it is awake and
    /// counts as searching.
    #[inline]
    pub fn was_called(&self, index: usize) -> bool {
        !self.asleep[index].load(Ordering::Acquire)
    }

    /// The sleeping worker gets up without having been called, as a searcher if it is
    /// going to search. `None` if it was called meanwhile, and is searching.
    pub fn get_up(&self, index: usize, searching: bool) -> Option<Calls> {
        let mut sleepers = self.sleepers.lock();
        if !self.asleep[index].load(Ordering::Relaxed) {
            return None;
        }
        let mut calls = Calls::default();
        let others = self.count().awake() > 0;
        if sleepers.monitor == Some(index) {
            sleepers.monitor = None;
            self.word.fetch_sub(self.monitor_bits(), Ordering::SeqCst);
            if others && !active(Mutant::MonitorLeaves) {
                calls.to_monitor = self.call_to_monitor(&mut sleepers);
            }
        } else {
            sleepers.parked.retain(|&other| other != index);
        }
        self.asleep[index].store(false, Ordering::Relaxed);
        let search = if searching { SEARCHING } else { 0 };
        self.word.fetch_add(AWAKE + search, Ordering::SeqCst);
        Some(calls)
    }

    /// Whether the sleeping worker is the monitor, and has to sleep with a time-out.
    /// With no worker awake, the monitor steps down, unless it `stays`.
    pub fn is_monitor(&self, index: usize, stays: bool) -> bool {
        if !self.count().is_monitored() {
            return false;
        }
        let mut sleepers = self.sleepers.lock();
        if sleepers.monitor != Some(index) {
            return false;
        }
        if stays || self.count().awake() > 0 {
            return true;
        }
        sleepers.monitor = None;
        sleepers.parked.insert(0, index);
        self.word.fetch_sub(self.monitor_bits(), Ordering::SeqCst);
        false
    }

    /// Wakes all, for the end. A worker that goes to sleep later sees what was written
    /// before this call.
    pub fn wake_all(&self, mut unpark: impl FnMut(usize)) {
        let mut sleepers = self.sleepers.lock();
        let mut called = std::mem::take(&mut sleepers.parked);
        let monitor = sleepers.monitor.take();
        called.extend(monitor);
        if active(Mutant::ClosesForOne) {
            called.truncate(1);
        }
        for &index in &called {
            self.asleep[index].store(false, Ordering::Release);
        }
        let monitor = self.monitor_bits();
        let change = called.len() * (AWAKE + SEARCHING);
        self.word
            .fetch_add(change.wrapping_sub(monitor), Ordering::SeqCst);
        drop(sleepers);
        called.into_iter().for_each(&mut unpark);
    }

    /// Whether more workers are awake than there are processors.
    pub fn is_oversubscribed(&self) -> bool {
        self.count().awake() > self.processors
    }

    /// How many are awake.
    pub fn awake(&self) -> usize {
        self.count().awake()
    }

    /// How many search.
    #[cfg(loom)]
    pub fn searching(&self) -> usize {
        self.count().searching()
    }
}

impl Workers for Idle {
    fn awake(&self) -> usize {
        self.awake()
    }
}

// The steps of going to sleep and getting up, in the order on which the proof rests. What a
// worker sees and how it parks is behind a trait, so that the model checker runs these same
// steps.

/// A worker, as far as sleeping goes.
pub trait Sleeper {
    /// Its number.
    fn index(&self) -> usize;

    /// Whether the inject queue has something.
    fn sees_injected(&self) -> bool;

    /// Whether the inject queue or any ring has something.
    fn sees_any(&self) -> bool;

    /// Whether its own queues have something.
    fn has_tasks(&self) -> bool;

    /// Whether its ring has so many tasks that another worker should be woken for them.
    fn has_plenty(&self) -> bool;

    /// Whether the runtime is about to end.
    fn is_closed(&self) -> bool;

    /// Blocks the thread until it is unparked, a timer has fired or, if it is the
    /// monitor, it is time to look.
    fn park(&self);

    /// Whether it is the monitor and sees that another worker is stalled.
    fn sees_stalled(&self) -> bool;

    /// Unparks those that were called.
    fn call(&self, calls: Calls);
}

impl Idle {
    /// Sleeps until there is something to do. Says whether the worker counts as searching
    /// from now on, as it does if it was called.
    pub fn sleep(&self, sleeper: &impl Sleeper, searching: bool) -> bool {
        let index = sleeper.index();
        let looked_first = active(Mutant::LooksFirst).then(|| sleeper.sees_any());
        let searched_last = self.go_to_sleep(index, searching);
        let has_work = looked_first.unwrap_or_else(|| match searched_last {
            true => sleeper.sees_any(),
            false => sleeper.sees_injected(),
        });
        if has_work || sleeper.is_closed() {
            return self.rise(sleeper, true);
        }
        while !self.was_called(index) {
            sleeper.park();
            if sleeper.has_tasks() {
                // A timer has fired.
                return self.rise(sleeper, false);
            }
            if sleeper.sees_stalled() || sleeper.is_closed() {
                return self.rise(sleeper, true);
            }
        }
        true
    }

    /// Gets up without having been called.
    fn rise(&self, sleeper: &impl Sleeper, searching: bool) -> bool {
        match self.get_up(sleeper.index(), searching) {
            Some(calls) => {
                sleeper.call(calls);
                searching
            }
            None => true,
        }
    }

    /// A searching worker has found something. The last one that searched calls the next
    /// if there is more.
    pub fn found_work(&self, sleeper: &impl Sleeper) {
        if self.found() {
            if sleeper.has_tasks() {
                sleeper.call(self.pushed(sleeper.has_plenty()));
            } else if sleeper.sees_injected() {
                sleeper.call(self.injected());
            }
        }
    }
}
