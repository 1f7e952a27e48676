//! The tasks of a runtime, so that it can end them.
//!
//! There is a shard for each worker, with two lists:
//!
//! * The **shared** list has a lock, and every thread may add and remove.
//! * The **own** list is used by the shard's owner, the thread that is this worker at the
//!   moment. It costs no lock: most tasks are spawned by a worker and end there.
//!
//! If another worker has stolen a task of an own list, the task ends on another thread
//! and is *freed remotely*. That thread pushes it to a stack of the shard, with a
//! reference that keeps the memory, since the list goes through it. The next time that
//! the owner adds a task, or in its maintenance, it *drains* the stack, which unlinks and
//! releases the tasks.
//!
//! An owner's thread may sleep, or be blocked by a task, for ever. So other threads use
//! its list, too, under a biased lock:
//!
//! * at shutdown, to cancel its tasks, because a thread may wait for one of them;
//! * after every [`MOST_SENT`] tasks that they have freed remotely, to drain the stacks
//!   whose owners have not done so since the last time.
//!
//! Why nothing is freed too early or left over:
//!
//! 1. A task in an own list lives until it ends.
//! 2. A thread that ends a task of another's list pushes it to the stack before it gives
//!    up the task's own reference. The stack's reference then keeps the task alive.
//! 3. The thread that drains the stack unlinks the task before it gives up the stack's
//!    reference.
//! 4. A thread that cancels the tasks of another's list unlinks them. When they end, they
//!    are freed remotely like others, and the drain finds them in no list.
//! 5. Dropping the shards releases the tasks that are still in the stacks. A scheduler
//!    that its tasks keep alive must drain before.
//!
//! Counts: the owner of a shard counts in the shard the tasks that it adds and removes,
//! also from others' lists. So a count may be negative, and only the sum means something.
//! Once all lists are closed, no count increases. So a thread that then finds the sum
//! zero may rely on it, in whatever order it read the counts.

use std::future::Future;
use std::ptr::{self, NonNull};

use blitz_io_core::{BiasedLock, Lock, Watched};
use blitz_io_futex::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use super::harness;
use super::header::{self, Header, Id, Links, ListId, Notified, Schedule};
#[cfg(feature = "sim")]
use super::join_handle::AbortHandle;
use super::join_handle::JoinHandle;

/// Number of tasks that an owner sends to others' stacks before it looks after these stacks.
const MOST_SENT: usize = if cfg!(loom) { 2 } else { 1024 };

/// The tasks of a runtime which have not ended.
pub struct OwnedTasks {
    shards: Box<[Shard]>,
    /// Minus how many own tasks of shards have ended where there is no owner.
    elsewhere: AtomicUsize,
    /// Held while others' lists are used.
    remote_use: Lock<()>,
}

/// Two lists of tasks; see the module documentation.
#[repr(align(128))]
struct Shard {
    list: Lock<List>,
    /// Number of tasks in that list. Written under the lock.
    len: AtomicUsize,
    /// The owner's list. The owner uses it for each task that it starts and ends, and makes no
    /// read-modify-write for it.
    own: Watched<List>,
    own_lock: BiasedLock,
    /// Number of own tasks that the owner has added, minus the number that it has seen end, also
    /// of other owners. Written by the owner.
    own_len: AtomicUsize,
    /// Number of tasks that the owner has sent to others' stacks. Written by the owner.
    sent: AtomicUsize,
    stack: Stack,
}

/// The stack of tasks of an own list that have ended elsewhere. Not in the cache lines that
/// the owner writes.
#[derive(Default)]
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
// SAFETY: the locks and the owners also order the uses through shared references.
unsafe impl Sync for OwnedTasks {}

/// Adds to a number that no other thread writes now.
#[inline]
fn add(number: &AtomicUsize, change: isize) {
    let value = number.load(Ordering::Relaxed);
    number.store(value.wrapping_add_signed(change), Ordering::Release);
}

/// Tasks linked through `queue_next`.
type Chain = Option<NonNull<Header>>;

/// Calls `with` for each task of a chain.
///
/// # Safety
///
/// The tasks are alive, and stay so until `with` has them.
unsafe fn for_each(mut chain: Chain, mut with: impl FnMut(NonNull<Header>)) {
    while let Some(task) = chain {
        // SAFETY: the tasks of the chain are alive until `with` has them.
        chain = unsafe { task.as_ref().queue_next() };
        with(task);
    }
}

/// A list of tasks, linked through their headers. It has one user at any time.
#[derive(Default)]
struct List {
    first: Option<NonNull<Header>>,
    /// The list takes in no more tasks.
    is_closed: bool,
}

