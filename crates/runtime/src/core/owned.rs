//! The tasks of a runtime, so that it can end them.
//!
//! There is a shard for each worker, with two lists. The **shared** one has a lock, and
//! every thread may add and remove. The **own** one is used by the shard's owner, the
//! thread that is this worker at the moment, and costs no lock: most tasks are spawned by
//! a worker and end there. Tasks of it that end on another thread, because another worker
//! has stolen them, are *freed remotely*: they are pushed to a stack of the shard, with
//! a reference that keeps the memory, since the list goes through it. The owner *drains* the
//! stack, which unlinks and releases them, the next time it adds a task, or in its maintenance.
//!
//! An owner's thread may sleep, or be blocked by a task, for ever. So other threads use its
//! list, too (`OwnedList`): at the runtime's end to cancel what is there, as a thread may wait
//! for just that; and after every [`MOST_SENT`] tasks that they have pushed to others'
//! stacks, to drain these, if an owner has not done that since the last time.
//!
//! Why nothing is freed too early or left over: a task in an own list is alive as long
//! as it has not ended, and then as long as it is in the stack; it gets there before its
//! own reference is given up, and is taken out of the list before the stack's reference
//! is. A thread that cancels tasks of another's list takes them out of it; they are then freed
//! remotely like others, and are found to be in no list. What is in the stacks at the end is
//! released with the shards; a scheduler that its tasks keep alive must drain before.
//!
//! Numbers: the owner of a shard counts in it what it adds and what it removes, also from
//! others' lists, so a number may be negative; only the sum means something. When all
//! lists are closed no number increases any more. So a thread that finds the sum zero then,
//! however it was read, may rely on it.

use std::future::Future;
use std::ptr::{self, NonNull};

use blitz_futex::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use blitz_sync::internals::Lock;

use super::harness;
use super::header::{self, Header, ListId};
use super::id::Id;
use super::join_handle::JoinHandle;
use super::list::List;
use super::list::OwnedList;
use super::mutant::{Mutant, active};
use super::schedule::{Notified, Schedule};

/// After how many tasks that an owner has sent to others' stacks it looks after these.
const MOST_SENT: usize = if cfg!(loom) { 2 } else { 1024 };

/// The tasks of a runtime which have not ended.
pub struct OwnedTasks {
    shards: Box<[Shard]>,
    /// Minus how many own tasks of shards have ended where there is no owner.
    elsewhere: AtomicUsize,
    /// Held while others' lists are used.
    remote_use: Lock,
}

/// Two lists of tasks: see the head of this file.
#[repr(align(128))]
struct Shard {
    list: Lock<List>,
    /// How many tasks are in that list. Written under the lock.
    len: AtomicUsize,
    /// The owner's.
    own: OwnedList,
    /// How many own tasks the owner has added, minus how many it has seen the end of, also
    /// of other owners. Written by the owner.
    own_len: AtomicUsize,
    /// How many tasks the owner has sent to others' stacks. Written by the owner.
    sent: AtomicUsize,
    stack: Stack,
}

/// Where tasks of an own list go which have ended elsewhere. Not in the cache lines that
/// the owner writes.
#[repr(align(64))]
struct Stack {
    /// The tasks, with a reference each.
    remotely_freed: AtomicPtr<Header>,
    /// Another thread has looked at them, and the owner has not since then.
    piles_up: AtomicBool,
}

// SAFETY: the lists are used under their locks or by their owners, and tasks may be
// shared.
unsafe impl Send for OwnedTasks {}
// SAFETY: as above.
unsafe impl Sync for OwnedTasks {}

/// Adds to a number that no other thread writes now.
#[inline]
fn add(number: &AtomicUsize, change: isize) {
    let value = number.load(Ordering::Relaxed);
    number.store(value.wrapping_add_signed(change), Ordering::Release);
}

impl Shard {
    fn new() -> Self {
        Self {
            list: Lock::new(List::new()),
            len: AtomicUsize::new(0),
            own: OwnedList::new(),
            own_len: AtomicUsize::new(0),
            sent: AtomicUsize::new(0),
            stack: Stack {
                remotely_freed: AtomicPtr::new(ptr::null_mut()),
                piles_up: AtomicBool::new(false),
            },
        }
    }

