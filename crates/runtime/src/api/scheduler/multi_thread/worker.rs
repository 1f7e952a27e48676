//! A worker, which is a thread that has a core: its next task, the end of a poll, and
//! where a ready task goes.
//!
//! # The next task
//!
//! First the task that was woken last, from the LIFO slot, then the ring, then the inject
//! queue, then tasks of other workers. The worker claims the next few tasks of the ring in
//! one step. So that no task starves:
//!
//! * the LIFO slot goes first three times in a row at most, and a task from it shares the
//!   budget of the task before it. Then woken tasks go to the end of the ring, until a
//!   task has run from there.
//! * every `global_queue_interval` polls the inject queue goes first: a share of it comes
//!   into the ring, as single tasks would be far too slow while the ring is never empty.
//!   It also goes before a task that yields when no other is ready.
//! * every `event_interval` polls the timers and the driver get their turn.
//!
//! A task that yields, or was woken while it was polled, goes to the end of the ring. If
//! no other is queued, it does not go through the ring at all, and is polled again at once:
//! no other worker has to know, and no read-modify-write is needed.
//!
//! A yield also begins a *round*, unless one is under way: when the tasks that are queued now have
//! begun, the worker looks at its timers and its driver. So a task that yields is polled again
//! after that look, which serves all that yield in the round. It is left out if there are neither
//! timers nor sources of events, or if another worker waits for them.

use std::cell::{Cell, OnceCell};
use std::ops::ControlFlow;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use blitz_io_core::coop::{self, Budget};
use blitz_io_observe as observe;

use super::shared::Shared;
use super::thread_inbox::ThreadInbox;
use super::worker_core::{Core, Local};
use crate::api::metrics::Counters;
use crate::api::scheduler::reference::{Base, Scheduler};
use crate::api::timers::Wheels;
use crate::kernel::context::{self, Current, Flavor, WorkerGuard};
use crate::kernel::idle::Calls;
use crate::kernel::run_queue::CAPACITY;
use crate::kernel::task::{Notified, Ran};

/// Largest number of times in a row that the LIFO slot goes before the ring.
const MOST_FROM_LIFO_SLOT: u32 = 3;
/// Largest number of tasks that a worker takes from the inject queue at once: half of a ring.
const MOST_INJECTED: usize = CAPACITY / 2;

/// A worker; see the module documentation.
pub(crate) struct Worker {
    pub(super) shared: Arc<Shared>,
    pub(super) index: usize,
    core: NonNull<Core>,
    /// `true` if this thread has the core. A task may give it away to block
    /// the thread.
    pub(super) has_core: Cell<bool>,
    /// Something has come into the LIFO slot, or the core was given away, and the loop has
    /// not looked at that.
    pub(super) pending: Cell<bool>,
    /// The runtime ends, and this worker cancels its tasks: it keeps the core.
    pub(super) shutting_down: Cell<bool>,
    /// Woken tasks may go into the LIFO slot.
    lifo_enabled: bool,
    /// They do at the moment.
    uses_lifo: Cell<bool>,
    /// Timers were started in this poll. Other workers sleep until the timer that was the
    /// earliest before.
    pub(super) timer_started: Cell<bool>,
    /// It is in a park, where events wake tasks. When that returns, others are called for all
    /// of them at once.
    pub(super) parking: Cell<bool>,
    /// Number of forced yields of this thread's tasks when they were counted last.
    forced_yields: Cell<u64>,
    /// Poll hooks or histograms are installed.
    pub(super) observes_polls: bool,
    /// The tasks that are pinned to this thread, if there are or were any.
    pub(super) inbox: OnceCell<Arc<ThreadInbox>>,
}

impl Worker {
    /// A worker that has the core at `index`.
    pub(super) fn new(shared: Arc<Shared>, index: usize) -> Self {
        let (core, common) = (&shared.cores[index], &shared.base.common);
        let lifo_enabled = !common.config.disable_lifo_slot;
        Self {
            core: NonNull::from(core),
            observes_polls: common.observes_polls() || core.counters.watches_polls(),
            shared,
            index,
            has_core: Cell::new(true),
            pending: Cell::new(false),
            shutting_down: Cell::new(false),
            lifo_enabled,
            uses_lifo: Cell::new(lifo_enabled),
            timer_started: Cell::new(false),
            parking: Cell::new(false),
            forced_yields: Cell::new(coop::forced_yields()),
            inbox: OnceCell::new(),
        }
    }

