//! The claimed tasks of a run queue. `mod.rs` has the proof.

use std::array;
use std::marker::PhantomData;
use std::ptr::NonNull;

use blitz_io_core::Watched;
use blitz_io_futex::atomic::{AtomicUsize, Ordering};

use super::ring::Ring;
use crate::kernel::token::Token;

/// Largest number of tasks that a worker claims.
pub(super) const MAX: usize = if cfg!(loom) { 4 } else { 64 };

/// The claimed tasks.
pub(super) struct RunBatch<K> {
    len: AtomicUsize,
    /// Invariant: `fill` made the first `len` pointers. The next one to run is the last of them.
    items: Watched<[NonNull<()>; MAX]>,
    holds: PhantomData<fn() -> K>,
}

impl<K: Token> RunBatch<K> {
    pub(super) fn new() -> Self {
        Self {
            len: AtomicUsize::new(0),
            items: Watched::new(array::from_fn(|_| NonNull::dangling())),
            holds: PhantomData,
        }
    }

    /// Returns the number of claimed tasks.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len.load(Ordering::Acquire)
    }

    /// Returns `true` if no task is claimed. Orders no memory.
    #[inline]
    pub(super) fn seems_empty(&self) -> bool {
        self.len.load(Ordering::Relaxed) == 0
    }

    /// Takes the next one.
    ///
    /// # Safety
    ///
    /// The caller is the owner, and holds the lock.
    #[inline]
    pub(super) unsafe fn take(&self) -> Option<K> {
        let left = self.len.load(Ordering::Relaxed).checked_sub(1)?;
        self.len.store(left, Ordering::Relaxed);
        // SAFETY: the invariant; the lock is held, so it is taken once.
        Some(unsafe { K::from_raw(self.items.with(|items| (&*items)[left])) })
    }

    /// Takes up to `most` tasks of the ring. Returns the first, and keeps the others.
    ///
    /// # Safety
    ///
    /// The caller is the owner, and the batch is empty.
    pub(super) unsafe fn fill<const N: usize>(&self, ring: &Ring<K, N>, most: usize) -> Option<K> {
        let most = most.min(MAX);
        // A stealer may just have emptied it: after the acquire, it has read the items.
        let len = self.len();
        debug_assert_eq!(len, 0);
        self.items.with_mut(|items| {
            // SAFETY: the batch is empty, so no other thread uses the items.
            let items = unsafe { &mut *items };
            // SAFETY: the caller owns the ring.
            let count = unsafe { ring.pop_many(most, |i, task| items[i] = task.into_raw()) };
            let left = count.checked_sub(1)?;
            items[..count].reverse();
            self.len.store(left, Ordering::Release);
            // SAFETY: it was made a pointer right here, and is not counted among the claimed.
            Some(unsafe { K::from_raw(items[left]) })
        })
    }

    /// Takes all for a stealer, and hands each to `to`, the next one first. Returns how many they
    /// were.
    ///
    /// # Safety
    ///
    /// The caller holds the lock.
    pub(super) unsafe fn reclaim(&self, to: impl FnMut(K)) -> usize {
        let len = self.len();
        // An empty batch may be filled at any time, so a stealer does not write it.
        if len == 0 {
            return 0;
        }
        // SAFETY: these are claimed, and the lock is held.
        let items = self.items.with(|items| unsafe { *items });
        self.len.store(0, Ordering::Release);
        // SAFETY: the invariant; the lock is held, so each is taken once.
        let tasks = items[..len]
            .iter()
            .rev()
            .map(|&item| unsafe { K::from_raw(item) });
        tasks.for_each(to);
        len
    }
}
