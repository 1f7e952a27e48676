//! Results of many pieces of work, each written by the thread that did the piece.

use std::cell::UnsafeCell;

pub(crate) struct Slots<R>(Box<[UnsafeCell<Option<R>>]>);

// SAFETY: each slot is written by one thread, and read after all of them have ended.
unsafe impl<R: Send> Sync for Slots<R> {}

impl<R> Slots<R> {
    pub(crate) fn new(count: usize) -> Self {
        Self((0..count).map(|_| UnsafeCell::new(None)).collect())
    }

    /// # Safety
    ///
    /// No other thread touches slot `index` during the call.
    pub(crate) unsafe fn set(&self, index: usize, value: R) {
        // SAFETY: by this function's contract, no other thread touches the slot.
        unsafe { *self.0[index].get() = Some(value) }
    }

    /// Returns the results that were set, in order.
    pub(crate) fn into_iter(self) -> impl Iterator<Item = R> {
        self.0
            .into_vec()
            .into_iter()
            .filter_map(UnsafeCell::into_inner)
    }
}