    /// Makes this thread the worker until the guard is dropped. The worker must not move
    /// while the guard is alive.
    pub(super) fn enter(&self) -> WorkerGuard {
        let scheduler = Current {
            flavor: Flavor::MultiThread,
            shared: Arc::as_ptr(&self.shared).cast(),
        };
        let worker = ptr::from_ref(self).cast();
        context::with(|context| context.set_worker(scheduler, worker))
    }

    /// Returns the worker that this thread is, of any multi-thread scheduler.
    ///
    /// # Safety
    ///
    /// The caller is below the worker's loop on the thread's stack for as long as it uses the
    /// reference.
    #[inline]
    pub(super) unsafe fn here<'a>() -> Option<&'a Self> {
        let worker = context::with(|context| context.worker_as(Flavor::MultiThread));
        // SAFETY: `enter` set it, with this flavor, and its guard resets it before the worker is
        // dropped.
        unsafe { worker.cast::<Self>().as_ref() }
    }

    #[inline(always)]
    pub(super) fn core(&self) -> &Core {
        // SAFETY: it is one of `shared`'s, which we hold a reference to.
        unsafe { self.core.as_ref() }
    }

    /// Returns the next task of those that need no search. `None` also when the runtime is about
    /// to end.
    #[inline]
    pub(super) fn next(&self) -> Option<Notified> {
        let core = self.core();
        if core.local.until_checkpoint.get() == 0 {
            if let ControlFlow::Break(first) = self.checkpoint(core) {
                return first;
            }
        }
        if let Some(task) = self.next_pinned() {
            self.begins(core, 1);
            if self.has_yielded() {
                self.show_yielded();
            }
            return Some(task);
        }
        if let Some(task) = self.take_yielded(core) {
            // Tasks from other threads were ready before it.
            let Some(first) = self.next_share(core) else {
                self.begins(core, 1);
                return Some(task);
            };
            self.push_back(core, task);
            return Some(first);
        }
        self.next_local(core).or_else(|| self.next_share(core))
    }

    /// So many tasks begin, or are claimed. If others run between those, from the LIFO slot,
    /// or some are reclaimed, the next checkpoint is that much late or early. (A worker that
    /// shuts down has no checkpoints.)
    #[inline]
    pub(super) fn begins(&self, core: &Core, count: usize) {
        let left = &core.local.until_checkpoint;
        left.set(left.get().saturating_sub(count as u32));
    }

    /// It is time for maintenance, or for the inject queue, or both. A break has the task that
    /// goes first, or none if the runtime is about to end.
    #[cold]
    fn checkpoint(&self, core: &Core) -> ControlFlow<Option<Notified>> {
        coop::set(Budget::UNCONSTRAINED);
        let after_round = core.local.after_round.take();
        if after_round > 0 {
            core.local.until_checkpoint.set(after_round);
            self.look(core);
            return ControlFlow::Continue(());
        }
        let tuning = &core.local.tuning;
        let due = tuning.count_down();
        core.local.until_checkpoint.set(tuning.span());
        if due.maintenance {
            self.maintain(core);
        }
        if due.busy {
            self.count_busy();
        }
        if self.shared.is_closed() {
            return ControlFlow::Break(None);
        }
        if !due.inject {
            return ControlFlow::Continue(());
        }
        // The next task may block the thread, so other workers have to see the yielded
        // task.
        self.queue_yielded();
        match self.next_share(core) {
            None => ControlFlow::Continue(()),
            first => ControlFlow::Break(first),
        }
    }

    /// Performs periodic maintenance.
    fn maintain(&self, core: &Core) {
        observe::cache_time();
        self.look(core);
        self.free_tasks();
        self.count_forced_yields();
        if core.queue.has_stealable() {
            // Whatever a push has overlooked.
            self.notify_ring(core);
        }
    }

    /// Wakes the tasks whose events have happened, and those whose time has come. They go before
    /// a task that has yielded.
    fn look(&self, core: &Core) {
        self.shared.poll_driver(self.shared.driver_of(self.index));
        self.turn_timers();
        if core.queue.has_tasks() {
            self.queue_yielded();
        }
    }

