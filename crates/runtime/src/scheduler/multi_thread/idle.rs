//! Who sleeps, who searches, who is woken.
//!
//! # States
//!
//! A worker is *awake* or *asleep*. While it is awake it may be *searching*: it has
//! nothing to do and looks whether others have. One of the sleepers may be the
//! *watchman*: it sleeps, too, but gets up every few milliseconds to see whether work
//! stands still.
//!
//! One word counts those who are awake and those who search, and says whether there is
//! a watchman ([`WATCH`]). Who sleeps, and who watches, is listed under a lock. Going
//! to sleep, getting up and being called happen under the lock; searching begins and
//! ends without it. Whoever only wants to know whether anybody has to be called reads
//! the word.
//!
//! # Who is called
//!
//! * A worker that puts a task where others may steal it calls a sleeper if nobody
//!   searches and fewer are awake than there are processors (the *processors rule*: one
//!   more would only take the processor away from those who work).
//! * A thread that is no worker and puts a task into the inject queue does the same.
//! * Whoever is called counts as awake and searching from that moment on. So of a burst
//!   of pushes one makes a call, and a push makes none while somebody searches.
//! * The last one who ends its search with success looks whether there is more, and
//!   calls the next if so. That is how a burst wakes as many as it needs.
//! * A worker that puts a task anywhere while others sleep and none of them watches
//!   calls one to the watch.
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
//! the pusher reads it after the last worker has gone to sleep, then nobody searches and
//! nobody is awake, and it calls one. A searcher that the pusher has seen, and because
//! of which it calls nobody, either looks at the queue after it has left the count of
//! searchers, or it is asleep and has looked after that.
//!
//! # No task waits for ever because a worker stands still
//!
//! A task may block its thread, and what waits in that worker's queue has to be taken
//! by others. While a worker is awake and another sleeps, then
//!
//! > there is a watchman, or no awake worker has put a task anywhere since it got up.
//!
//! For a push makes sure that there is one; a worker that goes to sleep while others are
//! awake takes the watch if nobody has it; and the watch ends only when nobody else is
//! asleep, when nobody is awake, or by handing it on: a watchman that gets up to work
//! calls another sleeper to the watch. The word's `WATCH` that a pusher reads may be
//! old. But the bit is cleared only while the pusher is not awake, or when nobody is
//! asleep; and of the moment in which it got up itself the pusher knows. So one look is
//! enough for many pushes of a worker that stays awake: those of tasks that yield while it
//! has others in hand are made without one, as it looked when it took those in hand. The
//! watchman looks at all queues, and gets up to work when one has a task and its worker
//! has not polled any since the last look.
//!
//! A push to a worker's own queue reads the word without a fence. So it may overlook
//! that the last searcher has just gone to sleep. This costs time, and no task: the
//! worker itself is awake, the next push and the next round of upkeep look again, and
//! there is the watchman.
//!
//! The counts of searchers and of those awake, and the chain of calls, are those of
//! Go's scheduler and of Tokio's; the watchman does, without a thread of its own, what
//! Go's `sysmon` does for processors whose thread is blocked.

use std::cell::UnsafeCell;

use blitz_futex::atomic::{AtomicBool, AtomicUsize, Ordering};
use blitz_sync::internals::ListLock;
use blitz_sync::internals::fences::after_rmw;

use super::mutant::{Mutant, active};

/// There is a watchman.
const WATCH: usize = 1;
/// One more worker searches.
const SEARCHING: usize = 2;
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

    fn is_watched(self) -> bool {
        self.0 & WATCH != 0
    }
}

/// Under the lock.
struct Beds {
    /// Who sleeps and does not watch. The last one has been asleep the shortest.
    sleepers: Vec<usize>,
    watchman: Option<usize>,
}

/// Whose thread has to be unparked.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
#[must_use]
pub struct Calls {
    /// This one is awake now, and searching.
    pub to_work: Option<usize>,
    /// This one is the watchman now, and goes on sleeping with a time-out.
    pub to_watch: Option<usize>,
}

impl Calls {
    /// All that have to be unparked.
    pub fn each(self) -> impl Iterator<Item = usize> {
        self.to_work.into_iter().chain(self.to_watch)
    }
}

