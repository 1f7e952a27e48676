//! Where a cell lives: on the heap, or in memory of the caller.

use blitz_futex::atomic::Ordering;

use super::core::{Core, NEW};

pub use heap::Heap;

/// One end's way to the cell.
///
/// # Safety
///
/// The cell is there, and shared with no more than one other end, until both ends
/// have left it.
pub unsafe trait Home {
    /// What the cell carries.
    type Value;

    /// The cell. Not to be called after having left it.
    fn core(&self) -> &Core<Self::Value>;

    /// Both ends have left the cell.
    ///
    /// # Safety
    ///
    /// That is so, this is the first to notice, and nothing is left in the cell.
    unsafe fn release(&self);
}

// SAFETY: the cell is borrowed.
unsafe impl<T> Home for &Core<T> {
    type Value = T;

    #[inline]
    fn core(&self) -> &Core<T> {
        self
    }

    #[inline]
    unsafe fn release(&self) {
        // The owner of the memory will find nothing to drop.
        self.state.store(NEW, Ordering::Relaxed);
    }
}

#[cfg(not(loom))]
mod heap {
    use std::ptr::NonNull;

    use super::{Core, Home};
    use crate::recycle;

    /// A cell in a recycled block.
    pub struct Heap<T>(NonNull<Core<T>>);

    // SAFETY: as a shared reference to the cell.
    unsafe impl<T: Send> Send for Heap<T> {}
    // SAFETY: as above.
    unsafe impl<T: Send> Sync for Heap<T> {}

    impl<T> Heap<T> {
        /// A new cell, for two ends.
        #[inline]
        pub fn new() -> (Self, Self) {
            let core = recycle::allocate();
            // SAFETY: the block is ours, and made for a cell.
            unsafe { Core::begin(core) };
            (Self(core), Self(core))
        }
    }

    // SAFETY: the block is given back by `release` alone.
    unsafe impl<T> Home for Heap<T> {
        type Value = T;

        #[inline]
        fn core(&self) -> &Core<T> {
            // SAFETY: the cell is there as long as this end has not left it.
            unsafe { self.0.as_ref() }
        }

        #[inline]
        unsafe fn release(&self) {
            // SAFETY: nobody uses it any more; nothing in it wants to be dropped.
            unsafe { recycle::free(self.0) };
        }
    }
}

/// The same for the model checker: the memory stays as long as an end exists, and
/// a cell of the checker's finds out who uses it after its release.
#[cfg(loom)]
mod heap {
    use std::mem::ManuallyDrop;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use loom::cell::UnsafeCell;

    use super::{Core, Home};

    pub struct Heap<T>(Arc<Tracked<T>>);

    struct Tracked<T> {
        /// Given up by the release, as in a block.
        core: ManuallyDrop<Core<T>>,
        /// Read with each use, and written by the release, so that the model checker
        /// sees whether the one is ordered before the other.
        memory: UnsafeCell<()>,
        /// The checker does not know of this one, and nothing is ordered by it.
        is_released: AtomicBool,
    }

    // SAFETY: as a shared reference to the cell.
    unsafe impl<T: Send> Send for Heap<T> {}
    // SAFETY: as above.
    unsafe impl<T: Send> Sync for Heap<T> {}

    impl<T> Heap<T> {
        pub fn new() -> (Self, Self) {
            let tracked = Arc::new(Tracked {
                core: ManuallyDrop::new(Core::new()),
                memory: UnsafeCell::new(()),
                is_released: AtomicBool::new(false),
            });
            (Self(tracked.clone()), Self(tracked))
        }
    }

    // SAFETY: the memory stays as long as an end exists.
    unsafe impl<T> Home for Heap<T> {
        type Value = T;

        fn core(&self) -> &Core<T> {
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
}
