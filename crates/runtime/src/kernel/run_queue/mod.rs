//! The ready tasks of one worker.
//!
//! A queue has one *owner*, which is the thread that has the worker's core. Other workers are its
//! *stealers*. A ready task is in one of four parts of the queue:
//!
//! | part | holds | because |
//! |---|---|---|
//! | ring | up to `N` tasks, in their order | other workers can take from it what the owner is too busy for |
//! | LIFO slot | the task that was made ready last | its data is likely to be in the processor's cache |
//! | batch | the tasks that the owner has *claimed*: the next few of the ring | a compare-and-swap for each is the greater part of the cost of a short poll |
//! | yielded | a task that yielded while no other was queued | it is polled again at once, so no other worker has to know |
//!
//! (Tasks from threads outside are in `inject.rs`, and those that are pinned to a thread in
//! `inbox.rs`: neither belongs to a worker.)
//!
//! # States
//!
//! * The ring has two positions that only count up, `head` and `tail`. Tasks wait at the positions
//!   from `head` to before `tail`. The place of a position is its remainder by `N`.
//! * The LIFO slot has one word: null, or the task.
//! * The batch has `len` and an array. The first `len` items are claimed.
//! * A biased lock guards what is taken out of the LIFO slot and the batch.
//!
//! # Steps of the owner
//!
//! 1. **Push** to the ring: refuses the task if `tail` is `N` beyond `head`. Otherwise writes the
//!    place at `tail`, then publishes `tail + 1`. No read-modify-write.
//! 2. **Pop** from the ring: moves `head` on by one with a compare-and-swap.
//! 3. **Claim**, when the batch is empty: moves `head` on by `n` in the same way, copies the items to
//!    the batch, and publishes `len` last. One of the `n` it runs at once. A batch has at most half of
//!    the ring's tasks, and only as many as run in the time that it takes to wake another worker for them
//!    (`tuning.rs`).
//! 4. **Take** from the LIFO slot or the batch: under the lock, unless that part is empty.
//! 5. **Put** into the LIFO slot: takes out the previous task (4), and stores the new one without the lock.
//! 6. **Yield**, and **take** the yielded task: no other thread uses that cell.
//!
//! # Steps of a stealer
//!
//! 7. **Steal** from the ring, when its own ring is empty: reads `head`, then `tail`, and copies about
//!    half of the waiting items to its own ring, beyond its own `tail`, where no thread sees them. Then
//!    it moves `head` on by as many with a compare-and-swap, and publishes its own `tail`. If the
//!    exchange fails, the copies mean nothing, and it begins again.
//! 8. **Reclaim** from an owner that is stalled, as the monitor or the stealer sees (`progress.rs`): under
//!    the lock, takes all of the batch; if that is empty, what is in the LIFO slot. If the owner holds the
//!    lock, it is not stalled, and the stealer takes nothing.
//!
//! # No task runs twice
//!
//! *In the ring:*
//!
//! 1. `head` never goes back. So an exchange from `h` to `h + n` succeeds only if `head` was `h` all the
//!    time since it was read. Each position lies in the span of exactly one successful exchange, and its
//!    task belongs to the thread that made it.
//! 2. As long as `head` is `h`, the owner refuses to write the places from `h` on. So what was
//!    copied before the exchange are the tasks at those positions.
//! 3. Places are atomics, because a stealer may read a place which the owner, a lap later, writes. Then
//!    `head` has moved, and the exchange fails. A stealer that reads an old `head` and a new `tail` may
//!    see more than `N` tasks; it begins again.
//! 4. A stealer reads places before its exchange (release), and the owner loads `head` (acquire) before it
//!    writes a place again.
//!
//! *In the LIFO slot and the batch:*
//!
//! 5. Tasks are taken out under the lock, each by the first thread that finds it there.
//! 6. **An empty part stays empty until the owner fills it.** No other thread fills one, and a stealer
//!    writes neither an empty slot nor the `len` of an empty batch. So the owner fills an empty part
//!    without the lock.
//! 7. A stealer that has emptied the batch only then publishes `len`, and the owner acquires it before it
//!    claims again. So the items are not overwritten while they are read.
//!
//! # No task is lost
//!
//! 1. A step moves a task from one part to another, or returns it. The caller has to queue what
//!    **push** refuses and what **put** displaces.
//! 2. By 6 above, no stealer overwrites a task that the owner puts in.
//! 3. What reclaiming takes goes to the stealer's ring, which is empty. It has room, since
//!    a batch never has more than half of a ring.
//! 4. What a task points to is visible to the thread that runs it: `tail`, the slot and `len` are published
//!    (release) after the task was made ready, and stealers acquire them.
//!
//! A queued task also has to be *found*. `idle.rs` ensures that a worker is awake, or a monitor looks, while
//! a task waits here. A stalled owner keeps neither its ring (7) nor its slot and batch (8). It keeps the
//! yielded task; so the worker moves that task to the ring before it runs any other.