impl List {
    /// Adds a task, unless the list is closed.
    ///
    /// # Safety
    ///
    /// The task is alive, and in no list.
    #[inline]
    unsafe fn add(&mut self, task: NonNull<Header>) -> bool {
        if self.is_closed {
            return false;
        }
        let next = self.first.replace(task);
        // SAFETY: the caller has the list, and the tasks in it are alive.
        unsafe {
            task.as_ref().links.with_mut(|links| (*links).next = next);
            if let Some(next) = next {
                next.as_ref()
                    .links
                    .with_mut(|links| (*links).previous = Some(task));
            }
        }
        true
    }

    /// Takes a task out, if it is in the list.
    ///
    /// # Safety
    ///
    /// The task is alive, and in no other list.
    #[inline]
    unsafe fn remove(&mut self, task: &Header) -> bool {
        // SAFETY: the caller has the list, and the tasks in it are alive.
        unsafe {
            let Links { previous, next } = task.links.with(|links| *links);
            match previous {
                Some(previous) => previous
                    .as_ref()
                    .links
                    .with_mut(|links| (*links).next = next),
                None if self.first == Some(task.into()) => self.first = next,
                // It has been taken out.
                None => return false,
            }
            task.links.with_mut(|links| (*links).previous = None);
            if let Some(next) = next {
                next.as_ref()
                    .links
                    .with_mut(|links| (*links).previous = previous);
            }
        }
        true
    }

    /// Takes in no more tasks, and cancels all there are. Takes those out that wait, and
    /// gives them as a chain, and how many they are. The chain also has the pinned tasks that
    /// wait, with their tokens; they stay in the list.
    ///
    /// # Safety
    ///
    /// The tasks of the list are alive.
    unsafe fn close(&mut self) -> (Chain, isize) {
        self.is_closed = true;
        let (mut chain, mut count) = (None, 0);
        let mut next = self.first;
        while let Some(task) = next {
            // SAFETY: tasks of the list are alive. A task that `shut_down` has given to this thread is this
            // thread's to link, and has no token.
            unsafe {
                let header = task.as_ref();
                next = header.links.with(|links| (*links).next);
                if header.list_id.is_pinned() {
                    if header.state.cancel() {
                        // It has a token now, and stays in the list until that has been run.
                        header.set_queue_next(chain);
                        chain = Some(task);
                    }
                } else if header.state.shut_down() {
                    self.remove(header);
                    header.set_queue_next(chain);
                    chain = Some(task);
                    count += 1;
                }
            }
        }
        (chain, count)
    }
}

impl Shard {
    fn new() -> Self {
        Self {
            list: Lock::default(),
            len: AtomicUsize::new(0),
            own: Watched::new(List::default()),
            own_lock: BiasedLock::new(),
            own_len: AtomicUsize::new(0),
            sent: AtomicUsize::new(0),
            stack: Stack::default(),
        }
    }

    /// Runs `with` under the lock.
    #[inline]
    fn locked<R>(&self, with: impl FnOnce(&mut List) -> R) -> R {
        // To take the lock is one read-modify-write, to release it is none.
        #[cfg(test)]
        super::changes::count();
        with(&mut self.list.lock())
    }

    /// Uses the owner's list, for a few instructions that call no user code.
    ///
    /// # Safety
    ///
    /// The caller is the owner: those that were before are ordered before this.
    #[inline]
    unsafe fn with_own<R>(&self, with: impl FnOnce(&mut List) -> R) -> R {
        // SAFETY: there is no other owner, and under the lock no other user.
        unsafe {
            self.own_lock
                .lock(|| self.own.with_mut(|list| with(&mut *list)))
        }
    }

    /// Adds a new task, to the owner's list if it is bound to that, unless the list is closed.
    ///
    /// # Safety
    ///
    /// The task is in no list. For the owner's the caller is the owner.
    #[inline]
    unsafe fn add(&self, task: NonNull<Header>, is_own: bool) -> bool {
        let add_to = |list: &mut List, len| {
            // SAFETY: the task is alive, and in no list.
            let added = unsafe { list.add(task) };
            if added {
                add(len, 1);
            }
            added
        };
        if !is_own {
            return self.locked(|list| add_to(list, &self.len));
        }
        // SAFETY: the caller is the owner.
        unsafe {
            self.drain();
            self.with_own(|list| add_to(list, &self.own_len))
        }
    }

