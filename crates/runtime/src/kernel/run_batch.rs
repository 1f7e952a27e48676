//! The tasks that a worker has claimed: it takes the next few of its ring in one step, and
//! then runs one after the other.
//!
//! To take one task from the ring costs a read-modify-write, which is the greater part of
//! the cost of a short poll. A batch costs one for all. Thieves cannot take claimed
//! tasks. So a batch has half of the ring at most, and only as many tasks as run in the
//! time that it would take to wake another worker for them (`tuning.rs`). If the owner is
//! stalled nevertheless, other workers *reclaim* the batch, as they do with the LIFO
//! slot.
//!
//! The owner takes a task, and a reclaimer takes all, under the biased lock, so no task is
//! taken twice. **An empty batch stays empty until the owner fills it**, as no other thread
//! does. So the owner fills it without the lock, and publishes `len` last; a reclaimer that
//! sees that `len` sees the items, and only reads them. A reclaimer publishes that the batch
//! is empty when it has read all items; the owner acquires that before it fills it again.

use std::array;
use std::marker::PhantomData;
use std::ptr::NonNull;

use blitz_io_futex::atomic::{AtomicUsize, Ordering};

use super::queue::Ring;
use super::token::Token;
use blitz_io_core::BiasedLock;
use blitz_io_core::Watched;

/// Largest number of tasks that a worker claims.
pub const MAX: usize = if cfg!(loom) { 4 } else { 64 };

/// The claimed tasks; see the module documentation. The unsafe functions are for the owner: at any
/// moment at most one thread is the owner.
pub struct RunBatch<K> {
    len: AtomicUsize,
    /// The first `len` are claimed, the next one to run last.
    items: Watched<[NonNull<()>; MAX]>,
    lock: BiasedLock,
    holds: PhantomData<fn() -> K>,
}

// SAFETY: the items are tokens, which may be sent.
unsafe impl<K: Token> Send for RunBatch<K> {}
// SAFETY: the lock and `len` say which thread uses the items, and order the uses.
unsafe impl<K: Token> Sync for RunBatch<K> {}

impl<K: Token> RunBatch<K> {
    /// Creates an empty batch.
    pub fn new() -> Self {
        Self {
            len: AtomicUsize::new(0),
            items: Watched::new(array::from_fn(|_| NonNull::dangling())),
            lock: BiasedLock::new(),
            holds: PhantomData,
        }
    }

    /// Returns the number of claimed tasks.
    #[inline]
    pub fn len(&self) -> usize {
        self.len.load(Ordering::Acquire)
    }

    /// Returns `true` if no task is claimed.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes the next one.
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    #[inline]
    pub unsafe fn take(&self) -> Option<K> {
        if self.len.load(Ordering::Relaxed) == 0 {
            return None;
        }
        // SAFETY: the batch's owner, which the caller is, is also the owner of its lock.
        unsafe {
            self.lock.lock(|| {
                let left = self.len.load(Ordering::Relaxed).checked_sub(1)?;
                self.len.store(left, Ordering::Relaxed);
                // It was claimed, and the lock is held.
                Some(K::from_raw(self.items.with(|items| (&*items)[left])))
            })
        }
    }

    /// Takes the first of the ring, and claims those behind it: as many as make half of the
    /// ring, but `most` in all.
    ///
    /// # Safety
    ///
    /// The caller is the owner of the ring and of the batch, which is empty.
    #[inline]
    pub unsafe fn take_through<const N: usize>(&self, ring: &Ring<K, N>, most: usize) -> Option<K> {
        let count = most.min(ring.len() / 2);
        if count <= 1 {
            // SAFETY: the caller is the owner of the ring.
            return unsafe { ring.pop() };
        }
        // SAFETY: the caller is the owner of the ring and of the batch, which is empty.
        unsafe { self.fill(ring, count) }
    }

    /// # Safety
    ///
    /// As for [`take_through`](Self::take_through).
    unsafe fn fill<const N: usize>(&self, ring: &Ring<K, N>, most: usize) -> Option<K> {
        let most = most.min(MAX);
        // A reclaimer may just have emptied it: after the acquire, it has read the items.
        let was_empty = self.is_empty();
        debug_assert!(was_empty);
        self.items.with_mut(|items| {
            // SAFETY: the batch is empty, so no other thread uses the items.
            let items = unsafe { &mut *items };
            // SAFETY: the caller owns the ring.
            let count = unsafe {
                ring.pop_many(
                    |waiting| waiting.min(most),
                    |i, item: K| items[i] = item.into_raw(),
                )
            };
            let left = count.checked_sub(1)?;
            items[..count].reverse();
            self.len.store(left, Ordering::Release);
            // SAFETY: it was made a pointer right here, and is not counted among the claimed.
            Some(unsafe { K::from_raw(items[left]) })
        })
    }

    /// Takes all tasks of a stalled owner, and hands each to `to`, the next one first; returns
    /// how many they were. None also if the owner is at the batch just now.
    #[cold]
    pub fn reclaim(&self, to: impl FnMut(K)) -> usize {
        if self.is_empty() {
            return 0;
        }
        let reclaimed = self.lock.try_lock_remote(|| {
            // An empty batch may be filled at any time, so a reclaimer must not write it.
            let len = self.len();
            let items = (len > 0).then(|| {
                // SAFETY: these are claimed, and the lock is held.
                self.items.with(|items| unsafe { *items })
            })?;
            self.len.store(0, Ordering::Release);
            Some((items, len))
        });
        let Some((items, len)) = reclaimed.flatten() else {
            return 0;
        };
        // SAFETY: `fill` made them pointers, and they were taken under the lock.
        let tokens = items[..len]
            .iter()
            .map(|&item| unsafe { K::from_raw(item) });
        tokens.rev().for_each(to);
        len
    }
}