mod lifo_slot;
mod ring;
mod run_batch;

use blitz_io_core::{BiasedLock, Watched};

use self::lifo_slot::LifoSlot;
use self::ring::Ring;
use self::run_batch::RunBatch;
use super::token::Token;

/// Number of places of a worker's ring.
pub const CAPACITY: usize = 256;
/// Number of tasks that are worth a theft, whatever their owner does.
const MANY: usize = 64;
/// Largest number of tasks that a worker claims.
pub const MOST_CLAIMED: usize = run_batch::MAX;

/// The ready tasks of a worker; see the module documentation.
///
/// At any time at most one thread is the owner, and each former owner's calls are ordered before
/// it. The unsafe functions are for the owner.
pub struct RunQueue<K, const N: usize = CAPACITY> {
    ring: Ring<K, N>,
    lifo_slot: LifoSlot<K>,
    batch: RunBatch<K>,
    /// Guards what is taken out of the slot and the batch.
    lock: BiasedLock,
    yielded: Watched<Option<K>>,
}

// SAFETY: it holds tokens, which may be sent.
unsafe impl<K: Token, const N: usize> Send for RunQueue<K, N> {}
// SAFETY: only the owner uses `yielded`. The proof above says which thread uses the other parts when,
// and that the uses are ordered.
unsafe impl<K: Token, const N: usize> Sync for RunQueue<K, N> {}

impl<K: Token, const N: usize> RunQueue<K, N> {
    /// Creates an empty queue.
    pub fn new() -> Self {
        Self {
            ring: Ring::new(),
            lifo_slot: LifoSlot::new(),
            batch: RunBatch::new(),
            lock: BiasedLock::new(),
            yielded: Watched::new(None),
        }
    }
}

/// The state, which any thread may ask for. It may have changed by now.
impl<K: Token, const N: usize> RunQueue<K, N> {
    /// Returns the number of tasks that others may take, if need be from a stalled owner.
    pub fn depth(&self) -> usize {
        self.unclaimed() + self.batch.len()
    }

    /// Returns `true` if there is a task that others may take, if need be from a stalled owner.
    #[inline]
    pub fn has_tasks(&self) -> bool {
        self.has_stealable() || self.has_claimed()
    }

    /// Returns `true` if there is a task that others take only from a stalled owner.
    #[inline]
    pub fn has_claimed(&self) -> bool {
        !self.lifo_slot.is_empty() || self.batch.len() > 0
    }

    /// Returns the number of tasks that were claimed in one step, and wait for the owner.
    #[inline]
    pub fn claimed(&self) -> usize {
        self.batch.len()
    }

    /// Returns the number of tasks that have not been claimed.
    #[inline]
    pub fn unclaimed(&self) -> usize {
        self.ring.len() + usize::from(!self.lifo_slot.is_empty())
    }

    /// Returns `true` if any worker may take a task.
    #[inline]
    pub fn has_stealable(&self) -> bool {
        !self.ring.is_empty()
    }

    /// Returns the number of tasks that any worker may take.
    #[inline]
    pub fn stealable(&self) -> usize {
        self.ring.len()
    }
}

/// The owner's side.
impl<K: Token, const N: usize> RunQueue<K, N> {
    /// Puts a task at the end of the ring, or gives it back if the ring is full.
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    #[inline]
    pub unsafe fn push(&self, task: K) -> Result<(), K> {
        // SAFETY: the caller is the owner.
        unsafe { self.ring.push(task) }
    }

    /// Returns the number of tasks for which there is room in the ring.
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    #[inline]
    pub unsafe fn room(&self) -> usize {
        // SAFETY: the caller is the owner.
        unsafe { self.ring.room() }
    }

    /// Takes the first task of the ring. Claims those behind it: as many as make half of the
    /// ring, but `most` in all.
    ///
    /// # Safety
    ///
    /// The caller is the owner, and has run all that it had claimed.
    #[inline]
    pub unsafe fn pop_and_claim(&self, most: usize) -> Option<K> {
        let count = most.min(self.ring.len() / 2);
        if count <= 1 {
            // SAFETY: the caller is the owner.
            return unsafe { self.ring.pop() };
        }
        // SAFETY: the caller is the owner, and the batch is empty.
        unsafe { self.batch.fill(&self.ring, count) }
    }

    /// Takes the next of the claimed tasks.
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    #[inline]
    pub unsafe fn take_claimed(&self) -> Option<K> {
        if self.batch.seems_empty() {
            return None;
        }
        // SAFETY: the caller is the owner, also of the lock.
        unsafe { self.lock.lock(|| self.batch.take()) }
    }