    /// A task yields: the tasks that are queued now, and then a look for events, go before it.
    #[inline]
    pub(super) fn begin_round(&self, core: &Core) {
        let Local {
            after_round,
            until_checkpoint,
            ..
        } = &core.local;
        // If the ring is empty, other workers may have stolen the rest of the round.
        if after_round.get() > 0 && core.queue.has_stealable() || !self.has_to_look() {
            return;
        }
        let queued = core.queue.unclaimed() + self.queued_pinned();
        let left = until_checkpoint.get();
        // If the checkpoint comes before that anyway, it stays.
        let until = left.min(u32::try_from(queued).unwrap_or(u32::MAX));
        until_checkpoint.set(until);
        after_round.set(after_round.get() + (left - until));
    }

    /// Returns `true` if there may be events or timers for which no other worker waits.
    #[inline]
    fn has_to_look(&self) -> bool {
        let Shared { drivers, base, .. } = &*self.shared;
        let has_timers = |wheels: &Wheels| wheels.has_timers(self.index);
        (drivers.has_sources(self.shared.driver_of(self.index))
            || base.common.time.as_ref().is_some_and(has_timers))
            && !(drivers.are_in_use() && self.shared.idle.waits_in_each(drivers.len()))
    }

    /// Returns the next task of this worker's queues.
    #[inline]
    pub(super) fn next_local(&self, core: &Core) -> Option<Notified> {
        let woken = self.take_lifo(core);
        if woken.is_some() {
            self.begins(core, 1);
        }
        woken
            .or_else(|| self.next_claimed(core))
            .or_else(|| self.next_of_ring(core))
    }

    /// Returns the task in the LIFO slot.
    #[inline]
    pub(super) fn take_lifo(&self, core: &Core) -> Option<Notified> {
        // SAFETY: this thread has the core, and with it the queue.
        unsafe { core.queue.take_lifo() }
    }

    /// Returns the next of the claimed tasks.
    #[inline]
    pub(super) fn next_claimed(&self, core: &Core) -> Option<Notified> {
        // SAFETY: this thread has the core, and with it the queue.
        unsafe { core.queue.take_claimed() }
    }

    /// Returns `true` if a task has yielded, and no other was queued.
    #[inline]
    pub(super) fn has_yielded(&self) -> bool {
        // SAFETY: this thread has the core, and with it the queue.
        unsafe { self.core().queue.has_yielded() }
    }

    /// Returns the task that yielded when no other was queued.
    #[inline]
    fn take_yielded(&self, core: &Core) -> Option<Notified> {
        // SAFETY: this thread has the core, and with it the queue.
        unsafe { core.queue.take_yielded() }
    }

    /// Takes the first task of the ring. Claims the next ones if they run before the next
    /// checkpoint; then it also notifies other workers of the tasks that are left in the
    /// ring.
    #[inline]
    fn next_of_ring(&self, core: &Core) -> Option<Notified> {
        let left = core.local.until_checkpoint.get() as usize;
        let most = core.local.tuning.claimed().min(left);
        // SAFETY: this thread has the core, and with it the queue; no task is claimed.
        let task = unsafe { core.queue.pop_and_claim(most) }?;
        let claimed = core.queue.claimed();
        // The claimed ones need not be counted when they begin.
        self.begins(core, 1 + claimed);
        if claimed > 0 {
            self.notify_pushed(core.queue.has_stealable());
        }
        Some(task)
    }

    /// Returns `true` if there are tasks in the inject queue.
    pub(super) fn has_injected(&self) -> bool {
        !self.shared.inject.is_empty()
    }

    /// This worker's share of the inject queue, whose first task is returned.
    #[inline]
    fn next_share(&self, core: &Core) -> Option<Notified> {
        let inject = &self.shared.inject;
        if inject.is_empty() {
            return None;
        }
        // SAFETY: this thread has the core, and with it the queue.
        let room = unsafe { core.queue.room() }.min(MOST_INJECTED);
        let first = inject.pop_share(self.shared.cores.len(), room, |task| {
            // SAFETY: this thread has the core, and with it the queue, in which there is room.
            let pushed = unsafe { core.queue.push(task) };
            debug_assert!(pushed.is_ok());
        })?;
        self.begins(core, 1);
        if core.queue.has_stealable() && !core.local.searching.get() {
            self.notify_pushed(true);
        }
        Some(first)
    }

