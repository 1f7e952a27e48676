//! A worker in its own thread: which job it runs next, and which jobs it runs while it waits.
//!
//! There are three kinds of waiting, ordered by how many jobs a worker may run while it waits:
//!
//! * idle, at the bottom of the thread's stack: it runs anything
//!   ([`Worker::run_until_end`]);
//! * for a job in another pool: it runs anything of its own pool, since that job may need
//!   it ([`Worker::serve_until`]);
//! * for a fork that was stolen, or a scope: it runs only descendants of that
//!   ([`Worker::wait_for`]): its own later forks, and those that the thief has made since
//!   it began. (Wagner and Calder call that leapfrogging: "Leapfrogging: A Portable
//!   Technique for Implementing Efficient Futures", 1993.)
//!
//! A *fiber* that is polled in a worker may suspend inside a job, and another fiber then uses the
//! thread. But the deque, and the job in progress, need calls that end in the reverse order.
//! So code in a fiber leaves both alone. A `join` there runs one closure after the other. A spawned job
//! goes to the pool. A wait takes none of the worker's forks, whose own frames may wait for them.

use std::cell::{Cell, RefCell, RefMut};
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

use blitz_io_core::{fibers, processors, this_processor};
use blitz_io_observe::Caller;
use blitz_io_observe::decisions;
use blitz_io_observe::trace::{AwaitsJob, job_queued};

use crate::deque::Deque;
use crate::job_ref::JobRef;
use crate::latch::{CrossLatch, Probe};
use crate::policy::{Ages, ENOUGH_FORKS, FineSite, Grain, LATE, Patience, helpers};
use crate::registry::{Registry, Shared};
use crate::sleep::{SleepFor, Sleeper};

std::thread_local! {
    static CURRENT: Cell<*const Worker> = const { Cell::new(ptr::null()) };
    /// The worker of a thread that was not started by the pool.
    static ADOPTED: Cell<Option<Box<Worker>>> = const { Cell::new(None) };
}

/// The result of a yield.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Yield {
    /// A job was run.
    Executed,
    /// There was nothing to run.
    Idle,
}

pub(crate) struct Worker {
    registry: Arc<Registry>,
    index: usize,
    /// This worker's own part of the registry, which lives as long.
    shared: *const Shared,
    sleeper: *const Sleeper,
    breadth_first: bool,
    grain: Grain,
    ages: RefCell<Ages>,
    patience: RefCell<Patience>,
    /// The generation of the last loop in which this worker took part.
    last_loop: Cell<u64>,
    /// It stands for a worker while the thread of a simulation runs a job.
    is_simulated: bool,
}

/// The worker that a simulation has made current, until this is dropped.
pub(crate) struct Simulated(*const Worker);

impl Drop for Simulated {
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}

impl Worker {
    /// Makes this thread worker `index` of a pool, until the result is dropped.
    pub(crate) fn enter(registry: Arc<Registry>, index: usize) -> Box<Self> {
        let victims = registry.num_threads();
        let worker = Box::new(Self::new(registry, index, victims, false));
        CURRENT.set(&raw const *worker);
        worker.sleeper().enter();
        worker
    }

    fn new(registry: Arc<Registry>, index: usize, victims: usize, is_simulated: bool) -> Self {
        Self {
            ages: RefCell::new(Ages::new(victims)),
            patience: RefCell::new(Patience::new(registry.handlers.spin)),
            shared: &raw const *registry.workers[index],
            sleeper: registry.sleep.worker(index),
            breadth_first: registry.handlers.breadth_first,
            grain: Grain::new(),
            registry,
            index,
            last_loop: Cell::new(0),
            is_simulated,
        }
    }

    /// Returns a worker for a job of a simulation. Its own part of the registry belongs to a thread
    /// of the pool, so it does not use that.
    pub(crate) fn simulated(registry: Arc<Registry>, index: usize) -> Self {
        Self::new(registry, index, 0, true)
    }

    /// Makes this worker of a simulation the current one, until the result is dropped.
    pub(crate) fn make_current(&self) -> Simulated {
        Simulated(CURRENT.replace(self))
    }

    /// Returns the worker of a job that the thread of a simulation runs.
    pub(crate) fn current_simulated<'a>() -> Option<&'a Self> {
        Self::current().filter(|worker| worker.is_simulated)
    }

    /// Makes the current thread worker 0, for as long as the thread lives.
    pub(crate) fn adopt_current_thread(registry: Arc<Registry>) {
        let worker = Self::enter(registry, 0);
        worker.registry.workers[0].started.open();
        ADOPTED.set(Some(worker));
    }

    pub(crate) fn is_current() -> bool {
        !CURRENT.get().is_null()
    }

