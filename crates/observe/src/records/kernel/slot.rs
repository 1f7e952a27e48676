//! `Slot`: one record, which its owner writes and a reader copies.
//!
//! # States
//!
//! * `FREE`: the slot belongs to its owner, which alone uses the value.
//! * `SET`: the value is complete, and the owner's wait lasts.
//!
//! All slots share one [`Reader`]. It holds whether a thread reads slots (`is_active`), and the slot that it
//! reads now (`at`).
//!
//! # Moves
//!
//! 1. The owner writes the value, then stores `SET`, a release.
//! 2. A thread that begins to read stores `is_active`, and makes a heavy fence (`fences`). At the end
//!    it stores 0, a release.
//! 3. For each slot in between, it stores the slot's address in `at`, a release, fences, and loads the
//!    state, an acquire. If that is `SET`, it reads the value. Then it stores null in `at`, a release.
//! 4. The owner publishes `FREE` lightly, and looks at `is_active`. If that is set, it fences, and
//!    waits until `at` is not its slot, an acquire.
//!
//! # The reader reads a value only while it is valid
//!
//! Let the reader find `SET` in step 3. By the acquire it sees the value. The owner then ends this
//! record by step 4:
//!
//! 1. *The owner's look finds the slots inactive*, from before step 2. Then the heavy fence has made
//!    its `FREE` visible to the reader, which contradicts that the reader found `SET`.
//! 2. *It finds them inactive, as the reading has ended.* The look acquires that end, so the owner's
//!    later writes come after the reader's reads.
//! 3. *It finds them active.* There is a fence between the owner's `FREE` and its look at `at`, and one
//!    between the reader's store to `at` and its load of the state. The reader found `SET`, so the owner
//!    finds the slot's address, or what the reader stored in `at` after its reads. The owner acquires
//!    that, and waits until then.
//!
//! So the value, and what its pointers lead to until step 4, is read only while it is valid: the
//! owner frees nothing before step 4. Step 4 waits for a reader that copies a few words; the
//! reader waits for no owner. Only one thread reads at any moment (`registry.rs` has a lock for that, which
//! no owner takes). A child of a fork waits for no reader of its parent: `at` counts only in the
//! process that began to read.

use std::ptr;

use blitz_io_futex::atomic::{AtomicPtr, AtomicU8, AtomicU32, Ordering, fence};

use blitz_io_futex::const_unless_loom;
use blitz_io_futex::fences;
use blitz_io_futex::per_process::{generation, watch_forks};
use blitz_io_futex::source::Watched;

const FREE: u8 = 0;
const SET: u8 = 1;

/// The slot of a record; see the module documentation.
pub struct Slot<T> {
    state: AtomicU8,
    value: Watched<Option<T>>,
}

// SAFETY: in each state, only one thread may use the value.
unsafe impl<T: Send> Sync for Slot<T> {}

/// The state of the thread that reads; see the module documentation.
pub struct Reader {
    is_active: AtomicU8,
    /// The address of a slot, or null.
    at: AtomicPtr<()>,
    /// The process that reads, or read last.
    process: AtomicU32,
}

/// Lets this thread read slots until it is dropped.
pub struct Reading<'a>(&'a Reader);

impl Reader {
    const_unless_loom! {
        /// Creates the state of a reader that reads nothing.
        #[must_use]
        pub const fn new() -> Self {
            Self {
                is_active: AtomicU8::new(0),
                at: AtomicPtr::new(ptr::null_mut()),
                process: AtomicU32::new(0),
            }
        }
    }

    /// Begins to read. Only one thread may read, and it has seen the end of the reading before.
    pub fn begin(&self) -> Reading<'_> {
        watch_forks();
        if self.process.load(Ordering::Relaxed) != generation() {
            self.at.store(ptr::null_mut(), Ordering::Relaxed);
            self.process.store(generation(), Ordering::Relaxed);
        }
        self.is_active.store(1, Ordering::SeqCst);
        fences::heavy();
        Reading(self)
    }

    #[cold]
    fn wait_until_left(&self, slot: *const ()) {
        fence(Ordering::SeqCst);
        while self.is_at(slot) {
            blitz_io_futex::source::yield_now();
        }
    }

    /// Returns `true` if the reader reads this slot, in this process.
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

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.0.is_active.store(0, Ordering::Release);
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

    /// Returns `true` if there is a record, for its owner. A reader may read at the same time.
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
    /// The caller owns the slot, which has a record. All readers of the slot share `reader`.
    #[inline]
    pub unsafe fn clear(&self, reader: &Reader) {
        if fences::publish(&self.state, FREE, &reader.is_active) != 0 {
            reader.wait_until_left(self.address());
        }
    }
}

#[cfg(all(test, unix))]
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