    /// Runs a task, and those that directly follow it.
    #[inline]
    pub(super) fn run(&self, mut task: Notified) {
        let core = self.core();
        if core.local.searching.get() {
            self.stop_searching(core);
        }
        if self.observes_polls {
            coop::set(Budget::FULL);
            return self.end_poll(core, self.run_observed(task));
        }
        loop {
            coop::set(Budget::FULL);
            let ran = task.run();
            if self.pending.get() {
                return self.end_poll(core, ran);
            }
            core.counters.polls.add(1);
            match self.follows(core, ran) {
                Some(next) => task = next,
                None => return,
            }
        }
    }

    /// The worker has found something.
    #[cold]
    fn stop_searching(&self, core: &Core) {
        core.local.searching.set(false);
        core.local.reclaims.set(false);
        self.shared.idle.found_work(self);
    }

    /// Ends a poll that has made something ready, or is observed. Runs the task in the
    /// LIFO slot, as often as that may come before the ring, within the budget of the
    /// task before it.
    fn end_poll(&self, core: &Core, mut ran: Ran) {
        let mut count = 0;
        loop {
            if !self.has_core.get() {
                // It was given away.
                if let Ran::Again(task) | Ran::Yielded(task) = ran {
                    self.shared.schedule_remotely(task);
                }
                return;
            }
            core.counters.polls.add(1);
            if let Some(task) = self.wants_again(core, ran) {
                self.reschedule(core, task);
            }
            let Some(task) = self.take_lifo(core) else {
                break;
            };
            if !coop::has_budget_remaining() {
                self.push_back(core, task);
                break;
            }
            count += 1;
            if count == MOST_FROM_LIFO_SLOT {
                self.uses_lifo.set(false);
            }
            ran = if self.observes_polls {
                self.run_observed(task)
            } else {
                task.run()
            };
        }
        if count >= MOST_FROM_LIFO_SLOT {
            self.uses_lifo.set(self.lifo_enabled);
        }
        if self.timer_started.take() {
            // Should a later poll of this worker take long, another worker fires them.
            self.shared.is_timer_set_for(self.index);
        }
        self.pending.set(false);
    }

    /// Returns the task that runs right after a poll: the next claimed one, or the same
    /// one if it asks for that and no other is ready. `None` if the worker has to check
    /// other queues first.
    #[inline]
    fn follows(&self, core: &Core, ran: Ran) -> Option<Notified> {
        let task = match ran {
            Ran::Done | Ran::Idle => {
                return self.next_claimed(core).or_else(|| self.next_woken(core));
            }
            Ran::Here(task) => {
                self.begins(core, 1);
                return Some(task);
            }
            ran => self.wants_again(core, ran)?,
        };
        if let Some(next) = self.next_claimed(core) {
            self.push_back(core, task);
            self.notify_pushed(true);
            return Some(next);
        }
        let is_checkpoint = core.local.until_checkpoint.get() == 0;
        if !is_checkpoint && !core.queue.has_stealable() && self.shared.inject.is_empty() {
            self.begins(core, 1);
            return Some(task);
        }
        self.reschedule(core, task);
        None
    }

    /// The task, if it is to be polled again behind the others.
    #[inline]
    fn wants_again(&self, core: &Core, ran: Ran) -> Option<Notified> {
        match ran {
            Ran::Yielded(task) => {
                self.begin_round(core);
                Some(task)
            }
            Ran::Again(task) => {
                if context::take_yielded() {
                    self.begin_round(core);
                }
                Some(task)
            }
            _ => None,
        }
    }

    fn run_observed(&self, task: Notified) -> Ran {
        let (base, counters) = (&self.shared.base, &self.core().counters);
        base.run_observed(task, self.index, counters, || self.has_core.get())
    }

    /// A task that was polled wants to be polled again, behind the others.
    #[inline]
    pub(super) fn reschedule(&self, core: &Core, task: Notified) {
        if !core.queue.has_tasks() && !self.has_yielded() {
            // SAFETY: this thread has the core, and with it the queue; none has yielded.
            return unsafe { core.queue.put_yielded(task) };
        }
        self.push_back(core, task);
        self.notify_ring(core);
    }