    /// Runs `with` under the lock.
    #[inline]
    fn locked<R>(&self, with: impl FnOnce(&mut List) -> R) -> R {
        // To take the lock is one read-modify-write, to release it is none.
        #[cfg(all(test, not(loom)))]
        super::changes::count();
        with(&mut self.list.lock())
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
        // SAFETY: the caller is the owner; the task is new, and in no list.
        unsafe {
            self.drain();
            self.own
                .with(|list| Self::add_to(list, &self.own_len, task))
        }
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

    /// Leaves a task of the own list, which has ended elsewhere, to the owner.
    #[cold]
    fn free_remotely(&self, task: &Header) {
        if !active(Mutant::FreesRemotelyWithoutReference) {
            task.state.acquire();
        }
        let place = ptr::from_ref(task).cast_mut();
        let mut first = self.stack.remotely_freed.load(Ordering::Relaxed);
        loop {
            // SAFETY: the thread that ends the task has what was its token's.
            unsafe { task.set_queue_next(NonNull::new(first)) };
            let (succeeded, failed) = (Ordering::Release, Ordering::Relaxed);
            let remotely_freed = &self.stack.remotely_freed;
            match remotely_freed.compare_exchange_weak(first, place, succeeded, failed) {
                Ok(_) => return,
                Err(now) => first = now,
            }
        }
    }

    /// Frees the tasks that have ended elsewhere.
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    #[inline]
    unsafe fn drain(&self) {
        if !self.stack.remotely_freed.load(Ordering::Relaxed).is_null() {
            // SAFETY: as the caller promises.
            unsafe { self.drain_all() }
        }
    }

    /// # Safety
    ///
    /// The caller is the owner.
    #[cold]
    unsafe fn drain_all(&self) {
        self.stack.piles_up.store(false, Ordering::Relaxed);
        let gone = self.take_remotely_freed();
        // SAFETY: the caller is the owner, and these were in its list.
        unsafe {
            self.own.with(|list| gone.unlink(list));
            gone.release();
        }
    }

    /// Whether another thread should drain the stack. A look without order, as
    /// nothing depends on it but memory.
    fn is_neglected(&self) -> bool {
        if self.stack.remotely_freed.load(Ordering::Relaxed).is_null() {
            return false;
        }
        let piles_up = self.stack.piles_up.load(Ordering::Relaxed);
        self.stack.piles_up.store(true, Ordering::Relaxed);
        // Models have no time for another round.
        piles_up || cfg!(loom)
    }

    fn take_remotely_freed(&self) -> RemotelyFreed {
        let first = self
            .stack
            .remotely_freed
            .swap(ptr::null_mut(), Ordering::Acquire);
        RemotelyFreed(NonNull::new(first))
    }
}

/// Tasks that have ended, and were in an own list: a chain through `queue_next`.
#[derive(Clone, Copy)]
struct RemotelyFreed(Option<NonNull<Header>>);

impl RemotelyFreed {
    /// # Safety
    ///
    /// The list is the one that they were in, or still are, and they are not released yet.
    unsafe fn unlink(self, list: &mut List) {
        let mut next = self.0;
        while let Some(task) = next {
            // SAFETY: as the caller promises, so the tasks are alive.
            unsafe {
                list.remove(task.as_ref());
                next = task.as_ref().queue_next();
            }
        }
    }

    /// # Safety
    ///
    /// They have been unlinked, and this is done once.
    unsafe fn release(self) {
        let mut next = self.0;
        while let Some(task) = next {
            // SAFETY: the tasks of the chain have a reference each, which is given up here.
            unsafe {
                next = task.as_ref().queue_next();
                header::release_last(task);
            }
        }
    }
}

impl Drop for Shard {
    fn drop(&mut self) {
        // SAFETY: no other thread uses the shard any more.
        unsafe { self.drain() }
    }
}

impl OwnedTasks {
    /// No tasks, in as many shards.
    pub fn new(shards: usize) -> Self {
        Self {
            shards: (0..shards.max(1)).map(|_| Shard::new()).collect(),
            elsewhere: AtomicUsize::new(0),
            remote_use: Lock::new(()),
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
        let task = harness::allocate(future, scheduler, id, ListId::shared(shard));
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
        let task = harness::allocate(future, scheduler, id, ListId::own(shard));
        // SAFETY: the caller is the owner.
        let added = unsafe { self.shards[shard].add_own(task) };
        // SAFETY: the task is new, of this type, and was added or not.
        unsafe { Self::bound::<F, S>(task, added) }
    }

    /// # Safety
    ///
    /// The task is new, of this type, and was added or is known to the caller only.
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
            // SAFETY: no other thread knows the task.
            unsafe { harness::never_begun::<F, S>(task) };
            (join, None)
        }
    }

