//! Blocks of memory that are used again.
//!
//! A channel that carries one value lives for a moment, and asking the system's
//! allocator for its memory costs more than all else that it does. So a freed
//! block goes onto a free list of the thread that freed it, and the next channel of
//! that thread takes it from there.
//!
//! * There is one free list for each of a few sizes (`SIZES`), so channels of
//!   different types share them. A block lies in a free list as a node of a list that
//!   runs through the blocks themselves.
//! * A free list holds no more than `MOST` blocks; further ones go back to the allocator. So do
//!   all blocks when the thread ends. Thus a thread keeps at most 124 KiB, and as a rule, less
//!   than one.
//! * A thread that frees a block puts it on its own list, also if another thread allocated it. A
//!   pair of threads of which one only allocates and the other only frees has no use of the free
//!   lists: both fall back to the allocator, which is built for this.
//! * Types that are larger, or have a greater alignment than `ALIGN`, use the allocator. Types
//!   without a size have no block.
//! * A thread that is ending may have destroyed its free lists. Then blocks come from the
//!   allocator and go back to it.
//!
//! Everything here belongs to exactly one thread, so nothing is atomic. No code of users runs in
//! it, except a global allocator's, and that only while the free lists are in order.
//!
//! The idea is that of the magazines in Bonwick and Adams' "Magazines and Vmem",
//! without the depot.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::Cell;
use std::ptr::{self, NonNull};

/// The sizes of blocks, in bytes.
const SIZES: [usize; 5] = [64, 128, 256, 512, 1024];
/// The alignment of blocks: as the allocator does it without effort.
const ALIGN: usize = 16;
/// The greatest number of blocks in a free list.
const MOST: u32 = 64;

/// The byte that fills blocks in a free list in builds for tests. Sanitizers do
/// not see a use of such a block, but the code that uses one notices.
const SPOILT: u8 = 0xA5;

/// Takes a block for a `T`, in which nothing is yet.
#[inline]
pub fn allocate<T>() -> NonNull<T> {
    Class::of::<T>().take().cast()
}

/// Gives a block back. Its contents are not dropped.
///
/// # Safety
///
/// The block comes from [`allocate`] with the same `T`, and it is not used any more.
#[inline]
pub unsafe fn free<T>(block: NonNull<T>) {
    // SAFETY: the class is that of `allocate`; the caller gives the block up.
    unsafe { Class::of::<T>().put(block.cast()) };
}

/// The source of the blocks for a type.
#[derive(Clone, Copy)]
enum Class {
    /// A type without size.
    Nowhere,
    /// The free list with this number.
    FreeList(usize),
    /// The allocator.
    System(Layout),
}

impl Class {
    /// Returns the class of a type, which is known when the program is compiled.
    const fn of<T>() -> Self {
        const { Self::for_layout(Layout::new::<T>()) }
    }

    const fn for_layout(layout: Layout) -> Self {
        if layout.size() == 0 {
            return Self::Nowhere;
        }
        let mut list = 0;
        while list < SIZES.len() && layout.align() <= ALIGN {
            if layout.size() <= SIZES[list] {
                return Self::FreeList(list);
            }
            list += 1;
        }
        Self::System(layout)
    }

    #[inline]
    fn take(self) -> NonNull<u8> {
        match self {
            // An address that is aligned for everything that fits there.
            Self::Nowhere => NonNull::<Widest>::dangling().cast(),
            Self::FreeList(list) => match FREE_LISTS.try_with(|lists| lists.0[list].pop()) {
                Ok(Some(block)) => block.cast(),
                _ => system_take(block_layout(list)),
            },
            Self::System(layout) => system_take(layout),
        }
    }

    /// # Safety
    ///
    /// The block comes from [`take`](Self::take) of this class, and it is not used any more.
    #[inline]
    unsafe fn put(self, block: NonNull<u8>) {
        let layout = match self {
            Self::Nowhere => return,
            Self::FreeList(list) => {
                if cfg!(debug_assertions) {
                    // SAFETY: the block is given up, and of this size.
                    unsafe { block.as_ptr().write_bytes(SPOILT, SIZES[list]) };
                }
                // SAFETY: the block has the size of the list, and is given up.
                let put = |lists: &FreeLists| unsafe { lists.0[list].push(block.cast()) };
                if FREE_LISTS.try_with(put) == Ok(true) {
                    return;
                }
                block_layout(list)
            }
            Self::System(layout) => layout,
        };
        // SAFETY: every block of a free list was allocated with this layout; later uses do not
        // change that.
        unsafe { dealloc(block.as_ptr(), layout) };
    }
}

/// A type that asks for more alignment than real types do. The most that the compiler
/// can give is 2^29.
#[repr(align(4096))]
struct Widest;

const fn block_layout(list: usize) -> Layout {
    match Layout::from_size_align(SIZES[list], ALIGN) {
        Ok(layout) => layout,
        Err(_) => unreachable!(),
    }
}

#[cold]
fn system_take(layout: Layout) -> NonNull<u8> {
    // SAFETY: the size is not zero.
    let block = unsafe { alloc(layout) };
    NonNull::new(block).unwrap_or_else(|| handle_alloc_error(layout))
}

/// A block that lies in a free list.
struct Free {
    next: *mut Free,
}

struct FreeList {
    first: Cell<*mut Free>,
    len: Cell<u32>,
}

impl FreeList {
    const fn new() -> Self {
        Self {
            first: Cell::new(ptr::null_mut()),
            len: Cell::new(0),
        }
    }

    #[inline]
    fn pop(&self) -> Option<NonNull<Free>> {
        let first = NonNull::new(self.first.get())?;
        // SAFETY: the free list owns its blocks, and `push` has written the link of this one.
        self.first.set(unsafe { first.read() }.next);
        self.len.set(self.len.get() - 1);
        Some(first)
    }

