//! A global allocator that can count.
//!
//! Counting is off while time is measured: then an allocation, and giving it
//! back, cost one relaxed load more than the system's own. The runner switches
//! counting on for the last warm-up iteration of a scenario and takes bytes and
//! allocations per operation from there. (A scenario about memory, whose time
//! does not matter, counts in every iteration.)

use std::alloc::{GlobalAlloc, Layout, System};
use std::ops::Sub;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

static COUNTING: AtomicBool = AtomicBool::new(false);
static BYTES: AtomicU64 = AtomicU64::new(0);
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static FREED: AtomicU64 = AtomicU64::new(0);

/// The system's allocator, with counters of bytes and allocations.
///
/// A program that wants memory figures in its report installs it:
///
/// ```
/// #[global_allocator]
/// static ALLOCATOR: blitz_bench::CountingAllocator = blitz_bench::CountingAllocator;
/// # fn main() {}
/// ```
///
/// Without it, every scenario reports zero bytes and zero allocations.
#[derive(Clone, Copy, Debug, Default)]
pub struct CountingAllocator;

/// What was asked of the allocator, and what it got back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Bytes asked for.
    pub bytes: u64,
    /// How many requests there were.
    pub allocations: u64,
    /// Bytes given back.
    pub freed: u64,
}

impl Memory {
    /// Bytes that were asked for and not given back.
    pub fn kept(&self) -> u64 {
        self.bytes.saturating_sub(self.freed)
    }

    /// The counters as they stand.
    pub(crate) fn counted() -> Memory {
        Memory {
            bytes: BYTES.load(Relaxed),
            allocations: ALLOCATIONS.load(Relaxed),
            freed: FREED.load(Relaxed),
        }
    }

    /// Switches counting on or off for the whole process.
    pub(crate) fn count(on: bool) {
        COUNTING.store(on, Relaxed);
    }
}

impl Sub for Memory {
    type Output = Memory;

    fn sub(self, earlier: Memory) -> Memory {
        Memory {
            bytes: self.bytes.saturating_sub(earlier.bytes),
            allocations: self.allocations.saturating_sub(earlier.allocations),
            freed: self.freed.saturating_sub(earlier.freed),
        }
    }
}

#[inline]
fn note(bytes: usize) {
    if COUNTING.load(Relaxed) {
        note_slow(bytes);
    }
}

#[cold]
fn note_slow(bytes: usize) {
    BYTES.fetch_add(bytes as u64, Relaxed);
    ALLOCATIONS.fetch_add(1, Relaxed);
}

#[inline]
fn note_free(bytes: usize) {
    if COUNTING.load(Relaxed) {
        note_free_slow(bytes);
    }
}

#[cold]
fn note_free_slow(bytes: usize) {
    FREED.fetch_add(bytes as u64, Relaxed);
}

// SAFETY: every call is handed to `System` unchanged, so its guarantees hold
// here too; the counters beside it are plain atomics and never allocate.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: the caller keeps `alloc`'s contract, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        note_free(layout.size());
        // SAFETY: the block came from `System` with this layout, because all
        // four functions here pass straight through.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: the caller keeps `alloc_zeroed`'s contract, which is the same.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note_free(layout.size());
        note(size);
        // SAFETY: the block came from `System` with this layout, and the
        // caller vouches for `size`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}
