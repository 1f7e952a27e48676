//! Gives memory back that the allocator keeps after an answer.
//!
//! An answer takes tens of megabytes for a second, most of them for the names of functions, and the next question may
//! never come. But the program's allocator keeps what was freed for later: that of the GNU C library up to twice the
//! size of the largest block that was freed ever. It has a function that gives memory back (`malloc_trim`), which stops
//! the threads that allocate. So the inspector does something that every allocator permits:
//!
//! 1. An allocator keeps the last small blocks that a thread has freed, a few of each size, and does not join them with
//!    their neighbours. They lie anywhere in the memory of the answer, and divide it. So the inspector allocates these,
//!    and more that are new, and frees the new ones first: then those are kept, and the old ones are joined.
//! 2. It allocates large blocks, and tells the system that it does not need what is in their pages (`MADV_DONTNEED`). A
//!    block is its own, and has no contents yet. It stops when the last few blocks had no pages at all: the allocator has
//!    none left that it kept. Then the same with smaller blocks, for the gaps between others.
//! 3. It frees the blocks. Nothing has written to them, so they still have no pages.
//!
//! This is done in the thread that made the answer: most allocators keep memory for each thread.

#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) use system::give_back;

/// Does nothing: the allocators of other systems give memory back.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) fn give_back() {}

#[cfg(any(target_os = "linux", target_os = "android"))]
mod system {
    use std::alloc::{Layout, alloc, dealloc};
    use std::ptr::NonNull;

    /// The sizes of blocks: the GNU C library takes larger ones from the system.
    const SIZES: [usize; 3] = [124 << 10, 28 << 10, 12 << 10];
    /// The largest number of blocks of one size.
    const MOST: usize = 1_024;
    /// So many blocks without pages, one after another, are the end.
    const WITHOUT: usize = 4;
    /// The smallest page of a system.
    const SMALLEST: usize = 4_096;
    /// The sizes of small blocks are multiples of this, up to the largest.
    const STEP: usize = 16;
    const SMALL: usize = 1_040;
    /// The largest number of small blocks of a size that an allocator keeps for a thread.
    const KEPT: usize = 16;

    /// A block without contents.
    struct Block {
        address: NonNull<u8>,
        layout: Layout,
    }

    impl Block {
        /// Allocates a block, whose size is not 0.
        fn new(size: usize) -> Option<Self> {
            let layout = Layout::from_size_align(size, STEP).ok()?;
            // SAFETY: the size is not 0.
            let address = NonNull::new(unsafe { alloc(layout) })?;
            Some(Self { address, layout })
        }

        /// Drops the block's whole pages. Returns `true` if it had some.
        fn drop_pages(&self, page: usize) -> bool {
            let before = self.address.addr().get().wrapping_neg() % page;
            let length = self.layout.size().saturating_sub(before) / page * page;
            let pages = self.address.as_ptr().wrapping_add(before);
            let pages = pages.cast::<libc::c_void>();
            let mut states = [0_u8; SIZES[0] / SMALLEST];
            // SAFETY: the system writes one byte for each page, and there are no more than these.
            if length == 0 || unsafe { libc::mincore(pages, length, states.as_mut_ptr()) } != 0 {
                return false;
            }
            let has_some = states.iter().any(|state| state & 1 != 0);
            if has_some {
                // SAFETY: the pages are the block's, whose contents nothing reads.
                unsafe { libc::madvise(pages, length, libc::MADV_DONTNEED) };
            }
            has_some
        }
    }

    impl Drop for Block {
        fn drop(&mut self) {
            // SAFETY: the block is from `alloc`, with this layout.
            unsafe { dealloc(self.address.as_ptr(), self.layout) };
        }
    }

    fn page() -> Option<usize> {
        // SAFETY: the call has no preconditions.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        usize::try_from(page).ok().filter(|&page| page >= SMALLEST)
    }

    /// Gives the memory back that the allocator keeps for this thread.
    pub(crate) fn give_back() {
        let Some(page) = page() else {
            return;
        };
        join_small_blocks();
        let mut blocks = Vec::with_capacity(SIZES.len() * MOST);
        for size in SIZES {
            let mut without = 0;
            for block in (0..MOST).map_while(|_| Block::new(size)) {
                without = if block.drop_pages(page) {
                    0
                } else {
                    without + 1
                };
                blocks.push(block);
                if without == WITHOUT {
                    break;
                }
            }
        }
    }

    /// Replaces the small blocks that the allocator keeps for this thread.
    fn join_small_blocks() {
        for size in (STEP..=SMALL).step_by(STEP) {
            let mut blocks: Vec<Block> = (0..2 * KEPT).map_while(|_| Block::new(size)).collect();
            while let Some(newest) = blocks.pop() {
                drop(newest);
            }
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        /// Returns how many of these pages have memory.
        fn with_memory(pages: &[usize], page: usize) -> usize {
            let has_memory = |&&address: &&usize| {
                let mut state = 0_u8;
                // SAFETY: the call reads no memory of this process, and writes one byte.
                let result = unsafe { libc::mincore(address as *mut _, page, &raw mut state) };
                // Otherwise nothing is mapped there.
                result == 0 && state & 1 != 0
            };
            pages.iter().filter(has_memory).count()
        }

        #[test]
        fn memory_that_was_freed_is_given_back() {
            const PIECE: usize = 1_000;
            const PIECES: usize = 32_000;
            let page = page().unwrap();
            // In a thread of its own, whose memory no other test takes.
            let test = std::thread::spawn(move || {
                let pieces: Vec<Box<[u8]>> = (0..PIECES).map(|_| vec![1; PIECE].into()).collect();
                let address = |piece: &[u8]| piece.as_ptr().addr() / page * page;
                let mut pages: Vec<usize> = pieces.iter().map(|piece| address(piece)).collect();
                pages.dedup();
                // The allocator cannot shrink its memory below this one.
                let last: Box<[u8]> = vec![1; PIECE].into();
                assert!(with_memory(&pages, page) * page >= PIECE * PIECES / 2);
                drop(pieces);
                let kept = with_memory(&pages, page) * page;
                give_back();
                let left = with_memory(&pages, page) * page;
                drop(last);
                (kept, left)
            });
            let (kept, left) = test.join().unwrap();
            if cfg!(target_env = "gnu") {
                assert!(kept > 16 << 20, "{kept} bytes are kept");
            }
            assert!(left < 2 << 20, "{left} bytes of {kept}");
        }
    }
}