/// What a worker has to do now that it counts as asleep.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Asleep {
    /// Look at the inject queue, then sleep.
    LookAtInject,
    /// It was the last one who searched: look at all queues, then sleep.
    LookAtAll,
}

/// Who sleeps and who searches. See the head of this file.
#[repr(align(128))]
pub struct Idle {
    word: AtomicUsize,
    workers: usize,
    processors: usize,
    lock: ListLock,
    /// Belongs to who holds the lock.
    beds: UnsafeCell<Beds>,
    /// Who is asleep; for each worker to see whether it was called. Written under the
    /// lock.
    asleep: Box<[AtomicBool]>,
}

// SAFETY: the beds are touched only under the lock.
unsafe impl Send for Idle {}
// SAFETY: as above.
unsafe impl Sync for Idle {}

impl Idle {
    /// All of `workers` are awake and not searching.
    pub fn new(workers: usize, processors: usize) -> Self {
        assert!(workers <= MOST_WORKERS, "too many workers");
        Self {
            word: AtomicUsize::new(workers * AWAKE),
            workers,
            processors,
            lock: ListLock::new(),
            beds: UnsafeCell::new(Beds {
                sleepers: Vec::with_capacity(workers),
                watchman: None,
            }),
            asleep: (0..workers).map(|_| AtomicBool::new(false)).collect(),
        }
    }

    fn locked<R>(&self, with: impl FnOnce(&mut Beds) -> R) -> R {
        self.lock.locked(|| {
            // SAFETY: we hold the lock, and the reference ends before it is let go.
            with(unsafe { &mut *self.beds.get() })
        })
    }

    fn count(&self) -> Count {
        Count(self.word.load(Ordering::Relaxed))
    }

    /// Whether one more may be woken to work.
    fn wants_worker(&self, count: Count) -> bool {
        let crowd = active(Mutant::WakesACrowd);
        (count.searching() == 0 || crowd) && count.awake() < self.processors.min(self.workers)
    }

    /// Whether a sleeper has to be called to the watch.
    fn wants_watch(&self, count: Count) -> bool {
        !count.is_watched() && !active(Mutant::NobodyWatches)
    }

    /// A worker has put a task into its queue. `stealable`: others may take it, also
    /// while the worker goes on working.
    #[inline]
    pub fn pushed(&self, stealable: bool) -> Calls {
        match self.heeds_push(stealable) {
            true => self.call(stealable, true),
            false => Calls::default(),
        }
    }

    /// Whether such a push makes somebody get up or watch, if nothing changes meanwhile.
    #[inline]
    fn heeds_push(&self, stealable: bool) -> bool {
        let count = self.count();
        count.awake() != self.workers
            && (!count.is_watched() || stealable && self.wants_worker(count))
    }

    /// A task has been put into the inject queue.
    pub fn injected(&self) -> Calls {
        after_rmw();
        let count = Count(self.word.load(Ordering::SeqCst));
        let awake = count.awake();
        if awake == self.workers || (count.searching() > 0 && !active(Mutant::WakesACrowd)) {
            return Calls::default();
        }
        if awake >= self.processors && count.is_watched() {
            return Calls::default();
        }
        self.call(true, awake >= self.processors)
    }

    #[cold]
    fn call(&self, worker: bool, watch: bool) -> Calls {
        self.locked(|beds| {
            let count = self.count();
            let mut calls = Calls::default();
            if worker && self.wants_worker(count) {
                calls.to_work = self.call_to_work(beds);
            }
            if watch && self.wants_watch(self.count()) {
                calls.to_watch = self.call_to_watch(beds);
            }
            calls
        })
    }

    /// Wakes the one who has been asleep the shortest; the watchman last.
    fn call_to_work(&self, beds: &mut Beds) -> Option<usize> {
        let mut change = AWAKE;
        if !active(Mutant::GetsUpUncounted) {
            change += SEARCHING;
        }
        let index = match beds.sleepers.pop() {
            Some(index) => index,
            None => {
                change -= WATCH;
                beds.watchman.take()?
            }
        };
        self.asleep[index].store(false, Ordering::Release);
        self.word.fetch_add(change, Ordering::SeqCst);
        Some(index)
    }

