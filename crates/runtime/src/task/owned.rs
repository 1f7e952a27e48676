//! The tasks of a runtime, so that it can end them.

use std::future::Future;
use std::ptr::NonNull;

use blitz_futex::atomic::{AtomicUsize, Ordering};
use blitz_sync::internals::ListLock;

use super::cell::Cell;
use super::header::{Header, Links};
use super::id::Id;
use super::join_handle::JoinHandle;
use super::notified::Notified;
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

/// The tasks of a runtime which have not ended, in several lists, so that those who add
/// and remove seldom meet.
pub struct OwnedTasks {
    shards: Box<[Shard]>,
}

/// A list and its lock.
#[repr(align(128))]
struct Shard {
    lock: ListLock,
    list: Watched<List>,
    /// How many tasks are in the list. Written under the lock.
    len: AtomicUsize,
}

struct List {
    first: Option<NonNull<Header>>,
    is_closed: bool,
}

// SAFETY: the lists are used under their locks, and tasks may be shared.
unsafe impl Send for OwnedTasks {}
// SAFETY: as above.
unsafe impl Sync for OwnedTasks {}

impl Shard {
    fn new() -> Self {
        Self {
            lock: ListLock::new(),
            list: Watched::new(List {
                first: None,
                is_closed: false,
            }),
            len: AtomicUsize::new(0),
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

    /// Adds a task, unless the list is closed.
    #[inline]
    fn add(&self, task: NonNull<Header>) -> bool {
        self.locked(|list| {
            if list.is_closed {
                return false;
            }
            // SAFETY: the task is new, and in no list.
            unsafe { list.add(task) };
            self.count(1);
            true
        })
    }

    /// The number has changed. Under the lock only.
    #[inline]
    fn count(&self, change: isize) {
        let len = self.len.load(Ordering::Relaxed);
        self.len
            .store(len.wrapping_add_signed(change), Ordering::Release);
    }
}

impl List {
    /// # Safety
    ///
    /// The list is locked. The task is alive, and in no list.
    #[inline]
    unsafe fn add(&mut self, task: NonNull<Header>) {
        let links = Links {
            previous: None,
            next: self.first,
        };
        // SAFETY: the caller has the lock, and the tasks of the list are alive.
        unsafe {
            task.as_ref().links.with_mut(|place| *place = links);
            task.as_ref().is_listed.with_mut(|place| *place = true);
            if let Some(first) = self.first {
                first
                    .as_ref()
                    .links
                    .with_mut(|links| (*links).previous = Some(task));
            }
        }
        self.first = Some(task);
    }

    /// Takes a task out, if it is in the list.
    ///
    /// # Safety
    ///
    /// The list is locked. The task is alive, and in no other list.
    #[inline]
    unsafe fn remove(&mut self, task: &Header) -> bool {
        // SAFETY: the caller has the lock, and the tasks of the list are alive.
        unsafe {
            if !task.is_listed.with(|listed| *listed) {
                return false;
            }
            task.is_listed.with_mut(|listed| *listed = false);
            let links = task.links.with(|links| *links);
            match links.previous {
                Some(previous) => previous
                    .as_ref()
                    .links
                    .with_mut(|place| (*place).next = links.next),
                None => self.first = links.next,
            }
            if let Some(next) = links.next {
                next.as_ref()
                    .links
                    .with_mut(|place| (*place).previous = links.previous);
            }
        }
        true
    }
}

impl OwnedTasks {
    /// No tasks, in as many lists.
    pub fn new(shards: usize) -> Self {
        Self {
            shards: (0..shards.max(1)).map(|_| Shard::new()).collect(),
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
        let task = Cell::allocate(future, scheduler, id, shard as u32);
        // SAFETY: the task is new, and has an output of this type.
        let join = unsafe { JoinHandle::new(task) };
        if self.shards[shard].add(task) {
            // SAFETY: a new task has a token.
            (join, Some(unsafe { Notified::from_raw(task) }))
        } else {
            // SAFETY: the task is known to nobody but us.
            unsafe { super::harness::never_begun::<F, S>(task) };
            (join, None)
        }
    }

    /// Takes a task out, if it is still there.
    #[inline]
    pub fn remove(&self, task: &Header) {
        let shard = &self.shards[task.shard as usize];
        shard.locked(|list| {
            // SAFETY: the task is alive, and this is its list.
            if unsafe { list.remove(task) } {
                shard.count(-1);
            }
        });
    }

    /// Takes in no more tasks, and cancels all there are: those that wait now, by this
    /// thread; those that are queued or running, when their tokens are run or their polls
    /// end. So whoever calls this runs tokens until [`is_empty`](Self::is_empty); a token
    /// may be on its way in another thread.
    pub fn close_and_cancel_all(&self) {
        for shard in &self.shards {
            let mut waiting = shard.locked(|list| {
                list.is_closed = true;
                // SAFETY: the list is locked.
                let (waiting, count) = unsafe { list.shut_down() };
                shard.count(-count);
                waiting
            });
            while let Some(task) = waiting {
                // SAFETY: we have shut this task down; nobody else ends it.
                unsafe {
                    waiting = task.as_ref().queue_next();
                    (task.as_ref().vtable.shut_down)(task);
                }
            }
        }
    }

    /// Whether [`close_and_cancel_all`](Self::close_and_cancel_all) has been called.
    #[allow(dead_code, reason = "for schedulers")]
    pub fn is_closed(&self) -> bool {
        self.shards[0].locked(|list| list.is_closed)
    }

    /// How many tasks there are.
    #[allow(dead_code, reason = "for metrics")]
    pub fn len(&self) -> usize {
        self.shards
            .iter()
            .map(|shard| shard.len.load(Ordering::Acquire))
            .sum()
    }

    /// Whether there are no tasks.
    pub fn is_empty(&self) -> bool {
        self.shards
            .iter()
            .all(|shard| shard.len.load(Ordering::Acquire) == 0)
    }
}

impl List {
    /// Cancels all tasks. Takes those out that wait, and gives them as a chain through
    /// `queue_next`, and how many they are.
    ///
    /// # Safety
    ///
    /// The list is locked.
    unsafe fn shut_down(&mut self) -> (Option<NonNull<Header>>, isize) {
        let (mut chain, mut count) = (None, 0);
        let mut next = self.first;
        while let Some(task) = next {
            // SAFETY: tasks of the list are alive; one that we have shut down is ours, and
            // nobody has a token for it.
            unsafe {
                let header = task.as_ref();
                next = header.links.with(|links| (*links).next);
                if header.state.shut_down() {
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

/// Makes a task that is in no list.
#[allow(dead_code, reason = "for blocking tasks")]
pub fn unowned<F, S>(future: F, scheduler: S, id: Id) -> (JoinHandle<F::Output>, Notified)
where
    F: Future<Output: Send + 'static> + Send + 'static,
    S: Schedule,
{
    let task = Cell::allocate(future, scheduler, id, 0);
    // SAFETY: the task is new, and has an output of this type and a token.
    unsafe { (JoinHandle::new(task), Notified::from_raw(task)) }
}
