//! An allocator that counts allocations.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The system's allocator, with a count of the allocations. A test installs it:
///
/// ```
/// use std::hint::black_box;
///
/// use blitz_io_testing::Counting;
///
/// #[global_allocator]
/// static ALLOCATOR: Counting = Counting;
///
/// assert_eq!(ALLOCATOR.in_this_thread(|| drop(black_box(Box::new(1)))), 1);
/// ```
pub struct Counting;

static OF_ALL: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static OF_THIS_THREAD: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: everything is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        OF_ALL.fetch_add(1, Ordering::SeqCst);
        OF_THIS_THREAD.set(OF_THIS_THREAD.get() + 1);
        // SAFETY: the caller guarantees what the system's allocator requires.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the memory comes from the system's allocator.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// Returns the smallest count of several attempts. None can be below zero, so that is the last one.
pub fn fewest(mut attempt: impl FnMut() -> usize) -> usize {
    const ATTEMPTS: usize = 20;
    let mut fewest = usize::MAX;
    for _ in 0..ATTEMPTS {
        fewest = fewest.min(attempt());
        if fewest == 0 {
            break;
        }
    }
    fewest
}

impl Counting {
    /// Returns how often this thread allocates while `action` runs. Other threads do not
    /// disturb the count.
    pub fn in_this_thread(&self, action: impl FnOnce()) -> usize {
        let before = OF_THIS_THREAD.get();
        action();
        OF_THIS_THREAD.get() - before
    }

    /// Returns how often the whole process has allocated. A test that calls it must be
    /// alone in its test program: other tests' allocations would be counted, too.
    #[must_use]
    pub fn so_far(&self) -> usize {
        OF_ALL.load(Ordering::SeqCst)
    }

    /// Returns the fewest allocations of the whole process in one of several runs, because
    /// the test harness may allocate during a run. A first run is not counted: it may have
    /// to initialise things.
    pub fn fewest(&self, mut run: impl FnMut()) -> usize {
        run();
        fewest(|| {
            let before = self.so_far();
            run();
            self.so_far() - before
        })
    }
}
