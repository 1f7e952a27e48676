//! The ring of a worker's ready tasks. Other workers may steal from its head.
//!
//! # Operations
//!
//! `head` and `tail` only count up; a position's place in the ring is its remainder.
//! Items wait at the positions from `head` to before `tail`. There are four operations:
//!
//! * **Push** (the owner): writes the place at `tail`, then publishes `tail + 1`. It
//!   refuses when all places are in use. No read-modify-write.
//! * **Pop** (the owner): reads the place at `head`, then moves `head` on by one with a
//!   compare-and-swap.
//! * **Pop many** (the owner): moves `head` on by as many as it wants in the same way, and
//!   then reads their places.
//! * **Steal** (any thread): reads `head`, then `tail`, and copies about half of the
//!   waiting items into its own ring, where no thread sees them yet. Then it moves `head`
//!   on by as many with a compare-and-swap. If that fails, the copies mean nothing, and
//!   it tries again. If it succeeds, it publishes them by its own `tail`.
//!
//! # Nothing is lost, nothing is taken twice
//!
//! * `head` never goes back, so a compare-and-swap from `h` to `h + n` succeeds only if
//!   `head` was `h` all the time since it was read.
//! * As long as `head` is `h`, the owner finds that the places from `h` on are in use, up
//!   to `h + N`, and does not write them. So the copies are the items at those positions.
//! * Each position lies in the span of exactly one successful compare-and-swap, and
//!   belongs to the thread that made it.
//!
//! The places are atomics that are read and written relaxed: a thief may read a place
//! while the owner, a lap later, writes it, and then its compare-and-swap fails. `tail`
//! publishes the data that the pointers point to (release and acquire). A thief's reads
//! come before its compare-and-swap (release); the owner loads `head` (acquire) before it
//! writes the place again. A thief that reads an old `head` and a new `tail` may see more
//! than `N` waiting; it begins again.
//!
//! The shape is that of the run queues in Go's scheduler (`runtime/proc.go`).

use std::marker::PhantomData;
use std::ptr::{self, NonNull};

use blitz_io_futex::atomic::{AtomicPtr, AtomicUsize, Ordering};

use super::token::Token;

/// Largest number of tasks that wait in a worker's own queue.
pub const CAPACITY: usize = 256;

/// Number of tasks that are worth a theft, whatever their owner does.
const MANY: usize = 64;

/// A ring of tokens; see the module documentation.
///
/// At any time at most one thread is its owner. The unsafe functions require that the
/// caller is an owner. `N` is a power of two, and two at least.
#[repr(align(128))]
pub struct Ring<K, const N: usize = CAPACITY> {
    head: AtomicUsize,
    tail: AtomicUsize,
    places: [AtomicPtr<()>; N],
    holds: PhantomData<fn() -> K>,
}

impl<K: Token, const N: usize> Ring<K, N> {
    /// Creates an empty ring.
    pub fn new() -> Self {
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

    /// Returns the number of tasks that wait. It may have changed by now.
    #[inline]
    pub fn len(&self) -> usize {
        let head = self.head.load(Ordering::Acquire);
        let tail = self.tail.load(Ordering::Acquire);
        tail.wrapping_sub(head).min(N)
    }

    /// Returns `true` if no task waits. For the owner, `true` is exact.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head.load(Ordering::Acquire) == self.tail.load(Ordering::Acquire)
    }

    /// Returns `true` if stealing is worth it. If few tasks wait, with those that the owner has
    /// `claimed`, their owner may have come for the next one after a `pause`. If it has not,
    /// it is busy, or has claimed enough to share. It may also have added some, and stealing
    /// costs the same for many as for one.
    pub fn is_worth_stealing_from(
        &self,
        claimed: impl Fn() -> usize,
        pause: impl FnOnce(),
    ) -> bool {
        let head = self.head.load(Ordering::Acquire);
        let few = self.tail.load(Ordering::Acquire).wrapping_sub(head);
        if few == 0 || few + claimed() >= MANY {
            return few != 0;
        }
        pause();
        self.head.load(Ordering::Acquire) == head || self.len() + claimed() >= MANY
    }

    /// Puts one at the end, or gives it back when the ring is full.
    ///
    /// # Safety
    ///
    /// The caller is the ring's owner.
    #[inline]
    pub unsafe fn push(&self, item: K) -> Result<(), K> {
        // SAFETY: the caller is the ring's owner.
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
    /// The caller is the ring's owner.
    #[inline]
    pub unsafe fn room(&self) -> usize {
        // The thread that moved the head has read the places before it.
        let head = self.head.load(Ordering::Acquire);
        let used = self.tail.load(Ordering::Relaxed).wrapping_sub(head);
        N.saturating_sub(used)
    }

    /// Takes the first.
    ///
    /// # Safety
    ///
    /// The caller is the ring's owner.
    #[inline]
    pub unsafe fn pop(&self) -> Option<K> {
        let tail = self.tail.load(Ordering::Relaxed);
        let mut head = self.head.load(Ordering::Relaxed);
        while head != tail {
            let item = self.at(head);
            match self.advance(head, 1) {
                // SAFETY: it has been taken, and `push` made it a pointer.
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

    /// Takes the first ones, as many as `how_many` says of so many that wait, and hands each to
    /// `to`, with its number. Returns how many they were.
    ///
    /// # Safety
    ///
    /// The caller is the ring's owner.
    pub unsafe fn pop_many(
        &self,
        how_many: impl Fn(usize) -> usize,
        mut to: impl FnMut(usize, K),
    ) -> usize {
        let tail = self.tail.load(Ordering::Relaxed);
        let mut head = self.head.load(Ordering::Relaxed);
        let count = loop {
            let count = how_many(tail.wrapping_sub(head));
            match self.advance(head, count) {
                Ok(()) => break count,
                Err(now) => head = now,
            }
        };
        for i in 0..count {
            let item = self.at(head.wrapping_add(i));
            // SAFETY: only the owner writes places, so it has been taken; `push` made it a pointer,
            // which is not null.
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
    pub unsafe fn steal_into(&self, into: &Self, claimed: usize) -> Option<(K, usize)> {
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
                // SAFETY: it has been taken, and `push` made it a pointer.
                return NonNull::new(first).map(|first| (unsafe { K::from_raw(first) }, count));
            }
        }
    }
}
