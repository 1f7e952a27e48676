//! The memory of this object.
//!
//! It is not the program's heap: how much the simulator keeps depends on the strategy and on the orders, and it would move
//! the program's objects. The strategies know objects by their addresses, from one run to the next.
//!
//! Blocks have sizes of powers of two, and a list of free ones for each size. They come from one mapping, which the fork
//! server makes, so that later mappings of the program do not move either.

use core::alloc::{GlobalAlloc, Layout};
use core::hint::spin_loop;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, Ordering};

use crate::c::nr;
use crate::sys;

/// Smallest block: 2 to the power of this.
const SMALLEST: u32 = 4;
/// Alignment of the largest blocks.
const PAGE: usize = 4096;
/// Size of the mapping. Pages that nothing has touched take no memory.
const SIZE: usize = 1 << 30;

struct Heap;

#[global_allocator]
static HEAP: Heap = Heap;

/// Held during each operation: a thread that ends has passed the baton on, and may still free something.
static IS_LOCKED: AtomicBool = AtomicBool::new(false);
/// The first free block of each size, whose first word names the next one.
static mut FREE: [*mut u8; usize::BITS as usize] = [null_mut(); usize::BITS as usize];
/// The part of the mapping that has never been used.
static mut UNUSED: (usize, usize) = (0, 0);

fn locked<R>(operation: impl FnOnce() -> R) -> R {
    while IS_LOCKED.swap(true, Ordering::Acquire) {
        spin_loop();
    }
    let result = operation();
    IS_LOCKED.store(false, Ordering::Release);
    result
}

/// Returns the power of two that is the size of a block.
fn power(layout: &Layout) -> u32 {
    let bytes = layout.size().max(layout.align()).max(1 << SMALLEST);
    bytes.next_power_of_two().trailing_zeros()
}

/// Maps memory. Returns 0 if there is none.
unsafe fn map(bytes: usize) -> usize {
    const READ_WRITE: usize = 3;
    const PRIVATE_ANONYMOUS_NORESERVE: usize = 0x4022;
    let arguments = [
        0,
        bytes,
        READ_WRITE,
        PRIVATE_ANONYMOUS_NORESERVE,
        usize::MAX,
        0,
    ];
    sys::call(nr::MMAP, arguments).max(0) as usize
}

/// Returns a block that was never used.
unsafe fn fresh(power: u32) -> *mut u8 {
    let bytes = 1usize << power;
    if UNUSED == (0, 0) {
        let start = map(SIZE);
        UNUSED = if start == 0 {
            (1, 1)
        } else {
            (start, start + SIZE)
        };
    }
    let start = UNUSED.0.next_multiple_of(bytes.min(PAGE));
    if UNUSED.1.saturating_sub(start) < bytes {
        return map(bytes.next_multiple_of(PAGE)) as *mut u8;
    }
    UNUSED.0 = start + bytes;
    start as *mut u8
}

// SAFETY: a block is at least as large as its layout, and aligned to its size, or to a page: no type of this object
// needs more. A block is in one list or in use. The lock is held while lists change.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let power = power(&layout);
        // SAFETY: the lock is held, so nothing else uses the lists. A block in a list is free, and its first word is ours.
        locked(|| unsafe {
            let first = FREE[power as usize];
            if first.is_null() {
                return fresh(power);
            }
            FREE[power as usize] = *first.cast::<*mut u8>();
            first
        })
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let power = power(&layout) as usize;
        // SAFETY: the lock is held, and the caller gives the block, which is large enough for a word.
        locked(|| unsafe {
            *block.cast::<*mut u8>() = FREE[power];
            FREE[power] = block;
        });
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let wanted = Layout::from_size_align_unchecked(size, layout.align());
        if power(&wanted) == power(&layout) {
            return block;
        }
        let larger = self.alloc(wanted);
        if !larger.is_null() {
            block.copy_to_nonoverlapping(larger, size.min(layout.size()));
            self.dealloc(block, layout);
        }
        larger
    }
}
