//! The slot for the task that was made ready last.
//!
//! Such a task is likely to find its data in the processor's cache, so it runs before
//! those in the ring. Only the owner fills the slot, and as a rule only the owner empties
//! it. If the owner is stalled, other workers *reclaim* the item. The slot is emptied
//! under a biased lock, so no task is taken twice.
//!
//! **An empty slot stays empty until the owner fills it**, as no other thread does. So it is
//! filled with a plain store, without the lock; and a reclaimer must not write an empty slot.

use std::marker::PhantomData;
use std::ptr::{self, NonNull};

use blitz_io_futex::atomic::{AtomicPtr, Ordering};

use super::token::Token;
use blitz_io_core::BiasedLock;

/// The LIFO slot; see the module documentation. The unsafe functions are for the owner: at any moment
/// at most one thread is the owner.
pub struct LifoSlot<K> {
    item: AtomicPtr<()>,
    lock: BiasedLock,
    holds: PhantomData<fn() -> K>,
}

impl<K: Token> LifoSlot<K> {
    /// Creates an empty slot.
    pub fn new() -> Self {
        Self {
            item: AtomicPtr::new(ptr::null_mut()),
            lock: BiasedLock::new(),
            holds: PhantomData,
        }
    }

    /// Returns `true` if the slot is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.item.load(Ordering::Relaxed).is_null()
    }

    /// Puts an item in, and returns the item that was in the slot before.
    ///
    /// # Safety
    ///
    /// The caller is the slot's owner.
    #[inline]
    pub unsafe fn put(&self, item: K) -> Option<K> {
        // SAFETY: the caller is the slot's owner.
        let displaced = unsafe { self.take() };
        self.item.store(item.into_raw().as_ptr(), Ordering::Release);
        displaced
    }

    /// Takes the item.
    ///
    /// # Safety
    ///
    /// The caller is the slot's owner.
    #[inline]
    pub unsafe fn take(&self) -> Option<K> {
        if self.is_empty() {
            return None;
        }
        // SAFETY: the slot's owner, which the caller is, is also the owner of its lock.
        let item = unsafe {
            self.lock.lock(|| {
                let item = self.item.load(Ordering::Relaxed);
                self.item.store(ptr::null_mut(), Ordering::Relaxed);
                NonNull::new(item)
            })
        }?;
        // SAFETY: `put` made it a pointer, and it was taken under the lock.
        Some(unsafe { K::from_raw(item) })
    }

    /// Takes the item of a stalled owner. `None` also if the owner is at the slot just now.
    #[cold]
    pub fn reclaim(&self) -> Option<K> {
        if self.is_empty() {
            return None;
        }
        let item = self.lock.try_lock_remote(|| {
            let item = self.item.load(Ordering::Acquire);
            // An empty slot may be filled at any time, so a reclaimer must not write it.
            if !item.is_null() {
                self.item.store(ptr::null_mut(), Ordering::Relaxed);
            }
            item
        });
        // SAFETY: `put` made it a pointer, and it was taken under the lock.
        NonNull::new(item?).map(|item| unsafe { K::from_raw(item) })
    }
}
