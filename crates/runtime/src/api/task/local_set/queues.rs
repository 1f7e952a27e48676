//! The queues of a set of local tasks, and the waker of its host. See `mod.rs`.

use std::cell::{Cell, UnsafeCell};
use std::collections::VecDeque;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::Waker;

use blitz_io_core::Lock;

use crate::api::config::UnhandledPanic;
use crate::api::runtime_id;
use crate::api::task::counted::Counted;
use crate::kernel::task::{Header, Id, JoinHandle, Notified, OwnedTasks, Ran, Schedule};
use blitz_io_core::ThreadId;

/// The part of a set that other threads see.
pub(super) struct Shared {
    /// The set's thread.
    thread: ThreadId,
    id: runtime_id::Id,
    owned: OwnedTasks,
    /// Belongs to the set's thread.
    local: UnsafeCell<VecDeque<Notified>>,
    /// Tasks that have yielded in this poll of the set. Belongs to the set's thread.
    yielded: UnsafeCell<VecDeque<Notified>>,
    /// Which waker is in `remote`, if it has not been taken. Belongs to the set's thread,
    /// as the next two fields do.
    registered: Cell<Option<WakerId>>,
    /// Number of polls of the set on the thread's stack.
    polls: Cell<usize>,
    /// Number of the set's tasks that the thread is running and has not released.
    running: Cell<usize>,
    /// `true` if a task's panic ends the set; `is_doomed` is `true` if one has. Used on the set's thread.
    ends_on_panic: Cell<bool>,
    is_doomed: Cell<bool>,
    remote: Lock<Remote>,
    /// Number of tasks in `remote`. Written under the lock.
    remote_len: AtomicUsize,
    /// `true` if there is a waker in `remote`. Written under the lock.
    has_waker: AtomicBool,
}

/// The part that other threads use, too.
struct Remote {
    queue: VecDeque<Notified>,
    waker: Option<Waker>,
}

/// The data and the vtable of a waker, which identify it while it exists.
type WakerId = (*const (), *const ());

// SAFETY: `local`, `yielded` and the cells are used on the set's thread only. Some functions demand
// this of their callers. A `LocalSet` calls the others, and does not leave its
// thread.
unsafe impl Send for Shared {}
// SAFETY: only the set's thread uses `local`, `yielded` and the cells, also through shared
// references.
unsafe impl Sync for Shared {}

impl Shared {
    /// Makes the queues of a set of this thread.
    pub(super) fn new() -> Self {
        Self {
            thread: ThreadId::current(),
            id: runtime_id::Id::next(),
            owned: OwnedTasks::new(1),
            local: UnsafeCell::new(VecDeque::new()),
            yielded: UnsafeCell::new(VecDeque::new()),
            registered: Cell::new(None),
            polls: Cell::new(0),
            running: Cell::new(0),
            ends_on_panic: Cell::new(false),
            is_doomed: Cell::new(false),
            remote: Lock::new(Remote {
                queue: VecDeque::new(),
                waker: None,
            }),
            remote_len: AtomicUsize::new(0),
            has_waker: AtomicBool::new(false),
        }
    }

    pub(super) fn id(&self) -> runtime_id::Id {
        self.id
    }

    /// Sets the effect of a task's panic on the set.
    pub(super) fn set_on_panic(&self, behavior: &UnhandledPanic) {
        self.ends_on_panic
            .set(matches!(behavior, UnhandledPanic::ShutdownRuntime));
    }

    /// Returns `true` if the set has to end because a task has panicked.
    #[inline]
    pub(super) fn is_doomed(&self) -> bool {
        self.is_doomed.get()
    }

    /// Returns the number of tasks that have not ended.
    pub(super) fn tasks(&self) -> usize {
        self.owned.len()
    }

