//! Which workers sleep, and which threads wake them.
//!
//! # Idle workers
//!
//! A worker that has nothing to run sleeps on `epoch`, which all idle workers share:
//!
//! 1. It reads the epoch and counts itself in `idle` (sequentially consistent).
//! 2. It asks every worker to announce its next fork (`asked`).
//! 3. It makes every thread pass a fence, if another worker runs a job.
//! 4. It looks for work everywhere again.
//! 5. It sleeps while the epoch has the value that it read.
//!
//! A thread that has *injected* work (a job, a loop, a broadcast, the end of the pool) passes a
//! fence and reads `idle` and `resting`. If either is not zero, it advances the epoch and wakes
//! one worker, or all. Either the look in step 4 finds the work, or the injecting thread reads
//! the count of step 1. Then it advances an epoch that the worker has read before, so the sleep
//! ends or does not begin. So injected work never waits while every worker sleeps.
//!
//! A worker that has *forked* passes only the light fence and reads its own `asked`. If that is
//! set, it clears it and wakes one idle worker, unless one is already waking up (`waking`). A
//! worker that is waking up sees the forks that were made until then. When it has found a job and
//! there are more forks, it [wakes another](Sleep::pass_on). A fork is never lost, since its
//! owner takes back the forks that no thief took. So the protocol only has to ensure that the
//! other workers do not sleep while there are long forks to run, and the same two fences ensure
//! that.
//!
//! A worker that *rests* while others have forks does the same without steps 2 and 3: injected
//! work wakes it, and it looks for forks again after a while. So it counts itself in `resting`
//! and not in `idle`. If it gets the wake-up of a worker that asked for forks, it searches
//! instead of that worker.
//!
//! A worker [announces](Sleeper::begins) that it runs a job, and passes a full fence,
//! before it can fork. A worker that is not seen to run a job in step 3 has not made the
//! announcement yet, so it sees the request of step 2 when it forks. Therefore idle workers
//! do not interrupt each other.
//!
//! `waking` is cleared by every worker that ends its sleep, before it searches, and by
//! every worker that is about to sleep, before its last look. So it cannot stay set while a
//! worker sleeps that was not woken.
//!
//! # Workers that wait for a job
//!
//! Such a worker sleeps on a word of its own (`own`), which holds the number of the worker that
//! it may help. The end of the job wakes it ([`latch`](crate::latch)), or a fork of that worker.
//! The order is the same as above: the word, `asked`, the fence, the last look. A worker that
//! leaves the processors to a loop's participants also sleeps on this word, for a moment.

use std::time::{Duration, Instant};

use crossbeam_utils::CachePadded;

use blitz_io_core::fences;
use blitz_io_futex::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use blitz_io_futex::atomic::{AtomicBool, AtomicU32, fence};

/// The worker runs.
const AWAKE: u32 = 0;
/// It was woken.
const WOKEN: u32 = 1;
/// It sleeps and can help no other worker.
const WAITS: u32 = 2;
/// It sleeps and can help worker `n`: `HELPS + n`.
const HELPS: u32 = 3;

/// The state of one worker.
#[derive(Debug)]
pub struct Sleeper {
    own: AtomicU32,
    /// A sleeping worker wants to know of this worker's forks.
    asked: AtomicBool,
    /// This worker runs a job, or is about to, and may fork.
    runs: AtomicBool,
}

impl Sleeper {
    /// Whether another worker requested a wake-up on this worker's next fork.
    #[inline(always)]
    pub fn is_asked(&self) -> bool {
        fences::light();
        self.asked.load(Relaxed)
    }

    /// Announces that the worker is about to run a job.
    pub fn begins(&self) {
        self.runs.store(true, Relaxed);
        fence(SeqCst);
    }

    /// Marks the worker as idle: it runs no job, and no suspended job will go on in it.
    pub fn ends(&self) {
        self.runs.store(false, Release);
    }

    /// Wakes the worker, which waits for a job.
    pub fn wake(&self) {
        wake(&self.own);
    }
}

#[derive(Debug)]
pub struct Sleep {
    epoch: CachePadded<AtomicU32>,
    idle: CachePadded<AtomicU32>,
    resting: AtomicU32,
    waking: AtomicBool,
    workers: Box<[CachePadded<Sleeper>]>,
}

impl Sleep {
    pub fn new(workers: usize) -> Self {
        let one = || Sleeper {
            own: AtomicU32::new(AWAKE),
            asked: AtomicBool::new(false),
            runs: AtomicBool::new(true),
        };
        Self {
            epoch: CachePadded::new(AtomicU32::new(0)),
            idle: CachePadded::new(AtomicU32::new(0)),
            resting: AtomicU32::new(0),
            waking: AtomicBool::new(false),
            workers: (0..workers).map(|_| CachePadded::new(one())).collect(),
        }
    }

    /// Worker `me`, which is idle, sleeps unless `has_work` returns true at the last
    /// moment.
    #[cold]
    pub fn sleep_idle(&self, me: usize, has_work: impl FnOnce() -> bool) {
        self.sleep_on_epoch(&self.idle, None, || {
            self.waking.store(false, SeqCst);
            if self.ask_for_forks(me) {
                fences::heavy();
            }
            has_work()
        });
    }

    /// An idle worker sleeps for `time`, or until something is injected, unless `has_work`
    /// returns true at the last moment. It does not ask for forks.
    #[cold]
    pub fn rest(&self, time: Duration, has_work: impl FnOnce() -> bool) {
        self.sleep_on_epoch(&self.resting, Some(time), has_work);
    }

