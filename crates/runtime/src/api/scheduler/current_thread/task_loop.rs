//! The core of the thread that runs the tasks: their queue, and the loop.
//!
//! The queue is first in, first out. When it is empty, a round is over. If tasks have yielded in
//! it, or the future of `block_on` has, the thread looks at the driver and the timers, and queues
//! the tasks that these wake. Then the future of `block_on` gets its turn, and those that yielded
//! join the queue. So a task that yields waits until the thread has looked at everything else. A
//! round costs one look, however many tasks yield in it: one system call if there are sources of
//! events, one look at the clock if there are timers, and nothing otherwise. If there is nothing
//! at all, the thread sleeps until the next timer or an unpark.
//!
//! Long rounds must delay nothing. So after `event_interval` polls at the latest, the
//! future of `block_on` and the timers get their turn, and tasks that have yielded join
//! the queue. After `global_queue_interval` polls, tasks join that other threads have
//! made ready.
//!
//! # Simulations
//!
//! With a back end that decides (`observe::decisions`), there are no rounds, and each ready task is in the queue:
//! the back end has the same list, and selects the task that runs next. It also decides whether the clock
//! moves when the queue is empty. No call waits for other threads then.

use std::cell::{Cell, UnsafeCell};
use std::collections::VecDeque;
use std::future::Future;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::ThreadId;
use std::time::Duration;

use blitz_io_core::{Spin, coop};
use blitz_io_futex::atomic::Ordering;
use blitz_io_observe as observe;
use blitz_io_observe::decisions::{self, Idle, Next};

use super::shared::Shared;
use crate::api::config::UnhandledPanic;
use crate::api::hooks;
use crate::api::metrics::{Counters, Stopwatch};
use crate::api::scheduler::reference::{Base, Scheduler};
use crate::api::timers::Wheels;
use crate::kernel::context;
use crate::kernel::task::{Notified, Ran};

/// Default number of polls between two looks at the inject queue.
const GLOBAL_QUEUE_INTERVAL: u32 = 31;

const INITIAL_CAPACITY: usize = 64;

type Queue = VecDeque<Notified>;

/// The core; see the module documentation. Only the thread that has its turn uses it, and other
/// threads get it only as a whole, so that it needs no atomics.
pub(in crate::api::scheduler) struct Core {
    /// One of them is the queue, and the other one has those that have yielded, for the
    /// next round. Then they change places.
    queues: [UnsafeCell<Queue>; 2],
    /// Which one is the queue.
    which: Cell<bool>,
    /// This thread has woken the future of `block_on`.
    main_woken: Cell<bool>,
    /// The future of `block_on` has yielded.
    main_yielded: Cell<bool>,
    /// A simulation lets no timer fire.
    holds_timers: Cell<bool>,
    /// Number of polls, and of looks for something to poll.
    tick: Cell<u32>,
    /// `tick` when timers had their turn.
    timers_at: Cell<u32>,
    /// `tick` when the inject queue is to be looked at next.
    inject_at: Cell<u32>,
    /// Poll hooks or histograms are installed.
    observes_polls: bool,
    /// The value of [`coop::forced_yields`] when they were counted last.
    forced_yields: Cell<u64>,
    /// The thread that had the last turn.
    thread: Cell<Option<ThreadId>>,
    event_interval: u32,
    global_queue_interval: u32,
    /// A task has panicked, and the runtime ends for it.
    doomed: Cell<bool>,
}

/// A task panicked, and the runtime is to end for it.
pub(super) struct Doomed;

impl Core {
    pub(super) fn new(shared: &Shared) -> Self {
        let config = &shared.base.common.config;
        Self {
            queues: [INITIAL_CAPACITY, 0].map(|n| UnsafeCell::new(VecDeque::with_capacity(n))),
            which: Cell::new(false),
            main_woken: Cell::new(false),
            main_yielded: Cell::new(false),
            holds_timers: Cell::new(false),
            tick: Cell::new(0),
            timers_at: Cell::new(0),
            inject_at: Cell::new(1),
            observes_polls: shared.base.common.observes_polls() || shared.counters.watches_polls(),
            forced_yields: Cell::new(0),
            thread: Cell::new(None),
            event_interval: config.event_interval,
            global_queue_interval: config
                .global_queue_interval
                .unwrap_or(GLOBAL_QUEUE_INTERVAL),
            doomed: Cell::new(false),
        }
    }

