//! The blocks of slots that make the queue, and those that wait to be used again.
//!
//! The sender that claimed a slot writes a value into it, and the receiver reads it; the slot's
//! stamp says which of the two may use it. The sender that links a used block again clears all
//! its stamps at once. That fetches its cache lines from the receiver's processor side by side.
//! The senders that fill the slots would wait for these lines one after the other.
//!
//! A block's header (its first position, its predecessor) is written before the block
//! becomes the last one, and not changed before the receiver has read all its slots.
//! `next` is written before the block's last slot is claimed.
//!
//! # Free blocks
//!
//! Blocks that have been read go onto a stack, [`FreeBlocks`], so that a channel in steady use
//! allocates nothing. Only the receiver pushes. Only the sender that links the next block pops,
//! under a lock. So the block on top cannot be popped and pushed again between a popper's two
//! steps, which rules out the ABA problem.

use std::alloc::{Layout, alloc, handle_alloc_error};
use std::mem::{MaybeUninit, size_of};
use std::ptr::{self, NonNull};

use blitz_io_core::{Panics, Watched};
use blitz_io_futex::atomic::{AtomicPtr, AtomicU8, AtomicU32, Ordering};

use crate::model::model_has_failed;

/// Number of slots of a block.
pub const LEN: u32 = if cfg!(loom) { 2 } else { 32 };

/// Returns the index of a position in its block.
#[inline(always)]
pub fn offset(position: u32) -> u32 {
    position % LEN
}

/// The stamps of a slot.
const EMPTY: u8 = 0;
const FILLED: u8 = 1;

/// Room for one value.
struct Slot<T> {
    stamp: AtomicU8,
    value: Watched<MaybeUninit<T>>,
}

impl<T> Slot<T> {
    fn new() -> Self {
        Self {
            stamp: AtomicU8::new(EMPTY),
            value: Watched::new(MaybeUninit::uninit()),
        }
    }
}

/// The place of a block in the queue.
pub struct Header<T> {
    /// The position of the first slot.
    pub start: u32,
    /// The block before. It may have been freed or reused when the receiver is at this one.
    pub previous: *mut Block<T>,
}

impl<T> Clone for Header<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Header<T> {}

/// A block of slots. The module documentation explains it.
pub struct Block<T> {
    header: Watched<Header<T>>,
    next: Watched<*mut Block<T>>,
    /// The next free block, and the length of the stack from here on.
    below: AtomicPtr<Block<T>>,
    height: AtomicU32,
    slots: [Slot<T>; LEN as usize],
}

impl<T> Block<T> {
    /// Creates an empty block that starts at this position, after this one.
    pub fn allocate(start: u32, previous: *mut Self) -> NonNull<Self> {
        let layout = Layout::new::<Self>();
        // SAFETY: a block has a size, because its header has.
        let Some(block) = NonNull::new(unsafe { alloc(layout) }.cast::<Self>()) else {
            handle_alloc_error(layout)
        };
        let header = Header { start, previous };
        let to = block.as_ptr();
        // Field by field: a block of large values must not go through the stack, and
        // the memory for values stays untouched.
        // SAFETY: the memory was allocated here and is large enough for each of the fields.
        unsafe {
            (&raw mut (*to).header).write(Watched::new(header));
            (&raw mut (*to).next).write(Watched::new(ptr::null_mut()));
            (&raw mut (*to).below).write(AtomicPtr::new(ptr::null_mut()));
            (&raw mut (*to).height).write(AtomicU32::new(0));
            for index in 0..LEN as usize {
                (&raw mut (*to).slots[index]).write(Slot::new());
            }
        }
        block
    }

    /// Frees a block. Values in it are not dropped.
    ///
    /// # Safety
    ///
    /// It came from [`allocate`](Self::allocate), and it is not used any more.
    pub unsafe fn free(block: NonNull<Self>) {
        // SAFETY: it was allocated with the layout of a `Block<T>`, as by a box.
        drop(unsafe { Box::from_raw(block.as_ptr()) });
    }