    /// A worker that counts itself in `count` sleeps until the epoch advances, and no
    /// longer than `time`, unless it `must_stay` at the last moment.
    fn sleep_on_epoch(
        &self,
        count: &AtomicU32,
        time: Option<Duration>,
        must_stay: impl FnOnce() -> bool,
    ) {
        let epoch = self.epoch.load(Acquire);
        count.fetch_add(1, SeqCst);
        fence(SeqCst);
        if !must_stay() {
            let deadline = time.map(|time| Instant::now() + time);
            blitz_io_futex::wait_until(&self.epoch, epoch, deadline);
        }
        count.fetch_sub(1, SeqCst);
        self.waking.store(false, SeqCst);
        fence(SeqCst);
    }

    /// Asks all workers for forks. Returns whether another worker runs a job, so that it
    /// may have forked without having seen the request.
    pub fn ask_for_forks(&self, me: usize) -> bool {
        for worker in &self.workers {
            worker.asked.store(true, SeqCst);
        }
        fence(SeqCst);
        let mut others = self.workers.iter().enumerate().filter(|&(i, _)| i != me);
        others.any(|(_, worker)| worker.runs.load(Acquire))
    }

    /// Wakes a worker: something was injected that one worker can do.
    #[inline]
    pub fn injected_one(&self) {
        if self.has_idle() {
            self.wake_idle(1);
        }
    }

    /// Wakes all workers: something was injected that all can do.
    #[inline]
    pub fn injected_for_all(&self) {
        if self.has_idle() {
            self.wake_idle(usize::MAX);
        }
    }

    /// How many workers sleep, or are about to, because they have nothing to run.
    pub fn sleeping(&self) -> usize {
        (self.idle.load(Relaxed) + self.resting.load(Relaxed)) as usize
    }

    fn has_idle(&self) -> bool {
        fence(SeqCst);
        self.idle.load(SeqCst) != 0 || self.resting.load(SeqCst) != 0
    }

    #[cold]
    fn wake_idle(&self, n: usize) {
        self.epoch.fetch_add(1, AcqRel);
        blitz_io_futex::wake_n(&*self.epoch, n);
    }

    /// Wakes another worker. For a worker that was woken and has found a job, if there seem to be
    /// more forks.
    pub fn pass_on(&self) {
        fence(SeqCst);
        let others = self.idle.load(SeqCst) != 0;
        if others && !self.waking.swap(true, SeqCst) {
            self.wake_idle(1);
        }
    }

    /// Returns the state of one worker.
    pub fn worker(&self, index: usize) -> &Sleeper {
        &self.workers[index]
    }

    /// Worker `me`, which has forked and [has a request](Sleeper::is_asked) to announce it, wakes
    /// a sleeper.
    pub fn answer(&self, me: usize) {
        // A worker that asked has cleared `waking` before.
        fence(SeqCst);
        if self.waking.load(SeqCst) {
            return;
        }
        self.workers[me].asked.swap(false, SeqCst);
        // A request made from now on is not cleared, and a worker that made one before is
        // counted.
        fence(SeqCst);
        for worker in &self.workers {
            if worker.own.load(SeqCst) == HELPS + me as u32 {
                wake(&worker.own);
            }
        }
        let idle = self.idle.load(SeqCst);
        if idle != 0 && !self.waking.swap(true, SeqCst) {
            self.wake_idle(1);
        }
        if idle > 1 {
            self.workers[me].asked.store(true, SeqCst);
        }
    }

    /// Worker `me` sleeps until it is woken, unless `must_stay` returns true at the last
    /// moment. It asks for the forks of `target`.
    #[cold]
    pub fn sleep_waiting(
        &self,
        me: usize,
        target: Option<usize>,
        must_stay: impl FnOnce() -> bool,
    ) {
        let own = &self.workers[me].own;
        let sleeping = target.map_or(WAITS, |target| HELPS + target as u32);
        own.store(sleeping, SeqCst);
        if let Some(target) = target {
            self.workers[target].asked.store(true, SeqCst);
            fences::heavy();
        }
        if !must_stay() {
            while own.load(Acquire) == sleeping {
                blitz_io_futex::wait(own, sleeping);
            }
        }
        own.swap(AWAKE, SeqCst);
    }

    /// Worker `me` sleeps for `time`, or until all workers are woken, unless `must_stay`
    /// returns true at the last moment.
    #[cold]
    pub fn sleep_briefly(&self, me: usize, time: Duration, must_stay: impl FnOnce() -> bool) {
        let own = &self.workers[me].own;
        own.store(WAITS, SeqCst);
        fence(SeqCst);
        if !must_stay() {
            blitz_io_futex::wait_until(own, WAITS, Instant::now() + time);
        }
        own.swap(AWAKE, SeqCst);
    }

    /// Whether enough workers are awake for each of these processors without the caller,
    /// which is an awake worker itself.
    pub fn is_one_too_many(&self, processors: usize) -> bool {
        let asleep = self.idle.load(Relaxed) + self.resting.load(Relaxed);
        self.workers.len() > processors + asleep as usize
    }

    /// Wakes all workers: the pool ends.
    pub fn wake_everybody(&self) {
        fence(SeqCst);
        self.wake_idle(usize::MAX);
        for worker in &self.workers {
            wake(&worker.own);
        }
    }
}

fn wake(own: &AtomicU32) {
    let mut seen = own.load(SeqCst);
    while seen >= WAITS {
        match own.compare_exchange_weak(seen, WOKEN, SeqCst, SeqCst) {
            Ok(_) => {
                blitz_io_futex::wake_one(own);
                return;
            }
            Err(now) => seen = now,
        }
    }
}