    /// Adds a block. Returns `false` if the list is full.
    ///
    /// # Safety
    ///
    /// The block has the size of this list, and is not used any more.
    #[inline]
    unsafe fn push(&self, block: NonNull<Free>) -> bool {
        if self.len.get() == MOST {
            return false;
        }
        let next = self.first.get();
        // SAFETY: the caller gives us the block; it is large enough for a link.
        unsafe { block.write(Free { next }) };
        self.first.set(block.as_ptr());
        self.len.set(self.len.get() + 1);
        true
    }
}

struct FreeLists([FreeList; SIZES.len()]);

thread_local! {
    static FREE_LISTS: FreeLists = const { FreeLists([const { FreeList::new() }; SIZES.len()]) };
}

impl Drop for FreeLists {
    fn drop(&mut self) {
        for (list, number) in self.0.iter().zip(0..) {
            while let Some(block) = list.pop() {
                // SAFETY: every block in this list was allocated with this layout.
                unsafe { dealloc(block.as_ptr().cast(), block_layout(number)) };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ALIGN, Class, FREE_LISTS, MOST, SIZES, free};
    use std::collections::HashSet;
    use std::ptr::NonNull;
    use std::thread;

    /// Takes a block, and puts a value there.
    fn allocate<T>(value: T) -> NonNull<T> {
        let block = super::allocate::<T>();
        assert_eq!(block.as_ptr() as usize % align_of::<T>(), 0);
        assert!(size_of::<T>() == 0 || block.as_ptr() as usize % ALIGN == 0);
        // SAFETY: `allocate` has returned the block, large enough and aligned for a `T`.
        unsafe { block.write(value) };
        block
    }

    fn in_free_list(list: usize) -> u32 {
        FREE_LISTS.with(|lists| lists.0[list].len.get())
    }

    #[test]
    fn a_freed_block_is_used_again_by_any_type_of_its_size() {
        let first = allocate(7_u64);
        // SAFETY: the test owns the block, and uses it no more.
        unsafe { free(first) };
        let second = allocate([1_u8; 40]);
        assert_eq!(first.cast(), second);
        // SAFETY: the test owns the block, and uses it no more.
        unsafe { free(second) };
        let larger = allocate([1_u8; 65]);
        assert_ne!(first.cast(), larger);
        // SAFETY: the test owns the block, and uses it no more.
        unsafe { free(larger) };
    }

    #[test]
    fn a_free_list_has_an_end() {
        let blocks: Vec<_> = (0..100_u64).map(allocate).collect();
        let different: HashSet<_> = blocks.iter().collect();
        assert_eq!(different.len(), 100);
        for (block, number) in blocks.into_iter().zip(0..) {
            // SAFETY: the test owns the block, and frees it after the last use.
            unsafe {
                assert_eq!(block.read(), number);
                free(block);
            }
        }
        assert_eq!(in_free_list(0), MOST);
    }

    #[test]
    fn a_block_stays_with_the_thread_that_frees_it() {
        let block = allocate(String::from("here"));
        let address = block.as_ptr() as usize;
        assert_eq!(in_free_list(0), 0);
        thread::spawn(move || {
            let block = NonNull::new(address as *mut String).unwrap();
            // SAFETY: the other thread has given it to us.
            unsafe {
                drop(block.read());
                free(block);
            }
            assert_eq!(in_free_list(0), 1);
            let again = allocate(1_u8);
            assert_eq!(again.as_ptr() as usize, address);
            // SAFETY: the test owns the block, and uses it no more.
            unsafe { free(again) };
        })
        .join()
        .unwrap();
        assert_eq!(in_free_list(0), 0);
    }

    #[test]
    fn a_thread_that_ends_frees_what_lies_in_its_free_lists_and_still_allocates() {
        struct AtTheEnd;
        impl Drop for AtTheEnd {
            fn drop(&mut self) {
                // On most systems the free lists have been destroyed here.
                let block = allocate(5_u64);
                // SAFETY: the test owns the block, and frees it after the last use.
                unsafe {
                    assert_eq!(block.read(), 5);
                    free(block);
                }
            }
        }
        thread_local! {
            static LATER: AtTheEnd = const { AtTheEnd };
        }
        thread::spawn(|| {
            // On most systems, thread-locals are destroyed in the opposite order of their first
            // use.
            LATER.with(|_| ());
            let block = allocate(1_u64);
            // SAFETY: the test owns the block, and uses it no more.
            unsafe { free(block) };
        })
        .join()
        .unwrap();
    }

    #[test]
    fn large_and_far_aligned_and_empty_types_have_no_free_list() {
        #[repr(align(128))]
        struct Aligned(u8);
        #[repr(align(2048))]
        struct Empty;

        assert!(matches!(Class::of::<Aligned>(), Class::System(_)));
        assert!(matches!(Class::of::<[u8; 1025]>(), Class::System(_)));
        assert!(matches!(Class::of::<[u8; 1024]>(), Class::FreeList(4)));
        assert!(matches!(Class::of::<Empty>(), Class::Nowhere));

        let aligned = allocate(Aligned(3));
        assert_eq!(aligned.as_ptr() as usize % 128, 0);
        let empty = allocate(Empty);
        assert_eq!(empty.as_ptr() as usize % 2048, 0);
        let large = allocate([9_u8; 5000]);
        // SAFETY: they are ours, and each is read and freed once.
        unsafe {
            assert_eq!(aligned.read().0, 3);
            assert_eq!(large.read()[4999], 9);
            free(aligned);
            free(empty);
            free(large);
        }
        assert!((0..SIZES.len()).all(|list| in_free_list(list) == 0));
    }
}
