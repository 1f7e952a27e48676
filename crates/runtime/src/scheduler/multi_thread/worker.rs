//! A worker: a thread that has a core. Which of its tasks is next, and where a task goes that
//! becomes ready on its thread.
//!
//! # What runs next
//!
//! The task that was woken last, from the LIFO slot, then the ring, of which the next few
//! tasks are claimed in one step, then the inject queue, then what others have. So that no
//! task starves:
//!
//! * the LIFO slot goes first three times in a row at most (`run.rs`), and what runs from it
//!   shares the budget of the task before it. Then what is woken goes to the end of the ring,
//!   until a task has run from there.
//! * every `global_queue_interval` polls the inject queue goes first: a share of it comes
//!   into the ring, as one task at a time would be far too slow while the ring is never
//!   empty. It also goes before a task that yields when no other is ready.
//! * every `event_interval` polls the timers and the driver get their turn.
//!
//! A task that yields, or was woken while it was polled, goes to the end of the ring. If
//! no other is queued, it does not go through the ring at all, and is polled again at once:
//! no other worker has to know, and no read-modify-write is needed.

use std::cell::Cell;
use std::future::Future;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use blitz_sync::internals::coop;

use super::super::address::Address;
use super::core::{Core, Local};
use super::idle::Calls;
use super::queue::CAPACITY;
use super::run_batch;
use super::shared::Shared;
use crate::context::{self, WorkerGuard};
use crate::core::{Header, Id, JoinHandle, Notified, Ran, Schedule};

thread_local! {
    /// The multi-thread scheduler's worker that this thread is.
    static HERE: Cell<*const Worker> = const { Cell::new(ptr::null()) };
}

/// See the head of this file.
pub(crate) struct Worker {
    pub(super) shared: Arc<Shared>,
    pub(super) index: usize,
    core: NonNull<Core>,
    /// Whether the core is this thread's. It is not when a task has given it away to block
    /// the thread.
    pub(super) has_core: Cell<bool>,
    /// Something has come into the LIFO slot, or the core was given away, and the loop has
    /// not looked at that.
    pub(super) pending: Cell<bool>,
    /// The runtime ends, and this worker cancels its tasks: it keeps the core.
    pub(super) shutting_down: Cell<bool>,
    /// What is woken may go into the LIFO slot.
    pub(super) lifo_enabled: bool,
    /// It does at the moment.
    pub(super) uses_lifo: Cell<bool>,
    /// It is in a park, where events wake tasks. When that returns, others are called for all
    /// of them at once.
    pub(super) parking: Cell<bool>,
    /// How often tasks of this thread had been made to yield when that was counted last.
    forced_yields: Cell<u64>,
}

/// A thread is a worker until this is dropped.
#[must_use]
pub(super) struct Here {
    before: *const Worker,
    _context: WorkerGuard,
}

impl Drop for Here {
    fn drop(&mut self) {
        HERE.set(self.before);
    }
}

impl Worker {
    /// A worker that has the core at `index`.
    pub(super) fn new(shared: Arc<Shared>, index: usize) -> Self {
        let lifo_enabled = !shared.common().config.disable_lifo_slot;
        Self {
            core: NonNull::from(&shared.cores[index]),
            shared,
            index,
            has_core: Cell::new(true),
            pending: Cell::new(false),
            shutting_down: Cell::new(false),
            lifo_enabled,
            uses_lifo: Cell::new(lifo_enabled),
            parking: Cell::new(false),
            forced_yields: Cell::new(coop::forced_yields()),
        }
    }

    /// This thread is the worker until the guard is dropped. The worker must stay where it is
    /// so long.
    pub(super) fn enter(&self) -> Here {
        let address = Arc::as_ptr(&self.shared).cast();
        let worker = ptr::from_ref(self);
        Here {
            before: HERE.replace(worker),
            _context: context::with(|context| context.set_worker(address, worker.cast())),
        }
    }