    /// Puts a task at the end of the queue.
    #[inline]
    fn push(&self, task: Notified) {
        decisions::ready(task.id().as_u64());
        self.with_queue(|queue| queue.push_back(task));
    }

    /// Queues a task that was made ready on this thread.
    #[inline]
    pub(super) fn schedule(&self, task: Notified, counters: &Counters) {
        self.push(task);
        counters.scheduled_here.add(1);
        self.count_queued(counters);
    }

    /// Says how many tasks wait.
    #[inline]
    fn count_queued(&self, counters: &Counters) {
        let here = self.with_queue(|queue| queue.len());
        let yielded = self.with_yielded(|yielded| yielded.len());
        counters.queued.set((here + yielded) as u64);
    }

    /// Counts how often this thread has made tasks yield.
    fn count_forced_yields(&self, counters: &Counters) {
        let now = coop::forced_yields();
        let more = now - self.forced_yields.replace(now);
        counters.forced_yields.add(more);
    }

    /// Wakes the future of `block_on`.
    #[inline]
    pub(super) fn wake_main(&self) {
        self.main_woken.set(true);
    }

    #[inline]
    fn with_queue<R>(&self, with: impl FnOnce(&mut Queue) -> R) -> R {
        let queue = &self.queues[usize::from(self.which.get())];
        // SAFETY: only this thread has the core, and the closures of this file call
        // nothing that could come here again for the same queue.
        with(unsafe { &mut *queue.get() })
    }

    /// Puts a task at the end of the next round.
    #[inline]
    fn put_off(&self, task: Notified) {
        if decisions::is_on() {
            return self.push(task);
        }
        self.with_yielded(|yielded| yielded.push_back(task));
    }

    #[inline]
    fn with_yielded<R>(&self, with: impl FnOnce(&mut Queue) -> R) -> R {
        let yielded = &self.queues[usize::from(!self.which.get())];
        // SAFETY: only this thread has the core, and the closures of this file call
        // nothing that could come here again for the same queue.
        with(unsafe { &mut *yielded.get() })
    }

    #[inline]
    fn pop(&self, shared: &Shared) -> Option<Notified> {
        if decisions::is_on() {
            return self.pop_decided(shared);
        }
        self.with_queue(VecDeque::pop_front)
    }

    /// Returns the ready task that a simulation selects.
    #[inline]
    fn pop_decided(&self, shared: &Shared) -> Option<Notified> {
        let wheels = shared.base.common.time.as_ref();
        loop {
            if self.with_queue(|queue| queue.is_empty()) {
                return None;
            }
            let has_timer = wheels.is_some_and(|wheels| wheels.has_timers(0));
            match decisions::next(has_timer) {
                Next::Task(index) => return self.with_queue(|queue| queue.remove(index)),
                Next::Advance => self.advance(shared, None),
                Next::Idle => {
                    self.idle_decided(shared);
                    if self.main_woken.get() {
                        return None;
                    }
                }
            }
        }
    }

    /// Moves a simulated clock by this time, or to the next timer. Wakes the tasks whose time has come.
    fn advance(&self, shared: &Shared, by: Option<Duration>) {
        let common = &shared.base.common;
        let next = || common.time.as_ref()?.next_after(0);
        if let Some(by) = by.or_else(next) {
            // If this fails, the clock is not paused any more, and time reaches the timer.
            _ = common.clock.advance(by);
        }
        self.holds_timers.set(false);
        self.look(shared);
    }

    /// Queues the tasks that other threads have made ready.
    #[inline]
    fn take_injected(&self, shared: &Shared) {
        if !shared.inject.is_empty() {
            let known = self.with_queue(|queue| queue.len());
            self.with_queue(|queue| shared.inject.drain_into(queue));
            if decisions::is_on() {
                self.with_queue(|queue| {
                    (queue.iter().skip(known))
                        .for_each(|task| decisions::ready(task.id().as_u64()));
                });
            }
        }
    }

    /// The next task, if there is one. Those that have yielded follow when the future of
    /// `block_on` has had its turn, if it wants one.
    #[inline]
    fn next(&self, shared: &Shared) -> Option<Notified> {
        let tick = self.tick.get().wrapping_add(1);
        self.tick.set(tick);
        if tick == self.inject_at.get() {
            self.take_injected(shared);
            self.inject_at
                .set(tick.wrapping_add(self.global_queue_interval));
        }
        match self.pop(shared) {
            Some(task) => Some(task),
            None => self.next_but_queued(shared),
        }
    }

