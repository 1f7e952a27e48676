//! The place before a worker's ring.
//!
//! What was made ready last is likely to find its data in the processor's cache, so it
//! runs next. Only the owner fills the slot, and as a rule only the owner empties it.
//! Others leave it alone unless the owner stands still (`watch.rs`); then they may *rob*
//! it, or the task would wait as long as the owner's thread is blocked.
//!
//! # The protocol
//!
//! The owner empties the slot millions of times a second, and a robber comes a few times
//! a day. So the owner makes no read-modify-write. It says that it is *busy* with the
//! slot, looks whether a robber is there, takes the item and is not busy any more. The
//! robber says that it is there, makes every thread pass a fence (`heavy`), and looks
//! whether the owner is busy. If it is, the robber goes away; if not, it takes the item.
//!
//! An owner that sees the robber is not busy any more, and waits until the robber has
//! gone: a few microseconds.
//!
//! **Nobody takes what the other has taken.** After its fence the robber sees that the
//! owner is busy, or the owner will see that the robber is there: that is what
//! `blitz_sync`'s asymmetric fences promise. In the second case the owner does not touch
//! what is in the slot until the robber has gone, and then sees what the robber did
//! (release and acquire of `robbed`).
//!
//! **An empty slot stays empty until the owner fills it**, as nobody else does: so it may
//! be filled with a plain store.

use std::ptr::{self, NonNull};

use blitz_futex::atomic::{AtomicPtr, AtomicU8, Ordering};
use blitz_sync::internals::fences;

use super::mutant::{Mutant, active};

/// See the head of this file. What is marked unsafe is for the owner, which is one thread
/// at a time.
pub struct Slot<T> {
    item: AtomicPtr<T>,
    /// The owner is about to take what is there.
    busy: AtomicU8,
    /// Somebody else is about to.
    robbed: AtomicU8,
}

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Slot<T> {
    /// An empty slot.
    pub fn new() -> Self {
        Self {
            item: AtomicPtr::new(ptr::null_mut()),
            busy: AtomicU8::new(0),
            robbed: AtomicU8::new(0),
        }
    }

    /// Whether it is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.item.load(Ordering::Relaxed).is_null()
    }

    /// Puts one in, and gives back the one that was there.
    ///
    /// # Safety
    ///
    /// The caller is the slot's owner.
    #[inline]
    pub unsafe fn put(&self, item: NonNull<T>) -> Option<NonNull<T>> {
        // SAFETY: passed on.
        let displaced = unsafe { self.take() };
        self.item.store(item.as_ptr(), Ordering::Release);
        displaced
    }

    /// Takes what is there.
    ///
    /// # Safety
    ///
    /// The caller is the slot's owner.
    #[inline]
    pub unsafe fn take(&self) -> Option<NonNull<T>> {
        if self.is_empty() {
            return None;
        }
        while fences::publish(&self.busy, 1, &self.robbed) != 0 {
            self.let_robber_go();
        }
        let item = self.item.load(Ordering::Relaxed);
        self.item.store(ptr::null_mut(), Ordering::Relaxed);
        self.busy.store(0, Ordering::Release);
        NonNull::new(item)
    }

    #[cold]
    fn let_robber_go(&self) {
        self.busy.store(0, Ordering::Release);
        while self.robbed.load(Ordering::Acquire) != 0 {
            rest();
        }
    }

    /// Takes what is there. For anybody, if the owner stands still; in vain if it does
    /// not.
    #[cold]
    pub fn rob(&self) -> Option<NonNull<T>> {
        if self.is_empty() {
            return None;
        }
        let first = self
            .robbed
            .compare_exchange(0, 1, Ordering::SeqCst, Ordering::Relaxed);
        if first.is_err() {
            return None;
        }
        if !active(Mutant::RobsWithoutFence) {
            fences::heavy();
        }
        let mut item = ptr::null_mut();
        if self.busy.load(Ordering::Acquire) == 0 || active(Mutant::RobsTheBusy) {
            item = self.item.load(Ordering::Acquire);
            // An empty slot may be filled at any time, and is not ours to write.
            if !item.is_null() || active(Mutant::RobsTheEmpty) {
                self.item.store(ptr::null_mut(), Ordering::Relaxed);
            }
        }
        self.robbed.store(0, Ordering::Release);
        NonNull::new(item)
    }
}

#[cfg(not(loom))]
fn rest() {
    std::thread::yield_now();
}

#[cfg(loom)]
fn rest() {
    loom::thread::yield_now();
}