    /// Leaves a task of the own list, which has ended elsewhere, to the owner.
    #[cold]
    fn free_remotely(&self, task: &Header) {
        task.state.acquire();
        let place = ptr::from_ref(task).cast_mut();
        let mut first = self.stack.remotely_freed.load(Ordering::Relaxed);
        loop {
            // SAFETY: this thread ends the task, and has the right to its link from the
            // token.
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
        if self.has_remotely_freed() {
            // SAFETY: the caller is the owner.
            unsafe { self.drain_all() }
        }
    }

    /// # Safety
    ///
    /// The caller is the owner.
    #[cold]
    unsafe fn drain_all(&self) {
        self.stack.piles_up.store(false, Ordering::Relaxed);
        // SAFETY: the caller is the owner, and these were in its list.
        unsafe {
            let gone = self.with_own(|list| self.unlink_remotely_freed(list));
            for_each(gone, |task| header::release_last(task));
        }
    }

    #[inline]
    fn has_remotely_freed(&self) -> bool {
        !self.stack.remotely_freed.load(Ordering::Relaxed).is_null()
    }

    /// Returns `true` if another thread should drain the stack. A look without order, as
    /// nothing depends on it but memory.
    fn is_neglected(&self) -> bool {
        if !self.has_remotely_freed() {
            return false;
        }
        let piles_up = self.stack.piles_up.load(Ordering::Relaxed);
        self.stack.piles_up.store(true, Ordering::Relaxed);
        // Models have no time for another round.
        piles_up || cfg!(loom)
    }

    /// Takes all tasks from the stack, and unlinks those that are still in the list.
    ///
    /// # Safety
    ///
    /// The list is the owner's. The caller has to release the tasks.
    unsafe fn unlink_remotely_freed(&self, list: &mut List) -> Chain {
        let stack = &self.stack.remotely_freed;
        let gone = NonNull::new(stack.swap(ptr::null_mut(), Ordering::Acquire));
        // SAFETY: the tasks of the stack have a reference each.
        unsafe { for_each(gone, |task| _ = list.remove(task.as_ref())) };
        gone
    }
}

impl Drop for Shard {
    fn drop(&mut self) {
        // SAFETY: no other thread uses the shard any more.
        unsafe { self.drain() }
    }
}

impl OwnedTasks {
    /// Creates as many shards without tasks.
    pub fn new(shards: usize) -> Self {
        Self {
            shards: (0..shards.max(1)).map(|_| Shard::new()).collect(),
            elsewhere: AtomicUsize::new(0),
            remote_use: Lock::new(()),
        }
    }

    /// One of the lists with a lock, so that many tasks are spread over all of them.
    #[inline]
    pub fn any_list(&self, nth: usize) -> ListId {
        ListId::shared(nth % self.shards.len())
    }

    /// Makes a task. Without a token, the runtime has ended, and the task is cancelled.
    ///
    /// # Safety
    ///
    /// * If the future is not `Send`, the token is run, and the tasks are closed, on this
    ///   thread only.
    /// * If it is not `'static`, it is dropped before its borrows end.
    /// * If the list is [a shard's own](ListId::own), the caller is the owner of the
    ///   shard: no other thread uses its own list during the call, and former owners'
    ///   uses happen before this.
    #[inline]
    pub unsafe fn bind<F, S>(
        &self,
        list: ListId,
        future: F,
        scheduler: S,
        id: Id,
    ) -> (JoinHandle<F::Output>, Option<Notified>)
    where
        F: Future,
        S: Schedule,
    {
        let task = harness::allocate(future, scheduler, id, list);
        let join = JoinHandle::new(task);
        // SAFETY: the task is new, and the caller is the owner if need be.
        (join, unsafe { self.add(list, task) })
    }

    /// Takes a new task into its list. Without a token, the runtime has ended, and the task is
    /// cancelled.
    ///
    /// # Safety
    ///
    /// Only the caller knows the task, and owns the list if that is a shard's own.
    #[inline]
    unsafe fn add(&self, list: ListId, task: NonNull<Header>) -> Option<Notified> {
        // SAFETY: the task is in no list, as only the caller knows it. The caller owns the list if it is own.
        if unsafe { self.shards[list.shard()].add(task, list.is_own()) } {
            // SAFETY: a new task has a token.
            return Some(unsafe { Notified::of(task) });
        }
        // SAFETY: no other thread knows the task.
        unsafe { harness::never_begun(task) };
        None
    }

    /// Takes a task out that has ended, by a thread that owns no shard.
    #[inline]
    pub fn remove(&self, task: &Header) {
        let shard = &self.shards[task.list_id.shard()];
        if task.list_id.is_own() {
            shard.free_remotely(task);
            let before = self.elsewhere.fetch_sub(1, Ordering::AcqRel);
            return self.drain_neglected(before.wrapping_neg() + 1);
        }
        shard.locked(|list| {
            // SAFETY: the task is alive, and this is its list.
            if unsafe { list.remove(task) } {
                add(&shard.len, -1);
            }
        });
    }