    /// The worker that this thread is.
    ///
    /// # Safety
    ///
    /// The caller is below the worker's loop on the thread's stack for as long as it uses the
    /// reference.
    #[inline]
    pub(super) unsafe fn here<'a>() -> Option<&'a Self> {
        // SAFETY: `enter` set it, and its guard takes it back before the worker goes away.
        unsafe { HERE.get().as_ref() }
    }

    /// Whether it is one of the scheduler at `address`.
    pub(super) fn is_of(&self, address: *const ()) -> bool {
        ptr::eq(Arc::as_ptr(&self.shared).cast(), address)
    }

    #[inline(always)]
    pub(super) fn core(&self) -> &Core {
        // SAFETY: it is one of `shared`'s, which we hold a reference to.
        unsafe { self.core.as_ref() }
    }

    #[inline]
    pub(super) fn local(&self) -> &Local {
        &self.core().local
    }

    /// The next task of this worker's queues.
    #[inline]
    pub(super) fn next_local(&self, core: &Core) -> Option<Notified> {
        let woken = self.take_lifo(core);
        if woken.is_some() {
            core.local.tuning.begins(1);
        }
        woken
            .or_else(|| self.next_claimed(core))
            .or_else(|| self.next_of_ring(core))
    }

    /// The task in the LIFO slot.
    #[inline]
    pub(super) fn take_lifo(&self, core: &Core) -> Option<Notified> {
        // SAFETY: the core is ours, and with it the slot; it has tokens.
        unsafe { core.lifo_slot.take().map(|task| Notified::from_raw(task)) }
    }

    /// The next of the claimed tasks.
    #[inline]
    pub(super) fn next_claimed(&self, core: &Core) -> Option<Notified> {
        // SAFETY: the core is ours, and with it the batch; it has tokens.
        unsafe { core.batch.take().map(|task| Notified::from_raw(task)) }
    }

    /// The first task of the ring. The next ones may be claimed; then this is where others
    /// hear of what is left in the ring.
    #[inline]
    fn next_of_ring(&self, core: &Core) -> Option<Notified> {
        let tuning = &core.local.tuning;
        // SAFETY: the core is ours, and with it the ring and the batch, which is empty.
        let task = unsafe { core.batch.take_through(&core.ring, tuning.most_to_claim()) }?;
        let claimed = core.batch.len();
        // The claimed ones need not be counted when they begin.
        tuning.begins(1 + claimed);
        if claimed > 0 {
            self.notify_pushed(!core.ring.is_empty());
        }
        // SAFETY: tokens are put in, and each is taken out once.
        Some(unsafe { Notified::from_raw(task) })
    }

    /// This worker's share of the inject queue, whose first task is returned.
    #[inline]
    pub(super) fn next_share(&self, core: &Core) -> Option<Notified> {
        if self.shared.inject.is_empty() {
            return None;
        }
        // SAFETY: the core is ours, and with it the ring.
        let room = unsafe { core.ring.room() }.min(CAPACITY / 2);
        let first = self
            .shared
            .inject
            .pop_share(self.shared.workers(), room, |task| {
                // SAFETY: the core is ours, and with it the ring, in which there is room.
                let pushed = unsafe { core.ring.push(task) };
                debug_assert!(pushed.is_ok());
            })?;
        core.local.tuning.begins(1);
        if !core.ring.is_empty() && !core.local.searching.get() {
            self.notify_pushed(true);
        }
        // SAFETY: tokens are put in, and each is taken out once.
        Some(unsafe { Notified::from_raw(first) })
    }

    /// A task was woken on this thread.
    #[inline]
    pub(super) fn woken(&self, task: Notified) {
        if !self.has_core.get() {
            return self.shared.schedule_remotely(task);
        }
        let core = self.core();
        core.counters.scheduled_here.add(1);
        if !self.uses_lifo.get() {
            self.push_back(core, task);
            return self.notify_ring(core);
        }
        // SAFETY: the core is ours, and with it the slot.
        let displaced = unsafe { core.lifo_slot.put(task.into_raw()) };
        self.pending.set(true);
        if let Some(displaced) = displaced {
            // SAFETY: tokens are put in, and each is taken out once.
            self.push_back(core, unsafe { Notified::from_raw(displaced) });
        }
        self.notify_pushed(displaced.is_some());
    }

