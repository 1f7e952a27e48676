//! Tasks that stay on the thread of their first poll.
//!
//! Until that poll, such a task is like any other: it may be stolen. The poll *pins* it to the
//! thread, which owns an [`ThreadInbox`] from then on. Every later token goes there: from a wake-up,
//! an abort, the end of a poll, or the end of the runtime. Only the owner takes tokens out.
//!
//! # The thread counts, not the worker
//!
//! A thread that gives its core away (`hand_over.rs`) keeps its inbox, and its pinned tasks wait
//! until it no longer blocks. If another thread has the core then, the owner continues without
//! one: it runs its pinned tasks until all have ended, and then goes back to the pool
//! ([`Worker::serve_pinned`]). Without a core it schedules other tasks as an outside thread does.
//!
//! # The end of the runtime
//!
//! Each worker that closes the lists of tasks gives the pinned ones that wait a token, with the
//! request to end. The owners run these, so that the futures are dropped on their threads. An
//! owner leaves only when all its pinned tasks have ended.

use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};

use blitz_io_core::coop::{self, Budget};

use super::shared::Shared;
use super::thread_inbox::ThreadInbox;
use super::worker::Worker;
use super::worker_core::Core;
use crate::api::scheduler::reference::{Reference, Scheduler};
use crate::kernel::context;
use crate::kernel::idle::Place;
use crate::kernel::inbox::Sleeps;
use crate::kernel::task::{Header, Id, Notified, Ran, Schedule};

/// The scheduler of a pinned task.
#[derive(Clone)]
pub(crate) struct Pinned {
    scheduler: Reference<Shared>,
    inbox: Owner,
}

/// The inbox of the thread of the first poll, from that poll on.
///
/// Only the holder of the token sets it, so a store is enough. A `OnceLock` would take two
/// read-modify-writes, which show in the time to start a fiber.
///
/// Invariant: the pointer is null, or that of an `Arc` which this owns, and is not changed after that.
struct Owner(AtomicPtr<ThreadInbox>);

impl Owner {
    #[inline]
    fn get(&self) -> Option<&ThreadInbox> {
        // SAFETY: the invariant.
        unsafe { self.0.load(Ordering::Acquire).as_ref() }
    }

    /// # Safety
    ///
    /// There is none yet, and the caller has the task's token.
    #[inline]
    unsafe fn set(&self, inbox: Arc<ThreadInbox>) {
        debug_assert!(self.get().is_none());
        self.0
            .store(Arc::into_raw(inbox).cast_mut(), Ordering::Release);
    }
}

impl Clone for Owner {
    fn clone(&self) -> Self {
        let inbox = self.0.load(Ordering::Acquire);
        if !inbox.is_null() {
            // SAFETY: the invariant.
            unsafe { Arc::increment_strong_count(inbox) };
        }
        Self(AtomicPtr::new(inbox))
    }
}

impl Drop for Owner {
    #[inline]
    fn drop(&mut self) {
        let inbox = *self.0.get_mut();
        if !inbox.is_null() {
            // SAFETY: the invariant.
            drop(unsafe { Arc::from_raw(inbox) });
        }
    }
}

impl Pinned {
    pub(in crate::api::scheduler) fn new(scheduler: Reference<Shared>) -> Self {
        Self {
            scheduler,
            inbox: Owner(AtomicPtr::new(ptr::null_mut())),
        }
    }

    /// Returns this thread's worker, if it is the owner.
    #[inline]
    fn owner_here(&self, inbox: &ThreadInbox) -> Option<&Worker> {
        let worker = self.scheduler.worker_here()?;
        worker.owns(inbox).then_some(worker)
    }
}

impl Schedule for Pinned {
    const PINS: bool = true;

    #[inline]
    fn schedule(&self, task: Notified) {
        let Some(inbox) = self.inbox.get() else {
            return self.scheduler.schedule(task);
        };
        self.scheduler.ready(&task);
        match self.owner_here(inbox) {
            Some(worker) => worker.schedule_pinned(inbox, task),
            None => self.schedule_remotely(inbox, task),
        }
    }

    #[inline]
    fn release(&self, task: &Header) {
        if let Some(inbox) = self.inbox.get() {
            inbox.tasks.count(-1);
        }
        self.scheduler.release(task);
    }

    /// The owner has a reference to the inbox, and is a worker of the scheduler.
    #[inline]
    fn outlives_call(&self) -> bool {
        match self.inbox.get() {
            Some(inbox) => self.owner_here(inbox).is_some(),
            None => self.scheduler.outlives_call(),
        }
    }

    fn unhandled_panic(&self) {
        self.scheduler.unhandled_panic();
    }

    fn terminated(&self, id: Id) {
        self.scheduler.terminated(id);
    }

    /// A pinned token comes from the owner's inbox, so it is always run by the owner.
    #[inline]
    fn pin(&self) -> bool {
        if let (None, Some(worker)) = (self.inbox.get(), self.scheduler.worker_here()) {
            worker.inbox().tasks.count(1);
            // SAFETY: there was none, and the caller has the token.
            unsafe { self.inbox.set(worker.inbox().clone()) };
        }
        true
    }