    /// Puts a task into the LIFO slot, and returns the task that it displaces.
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    #[inline]
    pub unsafe fn put_lifo(&self, task: K) -> Option<K> {
        // SAFETY: the caller is the owner.
        unsafe {
            let displaced = self.take_lifo();
            self.lifo_slot.fill(task);
            displaced
        }
    }

    /// Takes the task out of the LIFO slot.
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    #[inline]
    pub unsafe fn take_lifo(&self) -> Option<K> {
        if self.lifo_slot.is_empty() {
            return None;
        }
        // SAFETY: the caller is the owner, also of the lock.
        unsafe { self.lock.lock(|| self.lifo_slot.take()) }
    }

    /// Takes the claimed tasks and half of the ring, the oldest first.
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    #[cold]
    pub unsafe fn spill(&self) -> Vec<K> {
        let mut tasks = Vec::with_capacity(MOST_CLAIMED + N / 2 + 1);
        // SAFETY: the caller is the owner.
        unsafe {
            tasks.extend(std::iter::from_fn(|| self.take_claimed()));
            let half = self.ring.len() / 2;
            self.ring.pop_many(half, |_, task| tasks.push(task));
        }
        tasks
    }

    /// Returns `true` if a task has yielded, which is in no other part.
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    #[inline]
    pub unsafe fn has_yielded(&self) -> bool {
        // SAFETY: the caller is the owner.
        self.yielded.with(|task| unsafe { (*task).is_some() })
    }

    /// Keeps a task that has yielded.
    ///
    /// # Safety
    ///
    /// The caller is the owner, and there is none.
    #[inline]
    pub unsafe fn put_yielded(&self, task: K) {
        // SAFETY: the caller is the owner.
        self.yielded
            .with_mut(|place| unsafe { *place = Some(task) });
    }

    /// Takes the task that has yielded.
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    #[inline]
    pub unsafe fn take_yielded(&self) -> Option<K> {
        // SAFETY: the caller is the owner.
        self.yielded.with_mut(|task| unsafe { (*task).take() })
    }
}

/// The stealers' side. `into` is the stealer's own queue.
impl<K: Token, const N: usize> RunQueue<K, N> {
    /// Returns `true` if stealing is worth it. If few tasks wait or are claimed, the owner may come
    /// for the next one during a `pause`. If it does not, it is busy, or has claimed enough to
    /// share. It may also have added some, and stealing costs the same for many as for one.
    pub fn is_worth_stealing_from(&self, pause: impl FnOnce()) -> bool {
        let head = self.ring.head();
        let is_many = || self.stealable() + self.claimed() >= MANY;
        if !self.has_stealable() {
            return false;
        }
        if is_many() {
            return true;
        }
        pause();
        self.ring.head() == head || is_many()
    }

    /// Takes half of the tasks that wait in the ring or are claimed, and one at least if any waits
    /// in the ring. Returns the first with the number of those taken; the others are in `into`.
    ///
    /// # Safety
    ///
    /// The caller is the owner of `into`, which has an empty ring, and is not this queue.
    pub unsafe fn steal_into(&self, into: &Self) -> Option<(K, usize)> {
        // SAFETY: the caller is the owner of `into`, with its empty ring.
        unsafe { self.ring.steal_into(&into.ring, self.claimed()) }
    }

    /// Takes the claimed tasks of a stalled owner, or else the one in its LIFO slot. Returns the
    /// first with the number of those taken; the others are in `into`. `None` also if the owner is
    /// at one of them just now.
    ///
    /// # Safety
    ///
    /// As for [`steal_into`](Self::steal_into).
    #[cold]
    pub unsafe fn reclaim_into(&self, into: &Self) -> Option<(K, usize)> {
        if !self.has_claimed() {
            return None;
        }
        // SAFETY: the lock is held, and the caller owns `into`.
        let reclaim = || unsafe { self.reclaim_locked(into) };
        self.lock.try_lock_remote(reclaim).flatten()
    }

    /// # Safety
    ///
    /// The caller holds the lock; the rest as for [`steal_into`](Self::steal_into).
    unsafe fn reclaim_locked(&self, into: &Self) -> Option<(K, usize)> {
        let mut first = None;
        // SAFETY: the lock is held.
        let count = unsafe {
            self.batch.reclaim(|task| match first {
                None => first = Some(task),
                Some(_) => {
                    let pushed = into.ring.push(task);
                    debug_assert!(pushed.is_ok(), "half a ring fits into an empty one");
                }
            })
        };
        match first {
            Some(first) => Some((first, count)),
            // SAFETY: the lock is held.
            None => Some((unsafe { self.lifo_slot.reclaim() }?, 1)),
        }
    }
}