    /// A task was spawned on this thread; there is no token if the runtime has ended.
    #[inline]
    pub(super) fn spawned(&self, task: Option<Notified>) {
        if !self.has_core.get() {
            return self.shared.spawned_remotely(task);
        }
        self.core().counters.spawned.add(1);
        if let Some(task) = task {
            self.woken(task);
        }
    }

    /// A task that was polled wants to be polled again, behind the others.
    #[inline]
    pub(super) fn reschedule(&self, core: &Core, task: Notified) {
        if !core.has_tasks() && core.local.yielded.get().is_none() {
            core.local.yielded.set(Some(task.into_raw()));
            return;
        }
        self.push_back(core, task);
        self.notify_ring(core);
    }

    /// The same after the core was given away.
    #[cold]
    pub(super) fn reschedule_without_core(&self, ran: Ran) {
        match ran {
            Ran::Done | Ran::Idle => {}
            Ran::Again(task) | Ran::Yielded(task) => self.shared.schedule_remotely(task),
        }
    }

    /// Puts a task at the end of the ring.
    #[inline]
    pub(super) fn push_back(&self, core: &Core, task: Notified) {
        // SAFETY: the core is ours, and with it the ring.
        if let Err(task) = unsafe { core.ring.push(task.into_raw()) } {
            self.overflow(core, task);
        }
    }

    /// The ring is full: half of it goes to the inject queue, with the task; before it what is
    /// claimed, as that is older.
    #[cold]
    fn overflow(&self, core: &Core, task: NonNull<Header>) {
        let mut tasks = Vec::with_capacity(run_batch::MAX + CAPACITY / 2 + 1);
        // SAFETY: the core is ours, and with it the batch and the ring.
        unsafe {
            tasks.extend(std::iter::from_fn(|| core.batch.take()));
            core.ring
                .pop_many(|waiting| waiting / 2, |_, task| tasks.push(task));
        }
        tasks.push(task);
        self.shared.inject.push_all(&tasks);
        core.counters.overflows.add(1);
        self.unpark_called(self.shared.idle.injected());
    }

    /// The task that yielded when no other was queued goes to the ring after all.
    pub(super) fn queue_yielded(&self) {
        let core = self.core();
        if let Some(task) = core.local.yielded.take() {
            // SAFETY: it was put there as a token, and is taken out once.
            self.push_back(core, unsafe { Notified::from_raw(task) });
        }
    }

    /// A task is in the ring. This worker takes the next one itself, as soon as it is
    /// done with the one it polls; if that is the only one, no other is woken for it,
    /// unless the user wants that.
    #[inline]
    pub(super) fn notify_ring(&self, core: &Core) {
        self.notify_pushed(core.queue_depth() > 1 || !self.lifo_enabled);
    }

    /// Wakes others for what was pushed, if need be. `stealable`: they may take it while this
    /// worker goes on working.
    #[inline]
    pub(super) fn notify_pushed(&self, stealable: bool) {
        let stealable = stealable && !self.parking.get();
        self.unpark_called(self.shared.idle.pushed(stealable));
    }

    /// Whether there are more tasks than the worker would claim next. To wake another one for
    /// fewer takes longer than to run them.
    pub(super) fn has_plenty(&self) -> bool {
        let core = self.core();
        core.ring.len() > core.local.tuning.claimed()
    }

    /// Unparks those that were called. A worker whose park wakes a task may call itself: then
    /// this thread is up, and sees it when the park returns. But if this thread has given its
    /// core away, another one is the worker, and may be asleep.
    #[inline]
    pub(super) fn unpark_called(&self, calls: Calls) {
        let others = match self.has_core.get() {
            true => calls.without(self.index),
            false => calls,
        };
        self.shared.unpark_called(others);
    }

