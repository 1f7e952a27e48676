//! `Slot`: one record, which its owner writes and a reader copies.
//!
//! # States
//!
//! * `FREE`: the slot belongs to its owner, which alone uses the value.
//! * `SET`: the value is complete, and the owner's wait lasts.
//!
//! All slots share one [`Reader`], which says which slot is read just now (`at`). It is a hazard pointer
//! (Michael, "Hazard Pointers: Safe Memory Reclamation for Lock-Free Objects", 2004).
//!
//! # Moves
//!
//! 1. The owner writes the value, then stores `SET`, a release.
//! 2. The reader stores the slot's address in `at`, a release, fences, and loads the state, an acquire.
//!    If that is `SET`, it reads the value. Then it stores null in `at`, a release.
//! 3. The owner stores `FREE`, fences, and looks at `at`, an acquire. It waits until that is not its
//!    slot.
//!
//! # The reader reads a value only while it is valid
//!
//! Let the reader find `SET` in step 2. By the acquire it sees the value. The owner then ends this
//! record by step 3. Both have fenced between their store and their look, and one fence is the first:
//!
//! 1. *The owner's.* Then the reader's load sees `FREE`, or a later record.
//! 2. *The reader's.* Then the owner finds the slot's address, or what the reader stored in `at` after
//!    its reads. The owner acquires that, and waits until then.
//!
//! So the value, and what its pointers lead to until step 3, is read only while it is valid: the
//! owner frees nothing before step 3. Step 3 waits for a reader that copies a few words; the
//! reader waits for no owner. One thread at a time reads (`registry.rs` has a lock for that, which
//! no owner takes). A child of a fork waits for no reader of its parent: `at` counts only in the
//! process that began to read.

use std::ptr;

use blitz_io_futex::atomic::{AtomicPtr, AtomicU8, AtomicU32, Ordering, fence};

use crate::macros::const_unless_loom;
use crate::per_process::{generation, watch_forks};
use crate::watched::Watched;

const FREE: u8 = 0;
const SET: u8 = 1;

/// See the head of this file.
pub struct Slot<T> {
    state: AtomicU8,
    value: Watched<Option<T>>,
}

// SAFETY: the states give the value to one thread at a time.
unsafe impl<T: Send> Sync for Slot<T> {}

/// Which slot is read; see the head of this file.
pub struct Reader {
    /// The address of a slot, or null.
    at: AtomicPtr<()>,
    /// The process that reads, or read last.
    process: AtomicU32,
}

/// Lets this thread read slots.
pub struct Reading<'a>(&'a Reader);

impl Reader {
    const_unless_loom! {
        /// Creates the state of a reader that reads nothing.
        #[must_use]
        pub const fn new() -> Self {
            Self { at: AtomicPtr::new(ptr::null_mut()), process: AtomicU32::new(0) }
        }
    }

    /// Begins to read. One thread at a time does, which has seen the end of the reading before.
    pub fn begin(&self) -> Reading<'_> {
        watch_forks();
        if self.process.load(Ordering::Relaxed) != generation() {
            self.at.store(ptr::null_mut(), Ordering::Relaxed);
            self.process.store(generation(), Ordering::Relaxed);
        }
        Reading(self)
    }

    /// Whether it reads this slot, in this process.
    #[inline]
    fn is_at(&self, slot: *const ()) -> bool {
        ptr::eq(self.at.load(Ordering::Acquire), slot)
            && self.process.load(Ordering::Relaxed) == generation()
    }
}

impl Reading<'_> {
    /// Runs `with` on the record of the slot, if there is one. `with` must not wait, and read no slot.
    pub fn read<T, R>(&self, slot: &Slot<T>, with: impl FnOnce(&T) -> R) -> Option<R> {
        let at = &self.0.at;
        at.store(slot.address().cast_mut(), Ordering::Release);
        fence(Ordering::SeqCst);
        let result = if slot.state.load(Ordering::Acquire) == SET {
            // SAFETY: by the proof above, the owner changes nothing before `at` is another one.
            slot.value
                .with(|place| unsafe { (*place).as_ref() }.map(with))
        } else {
            None
        };
        at.store(ptr::null_mut(), Ordering::Release);
        result
    }
}

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Slot<T> {
    const_unless_loom! {
        /// Creates a slot without a record.
        pub const fn new() -> Self {
            Self { state: AtomicU8::new(FREE), value: Watched::new(None) }
        }
    }

    fn address(&self) -> *const () {
        ptr::from_ref(self).cast()
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
    /// The caller owns the slot, which has a record. `reader` is that of all who read the slot.
    #[inline]
    pub unsafe fn clear(&self, reader: &Reader) {
        self.state.store(FREE, Ordering::Release);
        fence(Ordering::SeqCst);
        while reader.is_at(self.address()) {
            crate::yield_now();
        }
    }
}

#[cfg(all(test, unix, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_child_waits_for_no_reader_of_its_parent() {
        let (slot, reader) = (Slot::new(), Reader::new());
        // SAFETY: this thread owns the slot, which has no record.
        unsafe { slot.set(1) };
        let status = reader.begin().read(&slot, |_| {
            let mut status = -1;
            // SAFETY: the child makes no call but that of `clear`, for the record that it has a copy of.
            unsafe {
                let child = libc::fork();
                if child == 0 {
                    slot.clear(&reader);
                    libc::_exit(0);
                }
                libc::waitpid(child, &raw mut status, 0);
            }
            status
        });
        assert_eq!(status, Some(0));
    }
}