    /// Returns the header.
    ///
    /// # Safety
    ///
    /// The block is in the queue, and the receiver has not left it.
    #[inline(always)]
    pub unsafe fn header(&self) -> Header<T> {
        // SAFETY: it is not written while the block is in the queue.
        self.header.with(|header| unsafe { *header })
    }

    /// Empties the block, which now starts at this position, after this one.
    ///
    /// # Safety
    ///
    /// The caller alone uses the block, and all its slots have been read.
    pub unsafe fn reset(&self, start: u32, previous: *mut Self) {
        let header = Header { start, previous };
        // SAFETY: the caller is the only one to use it.
        self.header.with_mut(|place| unsafe { *place = header });
        for slot in &self.slots {
            slot.stamp.store(EMPTY, Ordering::Relaxed);
        }
    }

    /// Sets the next block.
    ///
    /// # Safety
    ///
    /// The last slot has not been claimed, and no other thread calls this.
    pub unsafe fn set_next(&self, next: NonNull<Self>) {
        // SAFETY: the receiver does not read it before the last slot is filled.
        self.next.with_mut(|link| unsafe { *link = next.as_ptr() });
    }

    /// Returns the next block.
    ///
    /// # Safety
    ///
    /// The caller is the receiver, or the last user, and the last slot has been
    /// filled.
    pub unsafe fn next(&self) -> NonNull<Self> {
        self.next
            // SAFETY: it was written before the last slot was claimed.
            .with(|link| unsafe { NonNull::new_unchecked(*link) })
    }

    /// Fills a slot and publishes it to the receiver.
    ///
    /// # Safety
    ///
    /// The caller has claimed this slot.
    #[inline(always)]
    pub unsafe fn fill(&self, offset: u32, value: T) {
        let slot = self.slot(offset);
        slot.value
            // SAFETY: the slot belongs to the caller until the stamp is `FILLED`.
            .with_mut(|place| unsafe { (*place).write(value) });
        slot.stamp.store(FILLED, Ordering::Release);
    }

    /// Returns `true` if a slot has been filled.
    #[inline(always)]
    pub fn is_filled(&self, offset: u32) -> bool {
        self.slot(offset).stamp.load(Ordering::Acquire) == FILLED
    }

    /// Takes the value out of a slot.
    ///
    /// # Safety
    ///
    /// The slot has been filled, and this is done once.
    #[inline(always)]
    pub unsafe fn take(&self, offset: u32) -> T {
        self.slot(offset)
            .value
            // SAFETY: it was written before the stamp; the caller takes it once.
            .with(|place| unsafe { (*place).assume_init_read() })
    }

    #[inline(always)]
    fn slot(&self, offset: u32) -> &Slot<T> {
        &self.slots[(offset % LEN) as usize]
    }
}

/// The position of the next value to be read.
pub struct Cursor<T> {
    /// Number of values that have been read.
    pub head: u32,
    block: NonNull<Block<T>>,
}

impl<T> Cursor<T> {
    pub fn new(head: u32, block: NonNull<Block<T>>) -> Self {
        Self { head, block }
    }

    /// Returns `true` if the next slot has been filled.
    #[inline(always)]
    pub fn is_filled(&self) -> bool {
        // SAFETY: the block of the head is in the queue until the cursor leaves it.
        unsafe { self.block.as_ref() }.is_filled(offset(self.head))
    }

    /// Takes the next value. A block that has been read to its end goes to `read`.
    #[inline(always)]
    pub fn take(&mut self, read: impl FnOnce(NonNull<Block<T>>)) -> Option<T> {
        if !self.is_filled() {
            return None;
        }
        let at = offset(self.head);
        // SAFETY: the slot is filled, so its sender is done with it, and the receiver reads it
        // once: the head moves on.
        let value = unsafe { self.block.as_ref().take(at) };
        self.head = self.head.wrapping_add(1);
        if at == LEN - 1 {
            read(self.next_block());
        }
        Some(value)
    }