    /// Wakes the tasks whose events have happened, and those whose time has come.
    #[inline]
    pub(super) fn poll_driver(&self) {
        self.core().driver.poll();
        self.turn_timers();
    }

    /// Wakes the tasks whose time has come.
    #[inline]
    pub(super) fn turn_timers(&self) {
        if let Some(wheels) = &self.shared.common().time {
            _ = wheels.turn_if_due(self.index);
        }
    }

    /// Frees tasks of this worker's list that have ended on other threads.
    #[inline]
    pub(super) fn free_tasks(&self) {
        // SAFETY: the core is ours, and with it the list.
        unsafe { self.shared.owned.drain(self.index) }
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

/// How a task refers to the scheduler it belongs to: as an [`Address`], which counts nothing;
/// the head of `address.rs` says what makes it valid. Here:
///
/// - Each worker holds a counted reference, and the last one ends only when the list
///   of tasks is empty (`run.rs`).
/// - The functions for the end of a task are called by workers, and by a spawner that
///   finds the list closed.
#[derive(Clone, Copy)]
struct Reference(Address<Shared>);

impl Shared {
    /// Makes a task and queues it.
    #[inline]
    pub(crate) fn spawn<F>(self: &Arc<Self>, future: F, id: Id) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let reference = Reference(Address::of(self));
        let worker = reference.worker_here();
        let (join, task) = match reference.owner_here() {
            // SAFETY: this thread has the core, and with it the list. The future may go to
            // other threads.
            Some(owner) => unsafe { self.owned.bind_own(owner.index, future, reference, id) },
            // Spreads the tasks that are spawned by other threads over the lists.
            None => self.owned.bind(id.as_u64() as usize, future, reference, id),
        };
        self.common().hooks.task_spawn(id);
        match worker {
            Some(worker) => worker.spawned(task),
            None => self.spawned_remotely(task),
        }
        join
    }
}

impl Reference {
    #[inline]
    fn shared(&self) -> &Shared {
        // SAFETY: the callers are those for whom the address is valid.
        unsafe { self.0.get() }
    }

    /// This thread's worker, if it is one of this scheduler.
    #[inline]
    fn worker_here<'a>(self) -> Option<&'a Worker> {
        let worker = self.0.worker_here();
        // SAFETY: for a scheduler of this kind the worker is a `Worker`, which stays where
        // it is until it is taken out of the context, below all that the thread calls
        // meanwhile. The callers let the reference go before they return.
        unsafe { worker.cast::<Worker>().as_ref() }
    }

    /// The same if it has its core, and so owns the core's list of tasks.
    #[inline]
    fn owner_here<'a>(self) -> Option<&'a Worker> {
        self.worker_here().filter(|worker| worker.has_core.get())
    }

    /// Queues a task from another thread.
    #[cold]
    fn schedule_remotely(self, task: Notified) {
        // SAFETY: we have the token, so the address is valid.
        let shared = unsafe { self.0.counted() };
        shared.schedule_remotely(task);
    }
}

impl Schedule for Reference {
    #[inline]
    fn schedule(&self, task: Notified) {
        match self.worker_here() {
            Some(worker) => worker.woken(task),
            None => self.schedule_remotely(task),
        }
    }

    #[inline]
    fn release(&self, task: &Header) {
        let owned = &self.shared().owned;
        match self.owner_here() {
            // SAFETY: this thread has the core, and with it the list.
            Some(worker) => unsafe { owned.remove_by_owner(task, worker.index) },
            None => owned.remove(task),
        }
    }

    #[inline]
    fn outlives_call(&self) -> bool {
        self.worker_here().is_some()
    }

    #[inline]
    fn terminated(&self, id: Id) {
        self.shared().common().hooks.task_terminate(id);
    }
}