    /// Takes a task out that has ended, by a thread that owns no shard.
    #[inline]
    pub fn remove(&self, task: &Header) {
        let shard = &self.shards[task.list_id.shard()];
        if task.list_id.is_own() {
            shard.free_remotely(task);
            let before = self.elsewhere.fetch_sub(1, Ordering::AcqRel);
            let sent = before.wrapping_neg() + 1;
            if sent % MOST_SENT == 0 {
                self.drain_neglected();
            }
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
        if !task.list_id.is_own() {
            return self.remove(task);
        }
        let shard = task.list_id.shard();
        if shard == here {
            // SAFETY: the caller is the owner, and the task is alive.
            unsafe { self.shards[here].own.with(|list| list.remove(task)) };
        } else {
            self.shards[shard].free_remotely(task);
            self.has_sent(here);
        }
        add(&self.shards[here].own_len, -1);
    }

    /// The owner of the shard `here` has sent a task to another's stack.
    #[inline]
    fn has_sent(&self, here: usize) {
        let sent = &self.shards[here].sent;
        add(sent, 1);
        if sent.load(Ordering::Relaxed) % MOST_SENT == 0 {
            self.drain_neglected();
        }
    }

    /// Frees what has ended elsewhere of all shards' own tasks, if an owner does not.
    #[cold]
    fn drain_neglected(&self) {
        // All are looked at.
        let neglected = self.shards.iter().filter(|shard| shard.is_neglected());
        if neglected.count() == 0 {
            return;
        }
        let gone = self.with_all_own(|list, shard| {
            let gone = shard.take_remotely_freed();
            // SAFETY: these were in this list.
            unsafe { gone.unlink(list) };
            gone
        });
        // SAFETY: they are in no list any more.
        gone.into_iter().for_each(|gone| unsafe { gone.release() });
    }

    /// Uses all own lists, from whichever thread.
    fn with_all_own<R>(&self, mut with: impl FnMut(&mut List, &Shard) -> R) -> Vec<R> {
        let mut results = Vec::with_capacity(self.shards.len());
        let lists = self.shards.iter().map(|shard| (&shard.own, shard));
        let alone = self.remote_use.lock();
        let visit = |list: &mut List, shard| results.push(with(list, shard));
        // SAFETY: we have the lock. Owners come here only when they are done with
        // their own lists, as nothing that is done there leads here.
        unsafe { OwnedList::with_remote(lists, visit) };
        drop(alone);
        results
    }

    /// Frees what has ended elsewhere of the shard's own tasks. To be called now and then.
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    #[inline]
    pub unsafe fn drain(&self, shard: usize) {
        // SAFETY: as the caller promises.
        unsafe { self.shards[shard].drain() }
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
            shard.drain();
            shard.own.with(|list| list.close())
        };
        // They are counted when they are removed.
        end_all(waiting.0);
    }

    /// Takes in no more tasks, and cancels all there are: those that wait now, by this
    /// thread; those that are queued or running, when their tokens are run or their polls
    /// end. So the caller runs tokens until [`is_empty`](Self::is_empty); a token
    /// may be on its way in another thread.
    ///
    /// If there is one shard only, its own list is left to its owner.
    pub fn close_and_cancel_all(&self) {
        for shard in &self.shards {
            let waiting = shard.locked(|list| {
                // SAFETY: the tasks of the list are alive.
                let (waiting, count) = unsafe { list.close() };
                add(&shard.len, -count);
                waiting
            });
            end_all(waiting);
        }
        if self.shards.len() > 1 {
            // An owner whose thread is blocked may wait for the end of one of its tasks.
            // SAFETY: as above.
            let waiting = self.with_all_own(|list, _| unsafe { list.close() }.0);
            waiting.into_iter().for_each(end_all);
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
        // SAFETY: this task was shut down by the caller; no other thread ends it.
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
    let task = harness::allocate(future, scheduler, id, ListId::shared(0));
    // SAFETY: the task is new, and has an output of this type and a token.
    unsafe { (JoinHandle::new(task), Notified::from_raw(task)) }
}