    /// Removes a task, on the thread that owns the shard `here`.
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    #[inline]
    pub unsafe fn remove_by_owner(&self, task: &Header, here: usize) {
        if !task.list_id.is_own() {
            return self.remove(task);
        }
        let (own, shard) = (&self.shards[here], task.list_id.shard());
        if shard == here {
            // SAFETY: the caller is the owner, and the task is alive.
            unsafe { own.with_own(|list| list.remove(task)) };
        } else {
            self.shards[shard].free_remotely(task);
            add(&own.sent, 1);
            self.drain_neglected(own.sent.load(Ordering::Relaxed));
        }
        add(&own.own_len, -1);
    }

    /// The caller has freed `sent` tasks remotely. At intervals, it drains the stacks
    /// that their owners neglect.
    #[inline]
    fn drain_neglected(&self, sent: usize) {
        if sent % MOST_SENT == 0 {
            self.drain_all_neglected();
        }
    }

    #[cold]
    fn drain_all_neglected(&self) {
        // All are looked at.
        let neglected = self.shards.iter().filter(|shard| shard.is_neglected());
        if neglected.count() == 0 {
            return;
        }
        // SAFETY: these are the owners' lists.
        let gone = self.with_all_own(|list, shard| unsafe { shard.unlink_remotely_freed(list) });
        for gone in gone {
            // SAFETY: they are in no list any more, and this thread releases their references.
            unsafe { for_each(gone, |task| header::release_last(task)) };
        }
    }

    /// Uses all own lists, from whichever thread.
    fn with_all_own<R>(&self, mut with: impl FnMut(&mut List, &Shard) -> R) -> Vec<R> {
        let mut results = Vec::with_capacity(self.shards.len());
        let locks = self.shards.iter().map(|shard| (&shard.own_lock, shard));
        let mut work = |shard: &Shard| {
            // SAFETY: `lock_remote` runs this with the list's lock held, so there is no
            // other user.
            let result = shard
                .own
                .with_mut(|list| with(unsafe { &mut *list }, shard));
            results.push(result);
        };
        let alone = self.remote_use.lock();
        // SAFETY: we have the lock. Owners come here only when they are done with
        // their own lists, as nothing that is done there leads here.
        unsafe { BiasedLock::lock_remote(locks, &mut work) };
        drop(alone);
        results
    }

    /// Frees the shard's own tasks that have ended on other threads. To be called
    /// regularly.
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    #[inline]
    pub unsafe fn drain(&self, shard: usize) {
        // SAFETY: the caller is the owner.
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
            shard.with_own(|list| list.close())
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
            // SAFETY: the tasks of the list are alive (points 1 to 3 of the module documentation).
            let waiting = self.with_all_own(|list, _| unsafe { list.close() }.0);
            waiting.into_iter().for_each(end_all);
        }
    }

    /// Returns a handle of each of the shard's own tasks whose number `selects` accepts.
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    #[cfg(feature = "sim")]
    pub unsafe fn select_own(
        &self,
        shard: usize,
        selects: &dyn Fn(u64) -> bool,
    ) -> Vec<AbortHandle> {
        let mut selected = Vec::new();
        let mut select = |list: &mut List| {
            let mut next = list.first;
            while let Some(task) = next {
                // SAFETY: tasks of the list are alive (point 1 of the module documentation), and this closure has the list.
                let header = unsafe { task.as_ref() };
                // SAFETY: this closure has the list.
                next = header.links.with(|links| unsafe { (*links).next });
                if selects(header.id().as_u64()) {
                    selected.push(AbortHandle::of(header));
                }
            }
        };
        // SAFETY: the caller is the owner.
        unsafe { self.shards[shard].with_own(&mut select) };
        selected
    }

    /// Returns the number of tasks. While tasks are added or end, it may be somewhat off.
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

    /// Returns `true` if there are no tasks. Reliable when all lists are closed: then
    /// numbers only decrease.
    pub fn is_empty(&self) -> bool {
        self.sum() == 0
    }
}

/// Ends tasks that were shut down, and schedules the pinned ones.
fn end_all(waiting: Chain) {
    // SAFETY: the caller has shut these tasks down; no other thread ends them.
    unsafe { for_each(waiting, |task| (task.as_ref().vtable.shut_down)(task)) };
}

/// Makes a task that is in no list.
pub fn unowned<F, S>(future: F, scheduler: S, id: Id) -> (JoinHandle<F::Output>, Notified)
where
    F: Future<Output: Send + 'static> + Send + 'static,
    S: Schedule,
{
    let task = harness::allocate(future, scheduler, id, ListId::shared(0));
    // SAFETY: a new task has a token.
    (JoinHandle::new(task), unsafe { Notified::of(task) })
}