    /// Counts a poll of the set, on its thread, until the guard is dropped.
    #[inline]
    pub(super) fn polled(&self) -> Counted<'_> {
        Counted::new(&self.polls)
    }

    /// Runs a task, on the set's thread.
    #[inline]
    pub(super) fn run(&self, task: Notified) -> Ran {
        let _running = Counted::new(&self.running);
        task.run()
    }

    /// Returns `true` if there are no tasks but those that the set's thread, the caller, is running.
    pub(super) fn is_drained(&self) -> bool {
        self.owned.len() <= self.running.get()
    }

    /// Makes a task.
    ///
    /// # Safety
    ///
    /// On the set's thread only, as the pops and the close.
    pub(super) unsafe fn bind<F>(
        self: &Arc<Self>,
        future: F,
        id: Id,
    ) -> (JoinHandle<F::Output>, Option<Notified>)
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        // SAFETY: the tokens go to the queues, from which this thread takes them.
        unsafe {
            self.owned
                .bind(self.owned.any_list(0), future, self.clone(), id)
        }
    }

    /// Queues a task.
    ///
    /// # Safety
    ///
    /// On the set's thread only.
    #[inline]
    pub(super) unsafe fn push(&self, task: Notified) {
        debug_assert_eq!(self.thread, ThreadId::current());
        // SAFETY: the queue belongs to this thread, and the reference ends here.
        unsafe { &mut *self.local.get() }.push_back(task);
    }

    /// Takes a task that has yielded, until [`resume`](Self::resume).
    ///
    /// # Safety
    ///
    /// On the set's thread only.
    #[inline]
    pub(super) unsafe fn put_off(&self, task: Notified) {
        debug_assert_eq!(self.thread, ThreadId::current());
        // SAFETY: the queue belongs to this thread, and the reference ends here.
        unsafe { &mut *self.yielded.get() }.push_back(task);
    }

    /// Queues the tasks that have yielded. Returns whether there were any.
    ///
    /// # Safety
    ///
    /// On the set's thread only.
    #[inline]
    pub(super) unsafe fn resume(&self) -> bool {
        debug_assert_eq!(self.thread, ThreadId::current());
        // SAFETY: both queues belong to this thread, and the references end here.
        let (local, yielded) = unsafe { (&mut *self.local.get(), &mut *self.yielded.get()) };
        let any = !yielded.is_empty();
        local.append(yielded);
        any
    }

    /// Queues a task, and wakes the host unless it is polling the set.
    ///
    /// # Safety
    ///
    /// On the set's thread only.
    #[inline]
    pub(super) unsafe fn push_and_wake(&self, task: Notified) {
        // SAFETY: this is the set's thread.
        unsafe { self.push(task) };
        if self.polls.get() == 0 {
            self.wake_host();
        }
    }

    /// Takes the next task, from the queue for other threads first if `remote_first`.
    ///
    /// # Safety
    ///
    /// On the set's thread only.
    #[inline]
    pub(super) unsafe fn pop(&self, remote_first: bool) -> Option<Notified> {
        debug_assert_eq!(self.thread, ThreadId::current());
        let local = || {
            // SAFETY: the queue belongs to this thread, and the reference ends here.
            unsafe { &mut *self.local.get() }.pop_front()
        };
        if remote_first {
            self.pop_remote().or_else(local)
        } else {
            local().or_else(|| self.pop_remote())
        }
    }

    #[inline]
    fn pop_remote(&self) -> Option<Notified> {
        // A task that is queued after this poll's waker was registered finds that waker.
        if self.remote_len.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let mut remote = self.remote.lock();
        let task = remote.queue.pop_front();
        self.remote_len.store(remote.queue.len(), Ordering::Relaxed);
        task
    }

    /// Registers the host's waker for the threads that wake tasks. On the set's thread, at
    /// the beginning of a poll.
    #[inline]
    pub(super) fn register(&self, waker: &Waker) {
        let id: WakerId = (waker.data(), std::ptr::from_ref(waker.vtable()).cast());
        if self.registered.get() != Some(id) || !self.has_waker.load(Ordering::Relaxed) {
            self.register_slow(waker, id);
        }
    }

    #[cold]
    fn register_slow(&self, waker: &Waker, id: WakerId) {
        let waker = waker.clone();
        let mut remote = self.remote.lock();
        self.has_waker.store(true, Ordering::Relaxed);
        let old = remote.waker.replace(waker);
        drop(remote);
        self.registered.set(Some(id));
        drop(old);
    }

    /// Wakes the host, if it waits.
    pub(super) fn wake_host(&self) {
        self.wake_after(|_| ());
    }

    /// Makes a change under the lock, and wakes the host after it, if that waits.
    fn wake_after(&self, change: impl FnOnce(&mut Remote)) {
        let mut remote = self.remote.lock();
        change(&mut remote);
        self.has_waker.store(false, Ordering::Relaxed);
        let waker = remote.waker.take();
        drop(remote);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    #[cold]
    fn schedule_from_elsewhere(&self, task: Notified) {
        self.wake_after(|remote| {
            remote.queue.push_back(task);
            self.remote_len.store(remote.queue.len(), Ordering::Relaxed);
        });
    }

    /// Refuses further tasks, and cancels all: tasks that wait at once, the others when
    /// their tokens are run. On the set's thread.
    pub(super) fn close(&self) {
        // Tasks that wait are released without having run.
        let running = self.running.get();
        self.owned.close_and_cancel_all();
        self.running.set(running);
    }
}

impl Schedule for Arc<Shared> {
    #[inline]
    fn schedule(&self, task: Notified) {
        if self.thread != ThreadId::current() {
            return self.schedule_from_elsewhere(task);
        }
        // SAFETY: this is the set's thread.
        unsafe { self.push_and_wake(task) };
    }

    fn release(&self, task: &Header) {
        self.owned.remove(task);
        self.running.set(self.running.get().saturating_sub(1));
    }

    /// A set's tasks are polled on its thread.
    fn unhandled_panic(&self) {
        if self.ends_on_panic.get() {
            self.is_doomed.set(true);
        }
    }
}