    /// Goes to the next block. Returns the block that has been read.
    fn next_block(&mut self) -> NonNull<Block<T>> {
        let read = self.block;
        // SAFETY: its last slot has been filled, so the next block is linked.
        self.block = unsafe { read.as_ref().next() };
        read
    }

    /// Returns a copy, for when this one is not used any more.
    pub fn leave(&mut self) -> Self {
        Self { ..*self }
    }

    /// Drops the values that are left, and frees the blocks up to `last`.
    ///
    /// # Safety
    ///
    /// No other thread uses the queue any more.
    pub unsafe fn drop_all(mut self, last: NonNull<Block<T>>, panics: &mut Panics) {
        // SAFETY: no other thread uses it.
        let free = |block| unsafe { Block::free(block) };
        while let Some(value) = self.take(free) {
            panics.put_off(|| drop(value));
        }
        // The next block is linked before the last slot is claimed.
        if last != self.block {
            free(last);
        }
        free(self.block);
    }
}

/// The most memory that is kept, unless the blocks are so large that two of them
/// need more.
const BYTES: usize = 64 * 1024;
const MOST: usize = 64;

/// A stack of free blocks. The module documentation explains it.
pub struct FreeBlocks<T>(AtomicPtr<Block<T>>);

impl<T> FreeBlocks<T> {
    /// The most blocks that are kept.
    const KEPT: u32 = match BYTES / size_of::<Block<T>>() {
        0 | 1 => 2,
        MOST.. => MOST as u32,
        fit => fit as u32,
    };

    pub fn new() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    /// Keeps a block, or frees it if there are enough already.
    ///
    /// # Safety
    ///
    /// The caller is the receiver, and no other thread uses the block any more.
    pub unsafe fn push(&self, block: NonNull<Block<T>>) {
        // SAFETY: the caller owns it.
        let this = unsafe { block.as_ref() };
        let mut top = self.0.load(Ordering::Acquire);
        loop {
            // SAFETY: only the receiver, the caller, frees blocks while others use the channel,
            // so the block stays alive even if a sender pops it now.
            let first = unsafe { top.as_ref() };
            let height = first.map_or(0, |first| first.height.load(Ordering::Relaxed));
            if height >= Self::KEPT {
                // SAFETY: the caller owned it, and it is in no list.
                return unsafe { Block::free(block) };
            }
            this.below.store(top, Ordering::Relaxed);
            this.height.store(height + 1, Ordering::Relaxed);
            match self
                .0
                .compare_exchange(top, block.as_ptr(), Ordering::AcqRel, Ordering::Acquire)
            {
                Ok(_) => return,
                Err(now) => top = now,
            }
        }
    }

    /// Takes a block.
    ///
    /// # Safety
    ///
    /// Concurrent calls are excluded: the caller holds a lock, or is the last user.
    pub unsafe fn pop(&self) -> Option<NonNull<Block<T>>> {
        let mut top = self.0.load(Ordering::Acquire);
        loop {
            let block = NonNull::new(top)?;
            // SAFETY: only the caller pops, so it is still there.
            let below = unsafe { block.as_ref() }.below.load(Ordering::Relaxed);
            match self
                .0
                .compare_exchange(top, below, Ordering::AcqRel, Ordering::Acquire)
            {
                Ok(_) => return Some(block),
                Err(now) => top = now,
            }
        }
    }
}

impl<T> Drop for FreeBlocks<T> {
    fn drop(&mut self) {
        if model_has_failed() {
            return;
        }
        // SAFETY: no other user is left, and a free block is in no other list.
        while let Some(block) = unsafe { self.pop() } {
            // SAFETY: this is the last user, and a block in the stack has been read.
            unsafe { Block::free(block) };
        }
    }
}
