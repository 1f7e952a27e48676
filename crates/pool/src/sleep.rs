//! Which workers sleep, what each of them sleeps for, and which threads wake them.
//!
//! There is one sleep, with one fence. The word of a worker is `AWAKE` or names the work that the
//! worker sleeps for ([`SleepFor`]). The flag of a worker, `asked`, asks it to announce its next
//! fork.
//!
//! # The protocol
//!
//! Worker W sleeps:
//!
//! 1. W writes into its word what it sleeps for.
//! 2. W sets the flag of every worker whose forks it can take.
//! 3. W passes a sequentially consistent fence.
//! 4. W looks for everything that it sleeps for. If it finds something, it goes to step 6.
//! 5. W sleeps while its word has the value of step 1, or until its time is over.
//! 6. W swaps `AWAKE` into its word and looks for work as any worker that is awake.
//!
//! Thread T *publishes*: it injects a job, opens a loop, sets a latch, hands a worker a job that
//! only this worker may run, or ends the pool.
//!
//! 1. T makes the change visible.
//! 2. T passes a sequentially consistent fence.
//! 3. T reads the words of the workers concerned. If one of them sleeps for this, T exchanges its
//!    word for `AWAKE` and wakes the worker. For a job that any worker can run, T stops at the
//!    first exchange that succeeds.
//!
//! **No wake-up is lost.** All these fences have one order. If T's fence comes before that of
//! W's step 3, step 4 finds what T published. Otherwise T reads the value of W's step 1 or a later
//! one. If it is the value of step 1, T wakes W; if it is a later one, W has left this sleep.
//! Either way W does not stay in it.
//!
//! **A wake-up for one worker is not wasted.**
//!
//! 1. If T wakes W for a job that any worker can run, W's swap in step 6 reads T's exchange. So W
//!    sees the job when it looks for work.
//! 2. If W then takes another job, it [wakes another sleeper](Sleep::pass_on) for the first one.
//! 3. If T's exchange fails because W has left its sleep, T tries the next worker. W is awake,
//!    and T's fence comes before the fence of W's next sleep, so W finds the job before that.
//!
//! So no injected job waits for a busy worker while another worker sleeps for anything. (A worker
//! that sleeps for injected work only has a limit, and may sleep until then.)
//!
//! # Forks
//!
//! A worker F that forks reads only its own flag, and wakes others only if the flag is set:
//!
//! 1. F stores the fork. If the fork is a spawned job, F passes the fence.
//! 2. F reads its flag. If it is clear, F is done.
//! 3. F clears the flag, passes the fence, wakes all workers that sleep for its forks, and wakes
//!    one worker that sleeps for anything ([`Sleep::announce_fork`]).
//!
//! **A spawned job is published.**
//!
//! 1. If F's fence comes before W's, W finds the fork in its step 4.
//! 2. Otherwise F reads the flag that W has set in its step 2, unless F has cleared it since then.
//! 3. Each request is a swap that releases W's word, and F's clearing is a swap. So F's swap reads
//!    the last of the requests that it clears, the fence after it acquires all of them, and F sees
//!    the words of their workers when it wakes them. The swap itself needs no order.
//!
//! **One wake-up serves all sleepers.** F wakes one worker that sleeps for anything, and clears the
//! requests of the others with that worker's. So a worker that was woken acts for the others:
//!
//! 1. If it finds a job, or leaves, it [passes the wake-up on](Sleep::pass_on): it sets all flags
//!    again, passes the fence, and wakes the next sleeper if there is more to do.
//! 2. If it finds nothing, it sleeps, and its step 2 sets the flags.
//!
//! Workers wake up one after the other while there are forks, so a fine recursion does not wake all
//! of them at once.
//!
//! **The fork of a `join` is not published**, because a fence would cost more than the rest of the
//! fork. F can read its flag before W's request arrives, while W looks before F's fork arrives. No
//! job is lost, because F runs the fork itself if no thread steals it. W sleeps until F's next
//! fork, which sees the request.

use std::time::{Duration, Instant};

use blitz_io_core::CachePadded;