    /// Returns the worker that this thread is.
    #[inline(always)]
    pub(crate) fn current<'a>() -> Option<&'a Self> {
        // SAFETY: set to a worker that this very thread takes away before it is freed. The
        // lifetime is that of a use within one call from the thread.
        unsafe { CURRENT.get().as_ref() }
    }

    /// Returns the worker that runs the job from which this is called.
    pub(crate) fn running<'a>() -> &'a Self {
        Self::current().expect("jobs run in workers")
    }

    /// Returns the worker that this thread is, if it belongs to `registry`.
    pub(crate) fn current_in<'a>(registry: &Registry) -> Option<&'a Self> {
        Self::current().filter(|worker| ptr::eq(&*worker.registry, registry))
    }

    #[inline(always)]
    pub(crate) fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    #[inline(always)]
    pub(crate) fn index(&self) -> usize {
        self.index
    }

    #[inline(always)]
    fn deque(&self) -> &Deque {
        // SAFETY: it is in the registry, which this worker keeps alive.
        unsafe { &(*self.shared).deque }
    }

    #[inline(always)]
    pub(crate) fn sleeper(&self) -> &Sleeper {
        // SAFETY: it is in the registry, which this worker keeps alive.
        unsafe { &*self.sleeper }
    }

    pub(crate) fn has_local_jobs(&self) -> bool {
        !self.deque().looks_empty()
    }

    /// Forks a job that this worker takes back itself if no thread steals it. Returns `None` if
    /// there is no room, or the caller is in a fiber: then the caller runs the job.
    #[inline(always)]
    pub(crate) fn fork(&self, job: JobRef) -> Option<usize> {
        if fibers::is_fiber() {
            return None;
        }
        // SAFETY: a `Worker` is used by its own thread only.
        let position = unsafe { self.deque().push(job)? };
        if self.sleeper().is_asked() {
            self.announce_fork();
        }
        Some(position)
    }

    #[cold]
    #[inline(never)]
    fn announce_fork(&self) {
        self.registry.sleep.announce_fork(self.index);
    }

    /// Forks a spawned job, or injects it if there is no room, or the caller is in a fiber.
    pub(crate) fn push_or_inject(&self, tag: usize, job: JobRef) {
        job_queued(JobRef::number(tag, job.as_ptr()));
        // SAFETY: a `Worker` is used by its own thread only.
        if !fibers::is_fiber() && unsafe { self.deque().push(job) }.is_some() {
            self.registry.sleep.spawned(self.index);
        } else {
            self.registry.inject(tag, job);
        }
    }

    /// Returns `true` if a `join` of `site` is too fine to fork: there are older forks to steal.
    #[inline(always)]
    pub(crate) fn runs_in_turn(&self, site: usize) -> bool {
        self.fine().is(site) && self.deque().has(ENOUGH_FORKS)
    }

    /// Counts a `join` of `site` whose first closure has ended here while the second one
    /// was not stolen.
    #[inline(always)]
    pub(crate) fn joined(&self, site: usize) {
        self.grain.joined(site, self.fine());
    }

    #[inline(always)]
    fn fine(&self) -> &FineSite {
        // SAFETY: it is in the registry, which this worker keeps alive.
        unsafe { &(*self.shared).fine }
    }

    /// Takes a fork back if it is still the last one.
    #[inline(always)]
    pub(crate) fn take_back(&self, position: usize) -> bool {
        // SAFETY: a `Worker` is used by its own thread only, which owns the deque.
        !self.breadth_first && unsafe { self.deque().take_back(position) }
    }

    /// Returns how many forks lie below a wait that begins now.
    pub(crate) fn base(&self) -> usize {
        if decisions::is_on() {
            // Its jobs are in no deque.
            return 0;
        }
        // SAFETY: a `Worker` is used by its own thread only, which owns the deque.
        unsafe { self.deque().bottom() }
    }

    /// Takes one of this worker's own forks, but none below `base`, and none in a fiber.
    pub(crate) fn take_local(&self, base: usize) -> Option<JobRef> {
        if fibers::is_fiber() {
            return None;
        }
        // SAFETY: a `Worker` is used by its own thread only, which owns the deque.
        unsafe {
            if self.breadth_first {
                return self.deque().pop_oldest();
            }
            if (self.deque().bottom().wrapping_sub(base) as isize) <= 0 {
                return None;
            }
            self.deque().pop()
        }
    }

