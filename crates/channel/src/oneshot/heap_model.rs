//! Cells for the model checker. Their memory exists as long as an end does, and a
//! cell of the checker's finds uses after the release.

use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use loom::cell::UnsafeCell;

use super::cell::{Cell, Storage};

pub struct Heap<T>(Arc<Tracked<T>>);

struct Tracked<T> {
    /// The cell. The release does not drop it, as in a block.
    core: ManuallyDrop<Cell<T>>,
    /// Read with each use, and written by the release, so that the model checker
    /// sees whether the one is ordered before the other.
    memory: UnsafeCell<()>,
    /// The checker does not know of this one, and nothing is ordered by it.
    is_released: AtomicBool,
}

// SAFETY: as a shared reference to the cell.
unsafe impl<T: Send> Send for Heap<T> {}
// SAFETY: as a shared reference to the cell, which is `Sync` if `T` is `Send`.
unsafe impl<T: Send> Sync for Heap<T> {}

impl<T> Heap<T> {
    pub fn new() -> (Self, Self) {
        let tracked = Arc::new(Tracked {
            core: ManuallyDrop::new(Cell::new()),
            memory: UnsafeCell::new(()),
            is_released: AtomicBool::new(false),
        });
        (Self(tracked.clone()), Self(tracked))
    }
}

// SAFETY: the memory stays as long as an end exists.
unsafe impl<T> Storage for Heap<T> {
    type Value = T;

    fn cell(&self) -> &Cell<T> {
        self.0.memory.with(|_| ());
        &self.0.core
    }

    unsafe fn release(&self) {
        self.0.memory.with_mut(|_| ());
        let before = self.0.is_released.swap(true, Ordering::Relaxed);
        assert!(!before, "released twice");
    }
}

impl<T> Drop for Tracked<T> {
    fn drop(&mut self) {
        let is_released = *self.is_released.get_mut();
        assert!(is_released || std::thread::panicking(), "leaked");
    }
}
