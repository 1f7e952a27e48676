//! The place before a worker's ring.
//!
//! What was made ready last is likely to find its data in the processor's cache, so it
//! runs next. Only the owner fills the slot, and as a rule only the owner empties it.
//! Others leave it alone unless the owner stands still; then they may *rob* it. The
//! slot is emptied under the bolt, so nobody takes what another one has taken.
//!
//! **An empty slot stays empty until the owner fills it**, as nobody else does: so it may
//! be filled with a plain store, without the bolt. And a robber must not write it.

use std::ptr::{self, NonNull};

use blitz_futex::atomic::{AtomicPtr, Ordering};

use super::mutant::{Mutant, active};
use crate::bolt::Bolt;

/// See the head of this file. What is marked unsafe is for the owner, which is one thread
/// at a time.
pub struct Slot<T> {
    item: AtomicPtr<T>,
    bolt: Bolt,
}

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Slot<T> {
    /// An empty slot.
    pub fn new() -> Self {
        Self {
            item: AtomicPtr::new(ptr::null_mut()),
            bolt: Bolt::new(),
        }
    }

    /// Whether it is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.item.load(Ordering::Relaxed).is_null()
    }

    /// Puts one in, and gives back the one that was there.
    ///
    /// # Safety
    ///
    /// The caller is the slot's owner.
    #[inline]
    pub unsafe fn put(&self, item: NonNull<T>) -> Option<NonNull<T>> {
        // SAFETY: passed on.
        let displaced = unsafe { self.take() };
        self.item.store(item.as_ptr(), Ordering::Release);
        displaced
    }

    /// Takes what is there.
    ///
    /// # Safety
    ///
    /// The caller is the slot's owner.
    #[inline]
    pub unsafe fn take(&self) -> Option<NonNull<T>> {
        if self.is_empty() {
            return None;
        }
        // SAFETY: passed on.
        unsafe {
            self.bolt.own(|| {
                let item = self.item.load(Ordering::Relaxed);
                self.item.store(ptr::null_mut(), Ordering::Relaxed);
                NonNull::new(item)
            })
        }
    }

    /// Takes what is there. For anybody, if the owner stands still; in vain if it does
    /// not.
    #[cold]
    pub fn rob(&self) -> Option<NonNull<T>> {
        if self.is_empty() {
            return None;
        }
        let item = self.bolt.rob(|| {
            let item = self.item.load(Ordering::Acquire);
            // An empty slot may be filled at any time, and is not ours to write.
            if !item.is_null() || active(Mutant::RobsTheEmpty) {
                self.item.store(ptr::null_mut(), Ordering::Relaxed);
            }
            item
        });
        NonNull::new(item?)
    }
}