    #[inline(never)]
    fn next_but_queued(&self, shared: &Shared) -> Option<Notified> {
        self.take_injected(shared);
        let queued = self.pop(shared);
        if queued.is_some() || !self.has_yielded() || self.main_is_woken(shared) {
            return queued;
        }
        self.look(shared);
        if self.main_is_woken(shared) {
            return None;
        }
        self.resume();
        self.pop(shared)
    }

    #[inline]
    fn main_is_woken(&self, shared: &Shared) -> bool {
        self.main_woken.get() || shared.main_woken.load(Ordering::Acquire)
    }

    /// Runs tasks until `future` is ready.
    pub(super) fn block_on<F: Future>(
        &self,
        shared: &Arc<Shared>,
        mut future: Pin<&mut F>,
    ) -> Result<F::Output, Doomed> {
        let waker = main_waker(shared);
        let mut context = Context::from_waker(&waker);
        let mut poll = || {
            coop::budget(|| {
                let polled = future.as_mut().poll(&mut context);
                self.main_yielded.set(context::take_yielded());
                polled
            })
        };
        // The core may have been another thread's before. Yields that this thread has
        // counted until now are not the core's.
        self.forced_yields.set(coop::forced_yields());
        if let Poll::Ready(output) = poll() {
            // Nothing that is worth a look at the clock.
            return Ok(output);
        }
        let busy = Cell::new(Stopwatch::start());
        observe::cache_time_after_sleep();
        loop {
            let is_time = self.run_some(shared)?;
            // Not after each poll, which it would make a tenth slower.
            self.count_queued(&shared.counters);
            if is_time {
                self.poll_driver(shared);
                self.count_work(shared, &busy);
                // The queue may never be empty: those that have yielded wait long enough.
                self.resume();
            } else if self.has_work(shared) {
                self.begin_round(shared);
            } else if decisions::is_on() {
                self.sleep(shared);
            } else {
                self.count_work(shared, &busy);
                self.sleep(shared);
                let now = Stopwatch::start();
                busy.set(now);
                observe::cache_time_after_sleep();
                self.look_at_timers(shared, |wheels| wheels.look_at(0, now.started()));
            }
            if self.take_main_woken(shared) {
                if let Poll::Ready(output) = poll() {
                    self.count_work(shared, &busy);
                    return Ok(output);
                }
            }
        }
    }

    /// Counts the time and the forced yields since the stopwatch was started. A simulation takes no time.
    fn count_work(&self, shared: &Shared, busy: &Cell<Stopwatch>) {
        if !decisions::is_on() {
            shared.counters.busy(busy);
        }
        self.count_forced_yields(&shared.counters);
    }

    /// Returns `true` if the future of `block_on` has been woken since the last time.
    #[inline]
    fn take_main_woken(&self, shared: &Shared) -> bool {
        let here = self.main_woken.replace(false);
        let elsewhere = shared.main_woken.load(Ordering::Relaxed)
            // A read-modify-write, to see all that the last waker has done.
            && shared.main_woken.swap(false, Ordering::AcqRel);
        here | elsewhere
    }

    /// Runs tasks until it is time for other things. `false` when there are none left.
    fn run_some(&self, shared: &Shared) -> Result<bool, Doomed> {
        for _ in 0..self.event_interval {
            if self.doomed.get() {
                return Err(Doomed);
            }
            match self.next(shared) {
                Some(task) => self.run(shared, task),
                None => return Ok(false),
            }
            if decisions::is_on() && self.main_woken.get() {
                // The run is over.
                return Ok(true);
            }
        }
        Ok(true)
    }

    #[inline]
    fn run(&self, shared: &Shared, task: Notified) {
        let (has_acted, has_ended) = coop::budget(|| {
            let ran = if self.observes_polls {
                shared.base.run_observed(task, 0, &shared.counters, || true)
            } else {
                task.run()
            };
            shared.counters.polls.add(1);
            let (has_acted, has_ended) = (coop::has_acted(), matches!(ran, Ran::Done));
            match ran {
                Ran::Done | Ran::Idle => {}
                Ran::Again(task) if !context::take_yielded() => self.push(task),
                Ran::Here(task) => self.push(task),
                Ran::Again(task) | Ran::Yielded(task) => self.put_off(task),
            }
            (has_acted, has_ended)
        });
        if decisions::polled(has_acted, has_ended) {
            self.wake_main();
        }
    }