    /// Runs a foreign job. A thread that waits for `tag` may help with the job's forks.
    #[inline]
    pub(crate) fn run_stolen<R>(&self, tag: usize, job: impl FnOnce() -> R) -> R {
        if fibers::is_fiber() || decisions::is_on() {
            return job();
        }
        // SAFETY: a `Worker` is used by its own thread only, which owns the deque. `job` catches
        // its panics; if it did not, the pool would abort.
        unsafe {
            let before = self.deque().begin(tag);
            let result = job();
            self.deque().end(before);
            result
        }
    }

    #[inline]
    fn execute(&self, job: JobRef) {
        // SAFETY: the thread that took the job from a queue is the only one to have it.
        unsafe { job.execute() }
    }

    fn is_loop_open(&self) -> bool {
        self.registry.loop_slot.is_open_for(&self.last_loop)
    }

    /// Takes part in the loop in progress, once.
    fn take_part_in_loop(&self) {
        let slot = &self.registry.loop_slot;
        if slot.is_full_for(&self.last_loop, helpers(), this_processor()) {
            self.wait_before_loop();
        } else {
            slot.take_part(&self.last_loop);
        }
    }

    /// Sleeps before taking part in a loop that has a worker for each free processor, or whose
    /// caller this worker has interrupted. Taking part at once would only take time slices from
    /// the others, and could make the caller wait for a piece whose thread is not running. But the
    /// items may block, or wait for each other, so this worker takes part if the loop takes long.
    #[cold]
    fn wait_before_loop(&self) {
        let registry = &self.registry;
        let slot = &registry.loop_slot;
        let generation = slot.generation();
        self.sleep(SleepFor::Own, Some(LATE), Caller::UNKNOWN, || {
            registry.has_ended() || self.has_own_jobs()
        });
        if slot.generation() == generation {
            slot.take_part(&self.last_loop);
        }
    }

    /// Returns anything that this worker may run.
    fn find_work(&self) -> Option<JobRef> {
        self.take_local_any()
            .or_else(|| self.registry.workers[self.index].own_jobs.pop())
            .or_else(|| self.registry.injector.pop())
            .or_else(|| self.steal(None))
    }

    fn take_local_any(&self) -> Option<JobRef> {
        if self.deque().looks_empty() {
            return None;
        }
        self.take_local(self.base().wrapping_sub(1))
    }

    /// Steals a fork that is worth it; with a `tag`, only a fork that descends from that job.
    fn steal(&self, tag: Option<usize>) -> Option<JobRef> {
        if self.registry.num_threads() == 1 {
            return None;
        }
        let workers = &self.registry.workers;
        let mut ages = self.ages.borrow_mut();
        if !ages.is_time() {
            return None;
        }
        for step in 1..workers.len() {
            let victim = (self.index + step) % workers.len();
            let Shared { deque, fine, .. } = &*workers[victim];
            if tag.is_some_and(|tag| deque.tag() != tag) {
                continue;
            }
            if ages.is_old(victim, deque.sight()) {
                fine.clear();
                if let Some(job) = deque.steal(tag) {
                    return Some(job);
                }
            }
        }
        None
    }

    fn has_forks(&self) -> bool {
        let mut workers = self.registry.workers.iter();
        workers.any(|worker| !worker.deque.looks_empty())
    }

    fn has_own_jobs(&self) -> bool {
        !self.registry.workers[self.index].own_jobs.is_empty()
    }

    /// Returns `true` if there is a job that this worker could run.
    fn has_jobs(&self) -> bool {
        self.has_own_jobs() || !self.registry.injector.is_empty() || self.has_forks()
    }

    /// Returns `true` if there is anything but forks that this worker could run.
    fn has_other_work_than_forks(&self) -> bool {
        self.registry.has_ended()
            || self.has_own_jobs()
            || !self.registry.injector.is_empty()
            || self.is_loop_open()
    }

    /// Runs a worker thread from its start to the end of the pool.
    pub(crate) fn run_until_end(&self) {
        while let Some(job) = self.wait_for_work(|| self.registry.has_ended()) {
            self.execute(job);
        }
    }

    /// Pauses for a moment. Returns whether to look again; if not, the worker should sleep.
    fn spin(&self) -> bool {
        if self.ages.borrow_mut().were_new() {
            self.patience().extend();
        }
        self.patience().spin()
    }