    #[inline]
    fn put_back(&self, ran: Ran) -> Ran {
        let yields = matches!(ran, Ran::Yielded(_));
        let (Ran::Again(task) | Ran::Yielded(task)) = ran else {
            return ran;
        };
        if let Some(worker) = self.scheduler.worker_here() {
            if worker.has_core.get() && (yields || context::take_yielded()) {
                worker.begin_round(worker.core());
            }
            if worker.has_nothing_else() {
                return Ran::Here(task);
            }
        }
        self.schedule(task);
        Ran::Idle
    }
}

impl Pinned {
    #[cold]
    fn schedule_remotely(&self, inbox: &ThreadInbox, task: Notified) {
        let shared = self.scheduler.counted();
        let totals = &shared.base().common.totals;
        totals.scheduled.fetch_add(1, Ordering::Relaxed);
        if let Some(place) = inbox.tasks.push(task) {
            inbox.wake(&shared, place);
        }
    }
}

impl Worker {
    /// Returns the inbox of this thread.
    fn inbox(&self) -> &Arc<ThreadInbox> {
        self.inbox.get_or_init(|| Arc::new(ThreadInbox::new()))
    }

    fn owns(&self, inbox: &ThreadInbox) -> bool {
        let own = self.inbox.get();
        own.is_some_and(|own| ptr::eq(Arc::as_ptr(own), inbox))
    }

    /// Queues a task that is pinned to this thread and that this thread has made ready.
    #[inline]
    fn schedule_pinned(&self, inbox: &ThreadInbox, task: Notified) {
        // SAFETY: this thread is the owner.
        unsafe { inbox.tasks.push_local(task) };
        if self.has_core.get() {
            self.core().counters.scheduled_here.add(1);
            self.notify_pushed(false);
        }
    }

    /// Returns `true` if a task that has been polled may be polled again at once, from the worker's loop.
    #[inline]
    fn has_nothing_else(&self) -> bool {
        let core = self.core();
        !self.pending.get()
            && !self.observes_polls
            && self.has_core.get()
            && !self.shutting_down.get()
            && core.local.until_checkpoint.get() > 0
            && !core.queue.has_tasks()
            && !self.has_yielded()
            && !self.has_injected()
            && !self.has_ready_pinned()
    }

    /// Returns the next task that is pinned to this thread. If others are ready too, they take turns.
    #[inline]
    pub(super) fn next_pinned(&self) -> Option<Notified> {
        let inbox = self.inbox.get()?;
        let others = || {
            let core = self.core();
            core.queue.has_tasks() || self.has_yielded() || self.has_injected()
        };
        // SAFETY: this thread is the owner.
        unsafe { inbox.tasks.take(others) }
    }

    /// Returns the next pinned task after a poll, unless the worker has to check other queues first.
    #[inline]
    pub(super) fn next_woken(&self, core: &Core) -> Option<Notified> {
        if self.inbox.get().is_none() || core.local.until_checkpoint.get() == 0 {
            return None;
        }
        let task = self.next_pinned()?;
        self.begins(core, 1);
        Some(task)
    }

    /// Returns `true` if a task is ready that is pinned to this thread.
    #[inline]
    pub(super) fn has_ready_pinned(&self) -> bool {
        let inbox = self.inbox.get();
        // SAFETY: this thread is the owner.
        inbox.is_some_and(|inbox| unsafe { inbox.tasks.is_ready() })
    }

    /// Returns the number of ready tasks that are pinned to this thread and were made ready here.
    #[inline]
    pub(super) fn queued_pinned(&self) -> usize {
        let inbox = self.inbox.get();
        // SAFETY: this thread is the owner.
        inbox.map_or(0, |inbox| unsafe { inbox.tasks.queued() })
    }

    /// Returns `true` if tasks are pinned to this thread.
    pub(super) fn pins(&self) -> bool {
        let inbox = self.inbox.get();
        inbox.is_some_and(|inbox| inbox.tasks.tasks() > 0)
    }

    /// Says where this thread sleeps as a worker, or that it is awake. Whether a pinned task
    /// is ready.
    pub(super) fn tell_pushers(&self, place: Option<Place>) -> bool {
        let inbox = self.inbox.get();
        inbox.is_some_and(|inbox| inbox.tasks.tell_place(place.map(Sleeps::At)))
    }

    /// Runs the tasks that are pinned to this thread until all have ended. `then` runs after
    /// each that was ready.
    #[cold]
    pub(super) fn serve_pinned(&self, mut then: impl FnMut()) {
        let Some(inbox) = self.inbox.get() else {
            return;
        };
        while inbox.tasks.tasks() > 0 {
            // SAFETY: this thread is the owner.
            if let Some(task) = unsafe { inbox.tasks.take(|| false) } {
                coop::set(Budget::FULL);
                let ran = task.run();
                debug_assert!(matches!(ran, Ran::Done | Ran::Idle));
                coop::set(Budget::UNCONSTRAINED);
                then();
            } else {
                if !inbox.tasks.tell_place(Some(Sleeps::Apart)) {
                    inbox.apart.park(None);
                }
                inbox.tasks.tell_place(None);
            }
        }
    }
}