    /// Returns `true` if there is something to do before the thread may sleep.
    fn has_work(&self, shared: &Shared) -> bool {
        self.main_is_woken(shared)
            || self.with_queue(|queue| !queue.is_empty())
            || self.has_yielded()
            || !shared.inject.is_empty()
    }

    /// Returns `true` if tasks have yielded in this round.
    #[inline]
    fn has_yielded(&self) -> bool {
        self.with_yielded(|yielded| !yielded.is_empty())
    }

    /// Queues the tasks that have yielded, behind the tasks whose events have happened.
    #[inline]
    fn begin_round(&self, shared: &Shared) {
        if self.tick.get().wrapping_sub(self.timers_at.get()) >= self.event_interval {
            self.poll_driver(shared);
        } else if self.has_yielded() || self.main_yielded.take() {
            self.look(shared);
        }
        self.resume();
    }

    /// Makes the tasks that have yielded the queue, or adds them to it.
    #[inline]
    fn resume(&self) {
        if self.with_queue(|queue| queue.is_empty()) {
            self.which.set(!self.which.get());
        } else {
            self.with_queue(|queue| self.with_yielded(|yielded| queue.append(yielded)));
        }
    }

    /// Gives the core to this thread from now on.
    pub(super) fn is_run_by(&self, thread: ThreadId, shared: &Shared) {
        if self.thread.replace(Some(thread)) != Some(thread) {
            shared.counters.is_run_by(thread);
            Self::wake_set_aside(shared);
        }
    }

    /// Wakes the tasks that wait for the thread that they are pinned to: another thread has its turn now.
    fn wake_set_aside(shared: &Shared) {
        let set_aside = std::mem::take(&mut *shared.set_aside.lock());
        set_aside.into_values().for_each(Waker::wake);
    }

    /// Wakes those whose events have happened, and those whose time has come.
    #[inline]
    fn poll_driver(&self, shared: &Shared) {
        observe::cache_time();
        self.look(shared);
    }

    /// Polls the driver and the timers, at the end of a round in which tasks have yielded.
    #[inline]
    fn look(&self, shared: &Shared) {
        shared.driver.poll();
        self.look_at_timers(shared, |wheels| wheels.look(0));
    }

    /// Wakes those whose time has come.
    #[inline]
    fn look_at_timers(&self, shared: &Shared, look: impl FnOnce(&Wheels)) {
        self.timers_at.set(self.tick.get());
        if decisions::IS_DECIDED && self.holds_timers.get() {
            return;
        }
        if let Some(wheels) = &shared.base.common.time {
            look(wheels);
        }
    }

    /// Sleeps until the next timer or until there is something to do.
    #[cold]
    fn sleep(&self, shared: &Shared) {
        let hooks = &shared.base.common.hooks;
        hooks::call(hooks.on_thread_park.as_ref());
        // The hook may have made something ready.
        if self.has_work(shared) {
            self.poll_driver(shared);
        } else {
            self.park(shared);
        }
        hooks::call(hooks.on_thread_unpark.as_ref());
    }

    fn park(&self, shared: &Shared) {
        shared.counters.about_to_park();
        if decisions::is_on() {
            self.idle_decided(shared);
        } else if self.jump_to_next_timer(shared) {
            self.poll_driver(shared);
        } else {
            self.wait(shared);
        }
        shared.counters.unparked();
    }

    /// Moves a paused clock, for which no time passes by sleeping, to the next
    /// timer, if there is one.
    fn jump_to_next_timer(&self, shared: &Shared) -> bool {
        let common = &shared.base.common;
        if !common.clock.moves_when_idle() {
            return false;
        }
        // An event that has happened goes before any timer.
        shared.driver.poll();
        let wheels = common.time.as_ref();
        self.has_work(shared) || wheels.is_some_and(|wheels| wheels.auto_advance(0))
    }

    /// Moves a simulated clock, or ends the run, as no task is ready.
    fn idle_decided(&self, shared: &Shared) {
        let wheels = shared.base.common.time.as_ref();
        match decisions::idle(wheels.and_then(|wheels| wheels.next_after(0))) {
            Idle::Advance => self.advance(shared, None),
            Idle::By(time) => self.advance(shared, Some(time)),
            Idle::Hold(time) => {
                self.holds_timers.set(true);
                _ = shared.base.common.clock.advance(time);
            }
            Idle::Stop => self.wake_main(),
        }
    }

