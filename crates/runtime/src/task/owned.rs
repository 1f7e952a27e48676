//! The tasks of a runtime, so that it can end them.
//!
//! There is a shard for each worker, with two lists. The **shared** one has a lock, and
//! everybody may add and remove. The **own** one is used only by the shard's owner, the
//! thread that is this worker at the moment, and costs no lock: most tasks are spawned by
//! a worker and end there. What about those that end elsewhere, because another worker
//! has stolen them? They *depart*: they are pushed to a stack of the shard, with
//! a reference that keeps the memory, since the list goes through it. The owner unlinks
//! and releases them the next time it adds something, or in its maintenance.
//!
//! Why nothing is freed too early or left over: a task in an own list is alive as long
//! as it has not ended, and then as long as it is in the stack; it gets there before its
//! own reference is given up, and is taken out of the list before the stack's reference
//! is. What is in the stacks at the end is released with the shards; a scheduler that its
//! tasks keep alive must settle before.
//!
//! Numbers: who owns a shard counts in it what it adds and what it removes, also from
//! others' lists, so a number may be negative; only the sum means something. When all
//! lists are closed no number increases any more. So who finds the sum zero then, however
//! it was read, may rely on it.

use std::future::Future;
use std::ptr::{self, NonNull};

use blitz_futex::atomic::{AtomicPtr, AtomicUsize, Ordering};
use blitz_sync::internals::ListLock;

use super::cell::Cell;
use super::header::{Header, Home};
use super::id::Id;
use super::join_handle::JoinHandle;
use super::list::List;
use super::mutant::{Mutant, active};
use super::notified::Notified;
use super::raw;
use super::watched::Watched;

/// What a task needs of its scheduler. Each task has a copy.
pub trait Schedule: Clone + Send + Sync + 'static {
    /// A task is to be run. Called on any thread, by a wake-up or an abort.
    fn schedule(&self, task: Notified);

    /// A task has ended: takes it out of the list it was bound to. The task is still
    /// alive, and its join handle has not heard of it.
    fn release(&self, task: &Header);

    /// Whether what this refers to certainly is there until the current function of this
    /// thread has returned, whatever becomes of the task: say, because the thread is
    /// a worker of it. Waking by value then needs one step less.
    fn outlives_call(&self) -> bool {
        false
    }

    /// A task's future panicked.
    fn unhandled_panic(&self) {}

    /// A task has ended: for hooks.
    fn terminated(&self, id: Id) {
        let _ = id;
    }
}

/// The tasks of a runtime which have not ended.
pub struct OwnedTasks {
    shards: Box<[Shard]>,
    /// Minus how many own tasks of shards have ended where there is no owner.
    elsewhere: AtomicUsize,
}

/// Two lists of tasks: see the head of this file.
#[repr(align(128))]
struct Shard {
    lock: ListLock,
    /// Under the lock.
    list: Watched<List>,
    /// How many tasks are in that list. Written under the lock.
    len: AtomicUsize,
    /// The owner's.
    own: Watched<List>,
    /// How many own tasks the owner has added, minus how many it has seen the end of, also
    /// of other owners. Written by the owner.
    own_len: AtomicUsize,
    /// Tasks of the own list which have ended elsewhere, with a reference each.
    departed: AtomicPtr<Header>,
}

// SAFETY: the lists are used under their locks or by their owners, and tasks may be
// shared.
unsafe impl Send for OwnedTasks {}
// SAFETY: as above.
unsafe impl Sync for OwnedTasks {}

/// Adds to a number that nobody else writes now.
#[inline]
fn add(number: &AtomicUsize, change: isize) {
    let value = number.load(Ordering::Relaxed);
    number.store(value.wrapping_add_signed(change), Ordering::Release);
}

