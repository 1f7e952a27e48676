//! The ring of a run queue. `mod.rs` has the proof.
//!
//! The shape is that of the run queues in Go's scheduler (`runtime/proc.go`).

use std::marker::PhantomData;
use std::ptr::{self, NonNull};

use blitz_io_futex::atomic::{AtomicPtr, AtomicUsize, Ordering};

use crate::kernel::token::Token;

/// A ring of `N` places. `N` is a power of two, and two at least.
///
/// Invariant: `push` made the entries from `head` to before `tail` pointers.
#[repr(align(128))]
pub(super) struct Ring<K, const N: usize> {
    head: AtomicUsize,
    tail: AtomicUsize,
    places: [AtomicPtr<()>; N],
    holds: PhantomData<fn() -> K>,
}

impl<K: Token, const N: usize> Ring<K, N> {
    pub(super) fn new() -> Self {
        const { assert!(N.is_power_of_two() && N >= 2) };
        Self {
            head: AtomicUsize::new(0),
            tail: AtomicUsize::new(0),
            places: std::array::from_fn(|_| AtomicPtr::new(ptr::null_mut())),
            holds: PhantomData,
        }
    }

    #[inline]
    fn place(&self, position: usize) -> &AtomicPtr<()> {
        &self.places[position % N]
    }

    /// Returns the entry at the place of a position: null, or the item that was pushed
    /// there last, which may have been taken since.
    #[inline]
    fn at(&self, position: usize) -> *mut () {
        self.place(position).load(Ordering::Relaxed)
    }

    /// Returns the position of the first task.
    pub(super) fn head(&self) -> usize {
        self.head.load(Ordering::Acquire)
    }

    /// Returns the number of tasks that wait. It may have changed by now.
    #[inline]
    pub(super) fn len(&self) -> usize {
        let head = self.head.load(Ordering::Acquire);
        let tail = self.tail.load(Ordering::Acquire);
        tail.wrapping_sub(head).min(N)
    }

    /// Returns `true` if no task waits. For the owner, `true` is exact.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.head.load(Ordering::Acquire) == self.tail.load(Ordering::Acquire)
    }

    /// Puts one at the end, or gives it back when the ring is full.
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    #[inline]
    pub(super) unsafe fn push(&self, item: K) -> Result<(), K> {
        // SAFETY: the caller is the owner.
        if unsafe { self.room() } == 0 {
            return Err(item);
        }
        let tail = self.tail.load(Ordering::Relaxed);
        let item = item.into_raw().as_ptr();
        self.place(tail).store(item, Ordering::Relaxed);
        self.tail.store(tail.wrapping_add(1), Ordering::Release);
        Ok(())
    }

    /// Returns the number of tasks for which there is still room.
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    #[inline]
    pub(super) unsafe fn room(&self) -> usize {
        // The thread that moved the head has read the places before it.
        let head = self.head.load(Ordering::Acquire);
        let used = self.tail.load(Ordering::Relaxed).wrapping_sub(head);
        N.saturating_sub(used)
    }

    /// Takes the first.
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    #[inline]
    pub(super) unsafe fn pop(&self) -> Option<K> {
        let tail = self.tail.load(Ordering::Relaxed);
        let mut head = self.head.load(Ordering::Relaxed);
        while head != tail {
            let item = self.at(head);
            match self.advance(head, 1) {
                // SAFETY: the invariant, and it has been taken.
                Ok(()) => return NonNull::new(item).map(|item| unsafe { K::from_raw(item) }),
                Err(now) => head = now,
            }
        }
        None
    }

    /// Moves the head on by `count`, if it is still at `head`.
    #[inline]
    fn advance(&self, head: usize, count: usize) -> Result<(), usize> {
        let next = head.wrapping_add(count);
        self.head
            .compare_exchange(head, next, Ordering::AcqRel, Ordering::Acquire)
            .map(drop)
    }

    /// Takes the first ones, up to `most`, and hands each to `to`, with its number. Returns how
    /// many they were.
    ///
    /// # Safety
    ///
    /// The caller is the owner.
    pub(super) unsafe fn pop_many(&self, most: usize, mut to: impl FnMut(usize, K)) -> usize {
        let tail = self.tail.load(Ordering::Relaxed);
        let mut head = self.head.load(Ordering::Relaxed);
        let count = loop {
            let count = tail.wrapping_sub(head).min(most);
            match self.advance(head, count) {
                Ok(()) => break count,
                Err(now) => head = now,
            }
        };
        for i in 0..count {
            let item = self.at(head.wrapping_add(i));
            // SAFETY: the invariant, and it has been taken. Only the owner writes places.
            to(i, unsafe { K::from_raw(NonNull::new_unchecked(item)) });
        }
        count
    }

    /// Takes half of the items that wait here or that the owner has `claimed`, and one at
    /// least if any waits here. Returns the first with the number of those taken, and
    /// puts the others into `into`.
    ///
    /// # Safety
    ///
    /// The caller is the owner of `into`, which is empty, and not this ring.
    pub(super) unsafe fn steal_into(&self, into: &Self, claimed: usize) -> Option<(K, usize)> {
        let end = into.tail.load(Ordering::Relaxed);
        // The thread that stole from `into` has read what we are about to write over.
        let begin = into.head.load(Ordering::Acquire);
        debug_assert_eq!(begin, end, "only a worker without tasks steals");
        loop {
            let head = self.head.load(Ordering::Acquire);
            let tail = self.tail.load(Ordering::Acquire);
            let waiting = tail.wrapping_sub(head);
            if waiting == 0 {
                return None;
            }
            if waiting > N {
                continue;
            }
            let count = waiting.min((waiting + claimed).div_ceil(2));
            let first = self.at(head);
            for i in 1..count {
                let item = self.at(head.wrapping_add(i));
                into.place(end.wrapping_add(i - 1))
                    .store(item, Ordering::Relaxed);
            }
            if self.advance(head, count).is_ok() {
                let end = end.wrapping_add(count - 1);
                into.tail.store(end, Ordering::Release);
                // SAFETY: the invariant, and it has been taken.
                return NonNull::new(first).map(|first| (unsafe { K::from_raw(first) }, count));
            }
        }
    }
}