use blitz_io_futex::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use blitz_io_futex::atomic::{AtomicBool, AtomicU32, fence};
use blitz_io_observe::{self as observe, Blocking, Caller, Kind, Object};

const AWAKE: u32 = 0;
const ANYTHING: u32 = 1;
const INJECTED: u32 = 2;
const OWN: u32 = 3;
/// `FORKS_OF + n`: sleeps for its own work and for forks of worker `n`.
const FORKS_OF: u32 = 4;

/// Work for which a worker sleeps. Each kind includes the worker's own work: its latch, the jobs
/// that only this worker may run, and the end of the pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SleepFor {
    /// Injected jobs, loops, and forks of every worker.
    Anything,
    /// Injected jobs and loops.
    Injected,
    /// Its own work only.
    Own,
    /// Forks of one worker.
    ForksOf(usize),
}

impl SleepFor {
    fn word(self) -> u32 {
        match self {
            Self::Anything => ANYTHING,
            Self::Injected => INJECTED,
            Self::Own => OWN,
            Self::ForksOf(worker) => FORKS_OF + worker as u32,
        }
    }
}

/// The state of one worker.
#[derive(Debug)]
pub struct Sleeper {
    word: AtomicU32,
    /// `true` if a sleeping worker requests a wake-up on this worker's next fork.
    asked: AtomicBool,
    /// Held by the worker's thread.
    thread: Object,
    /// The job that the worker sleeps for. Its holder is the worker that runs the job. A wake-up removes
    /// the holder before it wakes, so a worker that was woken and has not run yet waits for no holder.
    job: Object,
}

impl Sleeper {
    /// Returns `true` if another worker requested a wake-up on this worker's next fork.
    #[inline(always)]
    pub fn is_asked(&self) -> bool {
        self.asked.load(Relaxed)
    }

    /// Records that the worker is the current thread.
    pub fn enter(&self) {
        self.thread.acquired();
    }

    /// Requests a wake-up on this worker's next fork.
    fn ask(&self) {
        self.asked.swap(true, Release);
    }

    /// Wakes the worker if it sleeps: the caller has published something for this worker alone.
    pub fn published(&self) {
        fence(SeqCst);
        self.wake_if(|_| true);
    }

    /// Wakes the worker if it sleeps for something for which `wakes` returns true. Returns
    /// whether it did.
    fn wake_if(&self, wakes: impl Fn(u32) -> bool) -> bool {
        let word = self.word.load(Relaxed);
        if word == AWAKE || !wakes(word) {
            return false;
        }
        self.job.released();
        let exchanged = self.word.compare_exchange(word, AWAKE, Release, Relaxed);
        if exchanged.is_ok() {
            blitz_io_futex::wake_one(&self.word);
        }
        exchanged.is_ok()
    }
}

/// The sleepers of one pool.
#[derive(Debug)]
pub struct Sleep {
    workers: Box<[CachePadded<Sleeper>]>,
}

impl Sleep {
    pub fn new(workers: usize) -> Self {
        let one = || Sleeper {
            word: AtomicU32::new(AWAKE),
            asked: AtomicBool::new(false),
            thread: Object::new(),
            job: Object::new(),
        };
        Self {
            workers: (0..workers).map(|_| CachePadded::new(one())).collect(),
        }
    }

    /// Returns the number of workers that sleep, or are about to, because they have nothing to run.
    pub fn sleeping(&self) -> usize {
        let is_idle = |worker: &&CachePadded<Sleeper>| {
            matches!(worker.word.load(Relaxed), ANYTHING | INJECTED)
        };
        self.workers.iter().filter(is_idle).count()
    }

    /// Returns the state of one worker.
    pub fn worker(&self, index: usize) -> &Sleeper {
        &self.workers[index]
    }

