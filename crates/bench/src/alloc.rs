//! A global allocator that can count.
//!
//! Counting is off while time is measured. An allocation or a deallocation then costs one
//! relaxed load more than the system's own. The runner enables counting for the last
//! warm-up iteration of a scenario, which gives bytes and allocations per operation. (A
//! scenario about memory, whose time does not matter, counts in every iteration.)

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
/// static ALLOCATOR: blitz_io_bench::CountingAllocator = blitz_io_bench::CountingAllocator;
/// # fn main() {}
/// ```
///
/// Without it, every scenario reports zero bytes and zero allocations.
#[derive(Clone, Copy, Debug, Default)]
pub struct CountingAllocator;

/// Requested and freed memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Bytes requested.
    pub bytes: u64,
    /// The number of requests.
    pub allocations: u64,
    /// Bytes freed.
    pub freed: u64,
}

impl Memory {
    /// Returns the bytes that were requested and not freed.
    pub fn kept(&self) -> u64 {
        self.bytes.saturating_sub(self.freed)
    }

    /// Returns the current counters.
    pub(crate) fn counted() -> Memory {
        Memory {
            bytes: BYTES.load(Relaxed),
            allocations: ALLOCATIONS.load(Relaxed),
            freed: FREED.load(Relaxed),
        }
    }

    /// Enables or disables counting for the whole process.
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

/// Counts a request of `requested` bytes, if there are any, and `freed` bytes.
#[inline]
fn note(requested: usize, freed: usize) {
    if COUNTING.load(Relaxed) {
        note_slow(requested, freed);
    }
}

#[cold]
fn note_slow(requested: usize, freed: usize) {
    BYTES.fetch_add(requested as u64, Relaxed);
    ALLOCATIONS.fetch_add(u64::from(requested > 0), Relaxed);
    FREED.fetch_add(freed as u64, Relaxed);
}

// SAFETY: every call is passed to `System` unchanged, so its guarantees hold
// here too; the counters beside it are plain atomics and never allocate.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size(), 0);
        // SAFETY: the caller upholds `alloc`'s contract, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        note(0, layout.size());
        // SAFETY: the block came from `System` with this layout, because all
        // four functions here forward to it.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size(), 0);
        // SAFETY: the caller upholds `alloc_zeroed`'s contract, which is the same.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(size, layout.size());
        // SAFETY: the block came from `System` with this layout, and the
        // caller guarantees that `size` is valid.
        unsafe { System.realloc(pointer, layout, size) }
    }
}
