//! Blocks that have been read and wait to be filled again, so that a channel in
//! steady use allocates nothing.
//!
//! A stack. Only the receiver puts blocks on it, and only one sender at a time
//! takes one off: the one that links the next block. So the block on top cannot
//! be taken off and put back behind the back of the one who takes it, which is
//! what makes such stacks hard (the ABA problem).

use std::mem::size_of;
use std::ptr::{self, NonNull};

use blitz_futex::atomic::{AtomicPtr, Ordering};

use super::block::Block;

/// How much memory is kept at most, unless the blocks are so large that two of
/// them need more.
const BYTES: usize = 64 * 1024;
const MOST: usize = 64;

pub struct Spares<T>(AtomicPtr<Block<T>>);

impl<T> Spares<T> {
    /// How many are kept.
    const KEPT: u32 = {
        let fit = BYTES / size_of::<Block<T>>();
        (if fit < 2 {
            2
        } else if fit > MOST {
            MOST
        } else {
            fit
        }) as u32
    };

    pub fn new() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    pub fn is_empty(&self) -> bool {
        self.0.load(Ordering::Relaxed).is_null()
    }

    /// Keeps a block, or frees it if there are enough.
    ///
    /// # Safety
    ///
    /// The caller is the receiver, and nobody else uses the block any more.
    pub unsafe fn put(&self, block: NonNull<Block<T>>) {
        // SAFETY: it is the caller's, and stays alive until it is read again.
        let this = unsafe { block.as_ref() };
        let mut top = self.0.load(Ordering::Acquire);
        loop {
            // SAFETY: a block that is taken off meanwhile comes back through the receiver,
            // which is here. So the block stays alive.
            let first = unsafe { top.as_ref() };
            let height = first.map_or(0, |first| first.height.load(Ordering::Relaxed));
            if height >= Self::KEPT {
                // SAFETY: the caller gave it to us, and it is in no list.
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

    /// Takes a block off.
    ///
    /// # Safety
    ///
    /// Only one thread at a time does this.
    pub unsafe fn take(&self) -> Option<NonNull<Block<T>>> {
        let mut top = self.0.load(Ordering::Acquire);
        loop {
            let block = NonNull::new(top)?;
            // SAFETY: only we take blocks off, so it is still there.
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

impl<T> Drop for Spares<T> {
    fn drop(&mut self) {
        if super::mutant::model_failed() {
            return;
        }
        // SAFETY: nobody else is left, and a spare block is in no other list.
        while let Some(block) = unsafe { self.take() } {
            // SAFETY: as above.
            unsafe { Block::free(block) };
        }
    }
}
