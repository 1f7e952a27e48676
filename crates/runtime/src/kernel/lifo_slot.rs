//! The slot for the task that was made ready last.
//!
//! Such a task is likely to find its data in the processor's cache, so it runs before
//! those in the ring. Only the owner fills the slot, and as a rule only the owner empties
//! it. If the owner is stalled, another worker *reclaims* the item.
//!
//! The slot is emptied by a swap, so no task is taken twice. **An empty slot stays empty until the
//! owner fills it**, as no other thread does. So it is filled with a plain store.

use std::marker::PhantomData;
use std::ptr::{self, NonNull};

use blitz_io_futex::atomic::{AtomicPtr, Ordering};

use super::token::Token;

/// The LIFO slot; see the module documentation. At any moment at most one thread is the owner.
pub struct LifoSlot<K> {
    item: AtomicPtr<()>,
    holds: PhantomData<fn() -> K>,
}

impl<K: Token> LifoSlot<K> {
    /// Creates an empty slot.
    pub fn new() -> Self {
        Self {
            item: AtomicPtr::new(ptr::null_mut()),
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
        let displaced = self.take();
        self.item.store(item.into_raw().as_ptr(), Ordering::Release);
        displaced
    }

    /// Takes the item.
    #[inline]
    pub fn take(&self) -> Option<K> {
        if self.is_empty() {
            return None;
        }
        let item = self.item.swap(ptr::null_mut(), Ordering::AcqRel);
        // SAFETY: `put` made it a pointer, and no other thread has it after the swap.
        NonNull::new(item).map(|item| unsafe { K::from_raw(item) })
    }
}
