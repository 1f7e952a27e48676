//! The blocks of slots that make the queue.
//!
//! A message is written into a slot by the sender that claimed it, and read by
//! the receiver; the slot's stamp says which of the two may use it. Stamps are
//! never cleared: every slot of a block is filled exactly once a turn, so it is
//! enough that the stamp for "filled" differs from turn to turn. It is 1 and 0
//! by turns.
//!
//! What a block says of itself (where it starts, its neighbours, its turn) is
//! written before it becomes the last block, and not changed before the receiver
//! has read all its slots. `next` is written by the sender that has claimed the
//! block's last slot, before it fills that slot.

use std::alloc::{Layout, alloc, handle_alloc_error};
use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};

use blitz_futex::atomic::{AtomicPtr, AtomicU8, AtomicU32, Ordering};

use super::mutant::{Mutant, active};
use blitz_sync::internals::Watched;

/// How many slots a block has.
pub const LEN: u32 = if cfg!(loom) { 2 } else { 32 };

/// Where in its block a position is.
#[inline(always)]
pub fn offset(position: u32) -> u32 {
    position % LEN
}

/// A place for one message.
struct Slot<T> {
    /// The block's turn, if the slot is filled.
    stamp: AtomicU8,
    value: Watched<MaybeUninit<T>>,
}

impl<T> Slot<T> {
    fn new() -> Self {
        Self {
            stamp: AtomicU8::new(0),
            value: Watched::new(MaybeUninit::uninit()),
        }
    }
}

/// What a block says of itself.
pub struct Header<T> {
    /// The position of the first slot.
    pub start: u32,
    /// The stamp of a filled slot.
    pub turn: u8,
    /// The block before. It may be gone when the receiver is at this one.
    pub previous: *mut Block<T>,
}

impl<T> Clone for Header<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Header<T> {}

/// See the head of this file.
pub struct Block<T> {
    header: Watched<Header<T>>,
    next: Watched<*mut Block<T>>,
    /// The next in a stack of spare blocks, and how many there are from here on.
    pub(super) below: AtomicPtr<Block<T>>,
    pub(super) height: AtomicU32,
    slots: [Slot<T>; LEN as usize],
}

impl<T> Block<T> {
    /// An empty block that starts at this position.
    pub fn allocate(start: u32) -> NonNull<Self> {
        let layout = Layout::new::<Self>();
        // SAFETY: a block has a size, because its header has.
        let Some(block) = NonNull::new(unsafe { alloc(layout) }.cast::<Self>()) else {
            handle_alloc_error(layout)
        };
        let header = Header {
            start,
            turn: 1,
            previous: ptr::null_mut(),
        };
        let to = block.as_ptr();
        // Field by field: a block of large messages is not to go over the stack,
        // and the room for messages is not to be touched.
        // SAFETY: the memory is ours and large enough for each of the fields.
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

    /// Frees a block. Messages in it are not dropped.
    ///
    /// # Safety
    ///
    /// It came from [`allocate`](Self::allocate), and nobody uses it any more.
    pub unsafe fn free(block: NonNull<Self>) {
        // SAFETY: it was allocated with the layout of a `Block<T>`, as by a box.
        drop(unsafe { Box::from_raw(block.as_ptr()) });
    }

    /// What it says of itself.
    ///
    /// # Safety
    ///
    /// The block is in the queue, and the receiver has not left it.
    #[inline(always)]
    pub unsafe fn header(&self) -> Header<T> {
        // SAFETY: it is not written while the block is in the queue.
        self.header.with(|header| unsafe { *header })
    }

    /// Makes it the block after `previous`.
    ///
    /// # Safety
    ///
    /// The caller alone uses the block, and all its slots have been read in its
    /// last turn, or none was ever filled.
    pub unsafe fn begin(&self, start: u32, previous: NonNull<Self>, is_new: bool) {
        self.header.with_mut(|header| {
            // SAFETY: the caller is the only one to use it.
            let header = unsafe { &mut *header };
            header.start = start;
            header.turn = if is_new { 1 } else { header.turn ^ 1 };
            header.previous = previous.as_ptr();
        });
    }

    /// Names the next block.
    ///
    /// # Safety
    ///
    /// The caller has claimed the last slot and not filled it yet.
    pub unsafe fn set_next(&self, next: NonNull<Self>) {
        // SAFETY: the receiver does not read it before the last slot is filled.
        self.next.with_mut(|link| unsafe { *link = next.as_ptr() });
    }

    /// The next block.
    ///
    /// # Safety
    ///
    /// The caller is the receiver, or the last user, and the last slot has been
    /// filled.
    pub unsafe fn next(&self) -> NonNull<Self> {
        self.next
            // SAFETY: it was written before the last slot was filled.
            .with(|link| unsafe { NonNull::new_unchecked(*link) })
    }

    /// Fills a slot, and lets the receiver see that.
    ///
    /// # Safety
    ///
    /// The caller has claimed this slot in this turn.
    #[inline(always)]
    pub unsafe fn fill(&self, offset: u32, turn: u8, value: T) {
        let slot = self.slot(offset);
        slot.value
            // SAFETY: the slot is the caller's until the stamp says otherwise.
            .with_mut(|place| unsafe { (*place).write(value) });
        let order = match active(Mutant::PublishRelaxed) {
            true => Ordering::Relaxed,
            false => Ordering::Release,
        };
        slot.stamp.store(turn, order);
    }

    /// Whether a slot has been filled.
    #[inline(always)]
    pub fn is_filled(&self, offset: u32, turn: u8) -> bool {
        self.slot(offset).stamp.load(Ordering::Acquire) == turn
    }

    /// Takes the message out of a slot.
    ///
    /// # Safety
    ///
    /// The slot has been filled, and this is done once.
    #[inline(always)]
    pub unsafe fn take(&self, offset: u32) -> T {
        self.slot(offset)
            .value
            // SAFETY: it was written before the stamp, and is ours since.
            .with(|place| unsafe { (*place).assume_init_read() })
    }

    #[inline(always)]
    fn slot(&self, offset: u32) -> &Slot<T> {
        &self.slots[(offset % LEN) as usize]
    }
}
