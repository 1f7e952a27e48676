//! An allocator with which tests and fuzz targets limit the memory that work takes.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator. It counts the bytes in use, and the most that were in use at once.
#[derive(Debug)]
pub struct PeakAllocator;

impl PeakAllocator {
    /// Runs `work`. Returns the most bytes that all threads had in use, less those in use before.
    pub fn of(work: impl FnOnce()) -> usize {
        let before = NOW.load(Relaxed);
        PEAK.store(before, Relaxed);
        work();
        PEAK.load(Relaxed).saturating_sub(before)
    }
}

// SAFETY: Each call goes to the system's allocator with the same arguments, and returns its result.
unsafe impl GlobalAlloc for PeakAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(now, Relaxed);
        // SAFETY: The caller keeps the contract of `alloc`, which is that of the system's allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: `alloc` took `memory` from the system's allocator with this layout: `dealloc`'s contract.
        unsafe { System.dealloc(memory, layout) }
    }
}
