//! `Slot`: one record, which its owner writes and a reader copies.
//!
//! # States
//!
//! * `FREE`: the slot belongs to its owner, which alone uses the value.
//! * `SET`: the value is complete, and the owner's wait lasts.
//! * `READING`: the same, and the reader uses the value.
//!
//! # Moves
//!
//! 1. The owner writes the value, then stores `SET`, a release.
//! 2. The reader exchanges `SET` for `READING`, an acquire, so it sees step 1. It reads, then
//!    stores `SET`, a release.
//! 3. The owner exchanges `SET` for `FREE`, an acquire, so its later writes come after the
//!    reader's reads. While the slot is `READING` it tries again.
//!
//! So the value, and what its pointers lead to until step 3, is read only while it is valid: the
//! owner frees nothing before step 3. Step 3 waits for a reader that copies a few words; the
//! reader waits for no owner. One reader at a time reads (`registry.rs` has a lock for that, which
//! no owner takes).

use blitz_io_futex::atomic::{AtomicU32, Ordering};

use crate::macros::const_unless_loom;
use crate::watched::Watched;

const FREE: u32 = 0;
const SET: u32 = 1;
const READING: u32 = 2;

/// See the head of this file.
pub struct Slot<T> {
    state: AtomicU32,
    value: Watched<Option<T>>,
}

// SAFETY: the states give the value to one thread at a time.
unsafe impl<T: Send> Sync for Slot<T> {}

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Slot<T> {
    const_unless_loom! {
        /// Creates a slot without a record.
        pub const fn new() -> Self {
            Self { state: AtomicU32::new(FREE), value: Watched::new(None) }
        }
    }

    /// Whether there is a record, for its owner. A reader may read at the same time.
    #[inline]
    pub fn is_set(&self) -> bool {
        // Only the owner changes this.
        self.state.load(Ordering::Relaxed) != FREE
    }

    /// Runs `with` on the record, for its owner. A reader may read at the same time.
    ///
    /// # Safety
    ///
    /// The caller owns the slot, which has a record.
    #[inline]
    pub unsafe fn read_own<R>(&self, with: impl FnOnce(&T) -> R) -> Option<R> {
        // SAFETY: only the owner writes the value, and it is in this call.
        self.value
            .with(|place| unsafe { (*place).as_ref() }.map(with))
    }

    /// Sets the record.
    ///
    /// # Safety
    ///
    /// The caller owns the slot, which has no record.
    #[inline]
    pub unsafe fn set(&self, value: T) {
        // SAFETY: the slot is `FREE`, and the caller owns it.
        self.value.with_mut(|place| unsafe { *place = Some(value) });
        self.state.store(SET, Ordering::Release);
    }

    /// Removes the record. Afterwards no reader uses it.
    ///
    /// # Safety
    ///
    /// The caller owns the slot, which has a record.
    #[inline]
    pub unsafe fn clear(&self) {
        while self
            .state
            .compare_exchange(SET, FREE, Ordering::Acquire, Ordering::Relaxed)
            .is_err()
        {
            crate::yield_now();
        }
    }

    /// Runs `with` on the record, if there is one. `with` must not wait. One caller at a time.
    pub fn read<R>(&self, with: impl FnOnce(&T) -> R) -> Option<R> {
        self.state
            .compare_exchange(SET, READING, Ordering::Acquire, Ordering::Relaxed)
            .ok()?;
        // SAFETY: the slot is `READING`, and this is the reader.
        let result = self
            .value
            .with(|place| unsafe { (*place).as_ref() }.map(with));
        self.state.store(SET, Ordering::Release);
        result
    }
}