    /// Makes the one who has been asleep the longest the watchman.
    fn call_to_watch(&self, beds: &mut Beds) -> Option<usize> {
        if beds.sleepers.is_empty() {
            return None;
        }
        let index = beds.sleepers.remove(0);
        beds.watchman = Some(index);
        self.word.fetch_add(WATCH, Ordering::SeqCst);
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
    /// from it; then it must [`get_up`](Self::get_up) again.
    pub fn go_to_sleep(&self, index: usize, searching: bool) -> Asleep {
        let before = self.locked(|beds| {
            let count = self.count();
            let alone = count.awake() == 1;
            let mut change = AWAKE;
            if searching {
                change += SEARCHING;
            }
            if !alone && beds.watchman.is_none() && self.wants_watch(count) {
                beds.watchman = Some(index);
                change -= WATCH;
            } else {
                beds.sleepers.push(index);
            }
            self.asleep[index].store(true, Ordering::Relaxed);
            Count(self.word.fetch_sub(change, Ordering::SeqCst))
        });
        after_rmw();
        match searching && before.searching() == 1 {
            true => Asleep::LookAtAll,
            false => Asleep::LookAtInject,
        }
    }

    /// Whether somebody has called the sleeping worker to work: then it is awake and
    /// counts as searching.
    #[inline]
    pub fn was_called(&self, index: usize) -> bool {
        !self.asleep[index].load(Ordering::Acquire)
    }

    /// The sleeping worker gets up without having been called, as a searcher if it is
    /// going to search. `None` if it was called meanwhile, and is searching.
    pub fn get_up(&self, index: usize, searching: bool) -> Option<Calls> {
        self.locked(|beds| {
            if !self.asleep[index].load(Ordering::Relaxed) {
                return None;
            }
            let mut calls = Calls::default();
            let others = self.count().awake() > 0;
            if beds.watchman == Some(index) {
                beds.watchman = None;
                self.word.fetch_sub(WATCH, Ordering::SeqCst);
                if others && !active(Mutant::LeavesTheWatch) {
                    calls.to_watch = self.call_to_watch(beds);
                }
            } else {
                beds.sleepers.retain(|&other| other != index);
            }
            self.asleep[index].store(false, Ordering::Relaxed);
            let search = if searching { SEARCHING } else { 0 };
            self.word.fetch_add(AWAKE + search, Ordering::SeqCst);
            Some(calls)
        })
    }

    /// Whether the sleeping worker is the watchman, and has to sleep with a time-out.
    /// A watchman for whom nobody is awake any more is one no longer.
    pub fn watches(&self, index: usize) -> bool {
        if !self.count().is_watched() {
            return false;
        }
        self.locked(|beds| {
            if beds.watchman != Some(index) {
                return false;
            }
            if self.count().awake() > 0 {
                return true;
            }
            beds.watchman = None;
            beds.sleepers.insert(0, index);
            self.word.fetch_sub(WATCH, Ordering::SeqCst);
            false
        })
    }

    /// Wakes everybody, for the end. Whoever goes to sleep later sees what was written
    /// before this call.
    pub fn wake_all(&self, mut unpark: impl FnMut(usize)) {
        let called = self.locked(|beds| {
            let mut called = std::mem::take(&mut beds.sleepers);
            let watchman = beds.watchman.take();
            called.extend(watchman);
            if active(Mutant::ClosesForOne) {
                called.truncate(1);
            }
            for &index in &called {
                self.asleep[index].store(false, Ordering::Release);
            }
            let watch = usize::from(watchman.is_some()) * WATCH;
            let change = called.len() * (AWAKE + SEARCHING);
            self.word
                .fetch_add(change.wrapping_sub(watch), Ordering::SeqCst);
            called
        });
        called.into_iter().for_each(&mut unpark);
    }

    /// Whether more workers are awake than there are processors.
    pub fn is_crowded(&self) -> bool {
        self.count().awake() > self.processors
    }

    /// How many are awake.
    #[cfg(loom)]
    pub fn awake(&self) -> usize {
        self.count().awake()
    }

    /// How many search.
    #[cfg(loom)]
    pub fn searching(&self) -> usize {
        self.count().searching()
    }
}
