//! Cells on the heap.

use std::ptr::NonNull;

use super::cell::{Cell, Storage};
use blitz_io_core::recycle;

/// A cell in a recycled block.
pub struct Heap<T>(NonNull<Cell<T>>);

// SAFETY: as a shared reference to the cell.
unsafe impl<T: Send> Send for Heap<T> {}
// SAFETY: as a shared reference to the cell, which is `Sync` if `T` is `Send`.
unsafe impl<T: Send> Sync for Heap<T> {}

impl<T> Heap<T> {
    /// Creates a new cell, for two ends.
    #[inline]
    pub fn new() -> (Self, Self) {
        let core = recycle::allocate();
        // SAFETY: the block has just been allocated, with the layout of a cell.
        unsafe { Cell::begin(core) };
        (Self(core), Self(core))
    }
}

// SAFETY: only `release` frees the block.
unsafe impl<T> Storage for Heap<T> {
    type Value = T;

    #[inline]
    fn cell(&self) -> &Cell<T> {
        // SAFETY: the cell is alive until this end has left it.
        unsafe { self.0.as_ref() }
    }

    #[inline]
    unsafe fn release(&self) {
        // SAFETY: it is not used any more, and nothing in it needs a drop.
        unsafe { recycle::free(self.0) };
    }
}