impl Shard {
    fn new() -> Self {
        Self {
            lock: ListLock::new(),
            list: Watched::new(List::new()),
            len: AtomicUsize::new(0),
            own: Watched::new(List::new()),
            own_len: AtomicUsize::new(0),
            departed: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Runs `with` under the lock.
    #[inline]
    fn locked<R>(&self, with: impl FnOnce(&mut List) -> R) -> R {
        // To take the lock is one read-modify-write, to release it is none.
        #[cfg(all(test, not(loom)))]
        super::tests::changes::count();
        self.lock
            // SAFETY: the list is used under its lock only.
            .locked(|| self.list.with_mut(|list| with(unsafe { &mut *list })))
    }

    /// Adds a new task, unless the list is closed.
    #[inline]
    fn add(&self, task: NonNull<Header>) -> bool {
        // SAFETY: the task is new, and in no list.
        self.locked(|list| unsafe { Self::add_to(list, &self.len, task) })
    }

    /// Takes a task out, unless a shut-down has done that.
    #[inline]
    fn remove(&self, task: &Header) {
        self.locked(|list| {
            // SAFETY: the task is alive, and this is its list.
            if unsafe { list.remove(task) } {
                add(&self.len, -1);
            }
        });
    }

    /// [`add`](Self::add) with the owner's list.
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    #[inline]
    unsafe fn add_own(&self, task: NonNull<Header>) -> bool {
        // SAFETY: the caller is the owner.
        unsafe { self.settle() };
        self.own.with_mut(|list| {
            // SAFETY: as above; the task is new, and in no list.
            unsafe { Self::add_to(&mut *list, &self.own_len, task) }
        })
    }

    /// Adds a task to one of the lists, which has this number, unless it is closed.
    ///
    /// # Safety
    ///
    /// The task is new, and in no list.
    #[inline]
    unsafe fn add_to(list: &mut List, len: &AtomicUsize, task: NonNull<Header>) -> bool {
        if list.is_closed {
            return false;
        }
        // SAFETY: as the caller promises.
        unsafe { list.add(task) };
        add(len, 1);
        true
    }

    /// Leaves a task of the own list to the owner.
    #[cold]
    fn depart(&self, task: &Header) {
        if !active(Mutant::DepartsForNothing) {
            task.state.acquire();
        }
        let place = ptr::from_ref(task).cast_mut();
        let mut first = self.departed.load(Ordering::Relaxed);
        loop {
            // SAFETY: whoever ends the task has what was its token's.
            unsafe { task.set_queue_next(NonNull::new(first)) };
            let (succeeded, failed) = (Ordering::Release, Ordering::Relaxed);
            let departed = &self.departed;
            match departed.compare_exchange_weak(first, place, succeeded, failed) {
                Ok(_) => return,
                Err(now) => first = now,
            }
        }
    }

    /// Lets those go which have ended elsewhere.
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    #[inline]
    unsafe fn settle(&self) {
        if !self.departed.load(Ordering::Relaxed).is_null() {
            // SAFETY: as the caller promises.
            unsafe { self.settle_all() }
        }
    }

    /// # Safety
    ///
    /// The caller is the owner.
    #[cold]
    unsafe fn settle_all(&self) {
        let first = self.departed.swap(ptr::null_mut(), Ordering::Acquire);
        let mut next = NonNull::new(first);
        while let Some(task) = next {
            // SAFETY: the tasks of the chain have a reference each, which is ours now. They
            // are or were in the own list, which is the caller's.
            unsafe {
                next = task.as_ref().queue_next();
                self.own.with_mut(|list| (*list).remove(task.as_ref()));
                raw::release_last(task);
            }
        }
    }
}

impl Drop for Shard {
    fn drop(&mut self) {
        // SAFETY: nobody else uses the shard any more.
        unsafe { self.settle() }
    }
}

impl OwnedTasks {
    /// No tasks, in as many shards.
    pub fn new(shards: usize) -> Self {
        Self {
            shards: (0..shards.max(1)).map(|_| Shard::new()).collect(),
            elsewhere: AtomicUsize::new(0),
        }
    }

    /// Makes a task. Without a token, the runtime has ended, and the task is cancelled.
    #[inline]
    pub fn bind<F, S>(
        &self,
        shard: usize,
        future: F,
        scheduler: S,
        id: Id,
    ) -> (JoinHandle<F::Output>, Option<Notified>)
    where
        F: Future<Output: Send + 'static> + Send + 'static,
        S: Schedule,
    {
        // SAFETY: the future may go to other threads.
        unsafe { self.bind_local(shard, future, scheduler, id) }
    }

    /// The same for a future that must stay on its thread.
    ///
    /// # Safety
    ///
    /// The token is run, and the tasks are closed, on this thread only. If the future is
    /// not `'static`, it is dropped before what it refers to goes away.
    #[inline]
    pub unsafe fn bind_local<F, S>(
        &self,
        shard: usize,
        future: F,
        scheduler: S,
        id: Id,
    ) -> (JoinHandle<F::Output>, Option<Notified>)
    where
        F: Future,
        S: Schedule,
    {
        let shard = shard % self.shards.len();
        let task = Cell::allocate(future, scheduler, id, Home::shared(shard));
        let added = self.shards[shard].add(task);
        // SAFETY: the task is new, of this type, and was added or not.
        unsafe { Self::bound::<F, S>(task, added) }
    }

    /// The same, to the shard's own list.
    ///
    /// # Safety
    ///
    /// As for [`bind_local`](Self::bind_local), and the caller is the owner of the shard:
    /// no other thread uses its own list meanwhile, and those who did before are ordered
    /// before this.
    #[inline]
    pub unsafe fn bind_own<F, S>(
        &self,
        shard: usize,
        future: F,
        scheduler: S,
        id: Id,
    ) -> (JoinHandle<F::Output>, Option<Notified>)
    where
        F: Future,
        S: Schedule,
    {
        let task = Cell::allocate(future, scheduler, id, Home::own(shard));
        // SAFETY: the caller is the owner.
        let added = unsafe { self.shards[shard].add_own(task) };
        // SAFETY: the task is new, of this type, and was added or not.
        unsafe { Self::bound::<F, S>(task, added) }
    }

    /// # Safety
    ///
    /// The task is new, of this type, and was added or is known to nobody but the caller.
    #[inline]
    unsafe fn bound<F: Future, S: Schedule>(
        task: NonNull<Header>,
        added: bool,
    ) -> (JoinHandle<F::Output>, Option<Notified>) {
        // SAFETY: the task is new, and has an output of this type.
        let join = unsafe { JoinHandle::new(task) };
        if added {
            // SAFETY: a new task has a token.
            (join, Some(unsafe { Notified::from_raw(task) }))
        } else {
            // SAFETY: the task is known to nobody but us.
            unsafe { super::harness::never_begun::<F, S>(task) };
            (join, None)
        }
    }

    /// Takes a task out that has ended, by somebody who is no owner.
    #[inline]
    pub fn remove(&self, task: &Header) {
        let shard = &self.shards[task.home.shard()];
        if task.home.is_own() {
            shard.depart(task);
            self.elsewhere.fetch_sub(1, Ordering::AcqRel);
        } else {
            shard.remove(task);
        }
    }

    /// The same by the owner of the shard `here`.
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    #[inline]
    pub unsafe fn remove_by_owner(&self, task: &Header, here: usize) {
        if !task.home.is_own() {
            return self.remove(task);
        }
        let shard = task.home.shard();
        if shard == here {
            let own = &self.shards[here].own;
            // SAFETY: the caller is the owner, and the task is alive.
            own.with_mut(|list| unsafe { (*list).remove(task) });
        } else {
            self.shards[shard].depart(task);
        }
        add(&self.shards[here].own_len, -1);
    }

    /// Frees what has ended elsewhere of the shard's own tasks. To be called now and then.
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    #[inline]
    pub unsafe fn settle(&self, shard: usize) {
        // SAFETY: as the caller promises.
        unsafe { self.shards[shard].settle() }
    }

    /// [`close_and_cancel_all`](Self::close_and_cancel_all) for the shard's own list.
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    pub unsafe fn close_own(&self, shard: usize) {
        let shard = &self.shards[shard];
        // SAFETY: the caller is the owner, and the tasks of the list are alive.
        let waiting = unsafe {
            shard.settle();
            shard.own.with_mut(|list| {
                (*list).is_closed = true;
                (*list).shut_down()
            })
        };
        // They are counted when they are removed.
        end_all(waiting.0);
    }

    /// Takes in no more tasks, and cancels all there are: those that wait now, by this
    /// thread; those that are queued or running, when their tokens are run or their polls
    /// end. So whoever calls this runs tokens until [`is_empty`](Self::is_empty); a token
    /// may be on its way in another thread.
    pub fn close_and_cancel_all(&self) {
        for shard in &self.shards {
            let waiting = shard.locked(|list| {
                list.is_closed = true;
                // SAFETY: the tasks of the list are alive.
                let (waiting, count) = unsafe { list.shut_down() };
                add(&shard.len, -count);
                waiting
            });
            end_all(waiting);
        }
    }

    /// Whether [`close_and_cancel_all`](Self::close_and_cancel_all) has been called.
    #[allow(dead_code, reason = "for schedulers")]
    pub fn is_closed(&self) -> bool {
        self.shards[0].locked(|list| list.is_closed)
    }

    /// How many tasks there are. While tasks are added or end, it may be somewhat off.
    #[allow(dead_code, reason = "for metrics")]
    pub fn len(&self) -> usize {
        let len = self.sum();
        // A task that was added here and removed there may be seen in the wrong order.
        if len > usize::MAX / 2 { 0 } else { len }
    }

    fn sum(&self) -> usize {
        let mut sum = self.elsewhere.load(Ordering::Acquire);
        for shard in &self.shards {
            for part in [&shard.len, &shard.own_len] {
                sum = sum.wrapping_add(part.load(Ordering::Acquire));
            }
        }
        sum
    }

    /// Whether there are no tasks. To be relied on when all lists are closed: then
    /// numbers only decrease.
    pub fn is_empty(&self) -> bool {
        self.sum() == 0
    }
}

/// Ends tasks that were shut down.
fn end_all(mut waiting: Option<NonNull<Header>>) {
    while let Some(task) = waiting {
        // SAFETY: this task was shut down by the caller; nobody else ends it.
        unsafe {
            waiting = task.as_ref().queue_next();
            (task.as_ref().vtable.shut_down)(task);
        }
    }
}

/// Makes a task that is in no list.
#[allow(dead_code, reason = "for blocking tasks")]
pub fn unowned<F, S>(future: F, scheduler: S, id: Id) -> (JoinHandle<F::Output>, Notified)
where
    F: Future<Output: Send + 'static> + Send + 'static,
    S: Schedule,
{
    let task = Cell::allocate(future, scheduler, id, Home::shared(0));
    // SAFETY: the task is new, and has an output of this type and a token.
    unsafe { (JoinHandle::new(task), Notified::from_raw(task)) }
}