    /// Puts a task at the end of the ring.
    #[inline]
    pub(super) fn push_back(&self, core: &Core, task: Notified) {
        // SAFETY: this thread has the core, and with it the queue.
        if let Err(task) = unsafe { core.queue.push(task) } {
            self.overflow(core, task);
        }
    }

    /// The ring is full: moves half of it, with the task, to the inject queue. The
    /// claimed tasks go first, as they are older.
    #[cold]
    fn overflow(&self, core: &Core, task: Notified) {
        // SAFETY: this thread has the core, and with it the queue.
        let mut tasks = unsafe { core.queue.spill() };
        tasks.push(task);
        self.shared.inject.push_all(tasks);
        core.counters.overflows.add(1);
        self.unpark_called(self.shared.idle.injected());
    }

    /// The task that yielded when no other was queued goes to the ring after all.
    pub(super) fn queue_yielded(&self) {
        let core = self.core();
        if let Some(task) = self.take_yielded(core) {
            self.push_back(core, task);
        }
    }

    /// A task that is pinned to this thread goes before the task that yielded. Should it take long, the
    /// monitor finds the yielded task.
    #[cold]
    fn show_yielded(&self) {
        self.queue_yielded();
        self.notify_pushed(false);
    }

    /// A task is in the ring. This worker takes the next one itself, as soon as its
    /// current poll has ended. If that is the only task, it wakes no other worker, unless
    /// the user has disabled the LIFO slot.
    #[inline]
    pub(super) fn notify_ring(&self, core: &Core) {
        self.notify_pushed(core.queue.depth() > 1 || !self.lifo_enabled);
    }

    /// Wakes others for pushed tasks, if need be. `stealable`: they may take the tasks
    /// while this worker is busy.
    #[inline]
    pub(super) fn notify_pushed(&self, stealable: bool) {
        if !self.parking.get() {
            self.unpark_called(self.shared.idle.pushed(stealable));
        }
    }

    /// Unparks the called workers. A worker whose park wakes a task may call itself: then
    /// this thread is awake, and sees the call when the park returns. But if this thread has given its
    /// core away, another one is the worker, and may be asleep.
    #[inline]
    pub(super) fn unpark_called(&self, calls: Calls) {
        if calls != Calls::default() {
            let is_up = self.has_core.get().then_some(self.index);
            self.shared.unpark_all(calls, is_up);
        }
    }

    /// Wakes the tasks whose time has come.
    #[inline]
    pub(super) fn turn_timers(&self) {
        if let Some(wheels) = &self.shared.base.common.time {
            wheels.look(self.index);
        }
    }

    /// Frees tasks of this worker's list that have ended on other threads.
    #[inline]
    pub(super) fn free_tasks(&self) {
        // SAFETY: this thread has the core, and with it the list.
        unsafe { self.shared.base.owned.drain(self.index) }
    }

    /// Counts how often this thread has made tasks yield.
    pub(super) fn count_forced_yields(&self) {
        let now = coop::forced_yields();
        let more = now - self.forced_yields.replace(now);
        self.core().counters.forced_yields.add(more);
    }

    /// Counts the time that the worker was busy.
    pub(super) fn count_busy(&self) {
        let core = self.core();
        core.counters.busy(&core.local.busy);
    }
}

impl Scheduler for Shared {
    type Worker = Worker;

    #[inline]
    fn base(&self) -> &Base {
        &self.base
    }

    #[inline]
    fn own_list(worker: &Worker) -> Option<usize> {
        worker.has_core.get().then_some(worker.index)
    }

    #[inline]
    fn counters_of<'a>(&'a self, worker: &'a Worker) -> &'a Counters {
        &worker.core().counters
    }

    #[inline]
    fn schedule_here(&self, worker: &Worker, task: Notified) {
        let core = worker.core();
        core.counters.scheduled_here.add(1);
        if !worker.uses_lifo.get() {
            worker.push_back(core, task);
            return worker.notify_ring(core);
        }
        // SAFETY: this thread has the core, and with it the queue.
        let displaced = unsafe { core.queue.put_lifo(task) };
        worker.pending.set(true);
        let is_full = displaced.is_some();
        if let Some(displaced) = displaced {
            worker.push_back(core, displaced);
        }
        worker.notify_pushed(is_full);
    }

    fn queue_remotely(&self, task: Notified) {
        self.inject.push(task);
        self.unpark_called(self.idle.injected());
    }
}