    fn patience(&self) -> RefMut<'_, Patience> {
        self.patience.borrow_mut()
    }

    /// Returns the next job of an idle worker, or `None` when `end` returns true and there
    /// is none.
    fn wait_for_work(&self, end: impl Fn() -> bool) -> Option<JobRef> {
        self.patience().begin();
        let mut slept = false;
        loop {
            if let Some(job) = self.find_work() {
                self.patience().found();
                if slept {
                    self.pass_on();
                }
                return Some(job);
            }
            if self.is_loop_open() {
                // This worker may have been woken for a fork that is not old enough yet.
                if std::mem::take(&mut slept) {
                    self.pass_on();
                }
                self.take_part_in_loop();
                self.patience().found();
                self.patience().begin();
                continue;
            }
            if end() {
                return None;
            }
            if self.spin() {
                continue;
            }
            slept = true;
            if !self.rest() {
                self.sleep(SleepFor::Anything, None, Caller::UNKNOWN, || {
                    self.has_other_work_than_forks() || self.has_forks()
                });
                self.rest();
            }
        }
    }

    /// Waits for a moment if there are only forks to take, and enough workers are awake for each
    /// processor without this one: it would only take time slices from them. It then looks again,
    /// as the others may also be blocked. Returns `true` if it waited.
    fn rest(&self) -> bool {
        let too_many = self.registry.sleep.is_one_too_many(processors());
        let rests = too_many && self.has_forks();
        if rests {
            self.sleep(SleepFor::Injected, Some(LATE), Caller::UNKNOWN, || {
                self.has_other_work_than_forks()
            });
        }
        rests
    }

    fn sleep(
        &self,
        what: SleepFor,
        limit: Option<Duration>,
        caller: Caller,
        has_work: impl FnOnce() -> bool,
    ) {
        let sleep = &self.registry.sleep;
        sleep.sleep(self.index, what, limit, caller, has_work);
    }

    /// Wakes another worker if there may be work for several. A worker that was woken calls this
    /// when it has found something to do, or stops looking.
    fn pass_on(&self) {
        let registry = &self.registry;
        registry
            .sleep
            .pass_on(|| !registry.injector.is_empty() || self.has_forks());
    }

    /// Waits until `latch` of `job` is set, running any jobs of this pool.
    pub(crate) fn serve_until(&self, latch: &CrossLatch, job: JobRef, caller: Caller) {
        let _waits = AwaitsJob::new(job.tag());
        self.patience().begin();
        let mut slept = false;
        while !latch.is_set() {
            if let Some(job) = self.find_work() {
                if std::mem::take(&mut slept) {
                    self.pass_on();
                }
                self.execute(job);
            } else if !self.spin() {
                slept = true;
                let _waits = latch.waits(caller);
                self.sleep(SleepFor::Anything, None, caller, || {
                    latch.is_set() || self.has_jobs()
                });
            }
        }
        // A worker that was woken for a fork and leaves wakes another in its place.
        if slept {
            self.pass_on();
        }
        self.patience().found();
    }

    /// Waits until `latch` is set, running only descendants of the job `tag`, and this
    /// worker's own forks above `base`.
    #[cold]
    #[inline(never)]
    pub(crate) fn wait_for<P: Probe>(&self, latch: &P, tag: usize, base: usize, caller: Caller) {
        let _waits = AwaitsJob::new(tag);
        self.patience().begin();
        while !latch.is_set() {
            if let Some(job) = self.take_local(base).or_else(|| self.steal(Some(tag))) {
                self.execute(job);
                continue;
            }
            // Jobs that every worker has to run cannot wait until this one is idle: the
            // thread that broadcasts may hold up the very job that this worker waits for.
            let own_jobs = &self.registry.workers[self.index].own_jobs;
            if let Some(job) = own_jobs
                .pop()
                .or_else(|| self.registry.injector.pop_of(tag))
            {
                self.execute(job);
                continue;
            }
            if !self.spin() {
                let target = self.thief_of(tag);
                let what = target.map_or(SleepFor::Own, SleepFor::ForksOf);
                self.sleep(what, None, caller, || {
                    latch.is_set()
                        || self.has_own_jobs()
                        || self.registry.injector.has_of(tag)
                        || target.is_some_and(|target| {
                            self.registry.workers[target].deque.has_descendant_of(tag)
                        })
                });
            }
        }
        self.patience().found();
    }

    fn thief_of(&self, tag: usize) -> Option<usize> {
        let workers = &self.registry.workers;
        (0..workers.len()).find(|&i| i != self.index && workers[i].deque.tag() == tag)
    }

    /// Runs one job of any kind.
    pub(crate) fn yield_now(&self) -> Yield {
        self.run_one(self.find_work())
    }

    /// Runs one of this worker's own jobs.
    pub(crate) fn yield_local(&self) -> Yield {
        self.run_one(self.take_local_any())
    }

    fn run_one(&self, job: Option<JobRef>) -> Yield {
        match job {
            Some(job) => {
                self.execute(job);
                Yield::Executed
            }
            None => Yield::Idle,
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // `Simulated` has restored the one before.
        if !self.is_simulated {
            CURRENT.set(ptr::null());
        }
    }
}
