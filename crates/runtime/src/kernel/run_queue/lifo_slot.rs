//! The LIFO slot of a run queue, which holds one task at most. `mod.rs` has the proof.

use std::marker::PhantomData;
use std::ptr::{self, NonNull};

use blitz_io_futex::atomic::{AtomicPtr, Ordering};

use crate::kernel::token::Token;

/// The LIFO slot. Invariant: an item that is not null was made a pointer by `fill`.
pub(super) struct LifoSlot<K> {
    item: AtomicPtr<()>,
    holds: PhantomData<fn() -> K>,
}

impl<K: Token> LifoSlot<K> {
    pub(super) fn new() -> Self {
        Self {
            item: AtomicPtr::new(ptr::null_mut()),
            holds: PhantomData,
        }
    }

    /// Returns `true` if the slot is empty.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.item.load(Ordering::Relaxed).is_null()
    }

    /// Puts a task in.
    ///
    /// # Safety
    ///
    /// The caller is the owner, and the slot is empty.
    #[inline]
    pub(super) unsafe fn fill(&self, task: K) {
        self.item.store(task.into_raw().as_ptr(), Ordering::Release);
    }

    /// Takes the task out.
    ///
    /// # Safety
    ///
    /// The caller is the owner, and holds the lock.
    #[inline]
    pub(super) unsafe fn take(&self) -> Option<K> {
        let item = self.item.load(Ordering::Relaxed);
        self.item.store(ptr::null_mut(), Ordering::Relaxed);
        // SAFETY: the invariant; the lock is held, so it is taken once.
        NonNull::new(item).map(|item| unsafe { K::from_raw(item) })
    }

    /// Takes the task out for a stealer.
    ///
    /// # Safety
    ///
    /// The caller holds the lock.
    pub(super) unsafe fn reclaim(&self) -> Option<K> {
        let item = NonNull::new(self.item.load(Ordering::Acquire))?;
        // An empty slot may be filled at any time, so a stealer does not write it.
        self.item.store(ptr::null_mut(), Ordering::Relaxed);
        // SAFETY: the invariant; the lock is held, so it is taken once.
        Some(unsafe { K::from_raw(item) })
    }
}