    /// Puts worker `me` to sleep until it is woken, but no longer than `limit`. Does not sleep if
    /// `has_work` returns true at the last moment. `caller`: the line of the program that waits, if it is known.
    #[cold]
    pub fn sleep(
        &self,
        me: usize,
        what: SleepFor,
        limit: Option<Duration>,
        caller: Caller,
        has_work: impl FnOnce() -> bool,
    ) {
        let _waits = self.waits_for(me, what, limit, caller);
        let (own, word) = (&self.workers[me].word, what.word());
        own.store(word, Relaxed);
        match what {
            SleepFor::Anything => self.ask_all(),
            SleepFor::ForksOf(worker) => self.workers[worker].ask(),
            SleepFor::Injected | SleepFor::Own => {}
        }
        fence(SeqCst);
        if !has_work() {
            let deadline = limit.map(|limit| Instant::now() + limit);
            let _record = observe::sleeping(own);
            blitz_io_futex::wait_deadline(own, word, deadline);
        }
        own.swap(AWAKE, Acquire);
    }

    /// Records that worker `me` may sleep for a job that another worker runs, or for jobs that several
    /// workers run. A worker that sleeps for its own work until a moment has no job.
    fn waits_for(
        &self,
        me: usize,
        what: SleepFor,
        limit: Option<Duration>,
        caller: Caller,
    ) -> Option<Blocking> {
        let target = match (what, limit) {
            (SleepFor::ForksOf(target), _) => target,
            (SleepFor::Own, None) => {
                let blocking = Blocking::without_object(Kind::ForkJoin, caller, false);
                return Some(blocking);
            }
            _ => return None,
        };
        let job = &self.workers[me].job;
        job.acquired_by_holder_of(&self.workers[target].thread);
        Some(Blocking::new(Kind::ForkJoin, job, caller, false))
    }

    fn ask_all(&self) {
        for worker in &self.workers {
            worker.ask();
        }
    }

    /// Wakes one worker: the caller has injected a job.
    #[inline]
    pub fn injected_one(&self) {
        fence(SeqCst);
        if !self.wake_one(ANYTHING) {
            self.wake_one(INJECTED);
        }
    }

    /// Wakes all workers that sleep for injected work: the caller has opened a loop.
    #[inline]
    pub fn injected_for_all(&self) {
        fence(SeqCst);
        for worker in &self.workers {
            worker.wake_if(|word| word == ANYTHING || word == INJECTED);
        }
    }

    /// Wakes all workers: each got a job of its own, or the pool ends.
    pub fn published_for_each(&self) {
        fence(SeqCst);
        for worker in &self.workers {
            worker.wake_if(|_| true);
        }
    }

    /// Wakes one worker that sleeps for `what`. Returns `true` if there was one.
    fn wake_one(&self, what: u32) -> bool {
        let mut workers = self.workers.iter();
        workers.any(|worker| worker.wake_if(|word| word == what))
    }

    /// Announces, on request, that worker `me` has forked a job that another thread may wait for.
    #[inline]
    pub fn spawned(&self, me: usize) {
        fence(SeqCst);
        if self.workers[me].is_asked() {
            self.announce_fork(me);
        }
    }

    /// Announces that worker `me` has forked, as it has [a request](Sleeper::is_asked) for that.
    #[cold]
    pub fn announce_fork(&self, me: usize) {
        self.workers[me].asked.swap(false, Relaxed);
        fence(SeqCst);
        for worker in &self.workers {
            worker.wake_if(|word| word == FORKS_OF + me as u32);
        }
        self.wake_one(ANYTHING);
    }

    /// Wakes another sleeper if `has_more` returns true. Called by a worker that was woken, when it
    /// has found a job or stops looking for one.
    pub fn pass_on(&self, has_more: impl FnOnce() -> bool) {
        let is_idle = |worker: &CachePadded<Sleeper>| worker.word.load(Relaxed) == ANYTHING;
        if self.workers.iter().any(is_idle) {
            self.ask_all();
            fence(SeqCst);
            if has_more() {
                self.wake_one(ANYTHING);
            }
        }
    }

    /// Returns `true` if enough workers are awake for each of these processors without the
    /// caller, which is an awake worker itself.
    pub fn is_one_too_many(&self, processors: usize) -> bool {
        let is_awake = |worker: &&CachePadded<Sleeper>| worker.word.load(Relaxed) == AWAKE;
        self.workers.iter().filter(is_awake).count() > processors
    }
}