    fn wait(&self, shared: &Shared) {
        // The system's events are seen only by a park.
        if !shared.driver.has_sources() {
            let mut spin = Spin::EVENT;
            while spin.turn() {
                if self.has_work(shared) {
                    return;
                }
            }
        }
        let wheels = shared.base.common.time.as_ref();
        let deadline = wheels.and_then(|wheels| wheels.next_deadline(0));
        // A thread that made something ready since the last look has left a token here.
        shared.driver.park(deadline);
    }

    /// A task panicked. If the runtime is to end for it, so it does.
    #[cold]
    pub(super) fn unhandled_panic(&self, shared: &Shared) {
        decisions::panicked();
        match shared.base.common.config.unhandled_panic {
            UnhandledPanic::Ignore => {}
            UnhandledPanic::ShutdownRuntime => {
                self.doomed.set(true);
                self.cancel_all(shared);
            }
        }
    }

    /// Makes it like a new one. Returns `false` if there is something to do.
    #[cfg(feature = "sim")]
    pub(super) fn restart(&self, shared: &Shared) -> bool {
        self.main_yielded.set(false);
        self.holds_timers.set(false);
        self.tick.set(0);
        self.timers_at.set(0);
        self.inject_at.set(1);
        !self.doomed.get() && !self.has_work(shared)
    }

    /// Queues a closure for blocking work, which a simulation runs on its thread.
    pub(super) fn queue_job(&self, task: Notified) {
        self.push(task);
    }

    fn cancel_all(&self, shared: &Shared) {
        // SAFETY: this thread has the core, and with it the list.
        unsafe { shared.base.owned.close_own(0) };
        shared.base.owned.close_and_cancel_all();
    }

    /// Ends all tasks.
    pub(super) fn shut_down(&self, shared: &Shared) {
        self.cancel_all(shared);
        // They are cancelled already: this gives their memory up.
        Self::wake_set_aside(shared);
        loop {
            self.resume();
            while let Some(task) = self.next(shared) {
                // Each is cancelled, so none comes back.
                let ran = task.run();
                debug_assert!(matches!(ran, Ran::Done));
            }
            self.count_queued(&shared.counters);
            if shared.base.owned.is_empty() {
                return;
            }
            // Another thread has a token of this scheduler, and is about to queue it.
            shared.driver.park(None);
        }
    }
}

impl Shared {
    /// Queues a closure for blocking work if this thread runs the tasks. Otherwise returns it.
    pub(crate) fn queue_job(&self, task: Notified) -> Result<(), Notified> {
        let core = context::with(|context| context.worker_for(std::ptr::from_ref(self).cast()));
        // SAFETY: for a scheduler of this kind the worker is a `Core` (`turns.rs`), which
        // does not move or end as long as it is in the context.
        match unsafe { core.cast::<Core>().as_ref() } {
            Some(core) => core.queue_job(task),
            None => return Err(task),
        }
        Ok(())
    }
}

impl Scheduler for Shared {
    type Worker = Core;

    #[inline]
    fn base(&self) -> &Base {
        &self.base
    }

    #[inline]
    fn own_list(_: &Core) -> Option<usize> {
        Some(0)
    }

    #[inline]
    fn counters_of<'a>(&'a self, _: &'a Core) -> &'a Counters {
        &self.counters
    }

    #[inline]
    fn schedule_here(&self, core: &Core, task: Notified) {
        core.schedule(task, &self.counters);
    }

    fn queue_remotely(&self, task: Notified) {
        self.inject.push(task);
        self.driver.unpark();
    }

    fn unhandled_panic(&self, core: &Core) {
        core.unhandled_panic(self);
    }
}

/// Returns the waker of the future that `block_on` was given. It counts references to the scheduler,
/// but this one, which each poll gets, does not.
fn main_waker(shared: &Arc<Shared>) -> ManuallyDrop<Waker> {
    // SAFETY: the pointer is an `Arc`'s. The caller's takes the place of this one, as the waker
    // is not dropped.
    let borrowed = unsafe { Arc::from_raw(Arc::as_ptr(shared)) };
    ManuallyDrop::new(Waker::from(borrowed))
}

impl Wake for Shared {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let core = context::with(|context| context.worker_for(Arc::as_ptr(self).cast()));
        // SAFETY: for a scheduler of this kind the worker is a `Core` (`turns.rs`), which
        // does not move or end as long as it is in the context.
        match unsafe { core.cast::<Core>().as_ref() } {
            Some(core) => core.wake_main(),
            None => self.wake_main(),
        }
    }
}
