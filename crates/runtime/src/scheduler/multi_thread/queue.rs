//! A worker's run queue: a ring from whose head others may steal.
//!
//! # Moves
//!
//! `head` and `tail` only count up; a position's place in the ring is its remainder.
//! What waits are the positions from `head` to before `tail`. Five moves there are:
//!
//! * **Push** (the owner): writes the place at `tail`, then publishes `tail + 1`. It
//!   refuses when all places are in use. No read-modify-write.
//! * **Pop** (the owner): reads the place at `head`, then moves `head` on by one with a
//!   compare-and-swap.
//! * **Steal** (anybody): reads `head`, then `tail`, copies about half of what
//!   waits into its own ring, where nobody sees it yet, and moves `head` on by as many
//!   with a compare-and-swap. When that fails, the copies mean nothing: it tries again.
//!   When it succeeds, it publishes them by its own `tail`.
//! * **Spill** (the owner): moves `head` on over half of what waits in the same way, when
//!   the ring is full.
//! * **Claim** (the owner): moves `head` on by as many as it wants, and leaves what it has
//!   taken at its places, which are *in hand* from then on (`tray.rs`).
//!
//! # Nothing is lost, nothing is taken twice
//!
//! `head` never goes back, so a compare-and-swap from `h` to `h + n` succeeds only if
//! `head` was `h` all the time since it was read. As long as it is, the owner finds
//! that the places from `h` on are in use, up to `h + N`, and does not write them: the
//! copies were what the positions held. Each position lies in the span of exactly one
//! successful compare-and-swap, and belongs to who made it.
//!
//! Places are in use from the first one in hand on, or from `head` on if none is in hand,
//! and there are `N`. Where that begins the owner looks when it claims some, or when there
//! seems to be no room, and remembers it as the `floor`: as neither goes back, no place
//! before it is in use. Who takes one that is in hand may **put back** another one without
//! asking whether there is room, since it leaves a place.
//!
//! The places are atomics that are read and written relaxed: a thief may read a place
//! while the owner, a lap later, writes it, and then its compare-and-swap fails. What
//! the pointer points to is published by `tail` (release and acquire). A thief's reads
//! come before its compare-and-swap (release), the owner's look at `head` (acquire)
//! before it writes the place again. A thief that reads an old `head` and a new `tail`
//! may see more than `N` waiting; it begins again.
//!
//! The shape is that of the run queues in Go's scheduler (`runtime/proc.go`).

use std::ptr::{self, NonNull};

use blitz_futex::atomic::{AtomicPtr, AtomicUsize, Ordering};

use super::mutant::{Mutant, active};

/// How many tasks wait in a worker's own queue at most.
pub const CAPACITY: usize = 256;

/// As many as this are worth a theft, whatever their owner does.
const MANY: usize = 64;

/// A ring of pointers. See the head of this file.
///
/// Its owner is one thread at a time, and only that one may call what is marked
/// unsafe. `N` is a power of two, and two at least.
#[repr(align(128))]
pub struct Ring<T, const N: usize = CAPACITY> {
    head: AtomicUsize,
    tail: AtomicUsize,
    /// The owner's: nothing before this position is in use.
    floor: AtomicUsize,
    /// Where the span ends that the owner has claimed last.
    claimed: AtomicUsize,
    places: [AtomicPtr<T>; N],
}

impl<T, const N: usize> Default for Ring<T, N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T, const N: usize> Ring<T, N> {
    /// An empty ring.
    pub fn new() -> Self {
        const { assert!(N.is_power_of_two() && N >= 2) };
        Self {
            head: AtomicUsize::new(0),
            tail: AtomicUsize::new(0),
            floor: AtomicUsize::new(0),
            claimed: AtomicUsize::new(0),
            places: std::array::from_fn(|_| AtomicPtr::new(ptr::null_mut())),
        }
    }

    #[inline]
    fn place(&self, position: usize) -> &AtomicPtr<T> {
        &self.places[position % N]
    }

    /// What is at the place of a position: null, or what was pushed there last, and may be
    /// gone by now.
    #[inline]
    pub(super) fn at(&self, position: usize) -> *mut T {
        self.place(position).load(Ordering::Relaxed)
    }

    /// How many wait. Another thread may know better by now.
    #[inline]
    pub fn len(&self) -> usize {
        let head = self.head.load(Ordering::Acquire);
        let tail = self.tail.load(Ordering::Acquire);
        tail.wrapping_sub(head).min(N)
    }

    /// Whether none waits. Exact for the owner in so far as it says yes.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head.load(Ordering::Acquire) == self.tail.load(Ordering::Acquire)
    }

    /// Whether a thief had better take something. If there are only a few, with what the
    /// owner has `in_hand`, then after a `pause` their owner may have come for the next
    /// one. If not, it is busy, or has enough in hand to share. It may also have added some,
    /// and a theft costs the same for many as for one.
    pub fn is_worth_stealing_from(
        &self,
        in_hand: impl Fn() -> usize,
        pause: impl FnOnce(),
    ) -> bool {
        let head = self.head.load(Ordering::Acquire);
        let few = self.tail.load(Ordering::Acquire).wrapping_sub(head);
        if few == 0 || few + in_hand() >= MANY {
            return few != 0;
        }
        pause();
        self.head.load(Ordering::Acquire) == head || self.len() + in_hand() >= MANY
    }

    /// Puts one at the end, or gives it back when the ring is full.
    ///
    /// # Safety
    ///
    /// The caller is the ring's owner, and `in_hand` says how many of those that it has
    /// claimed are in hand still.
    #[inline]
    pub unsafe fn push(
        &self,
        item: NonNull<T>,
        in_hand: impl FnOnce() -> usize,
    ) -> Result<(), NonNull<T>> {
        let tail = self.tail.load(Ordering::Relaxed);
        let used = tail.wrapping_sub(self.floor.load(Ordering::Relaxed));
        // SAFETY: passed on.
        if used >= Self::most() && unsafe { self.room(in_hand()) } == 0 {
            return Err(item);
        }
        self.put(tail, item);
        Ok(())
    }

    /// Puts one at the end, where there is room for it.
    ///
    /// # Safety
    ///
    /// The caller is the ring's owner, who has taken one that was in hand, and puts back one
    /// for it.
    #[inline]
    pub unsafe fn put_back(&self, item: NonNull<T>) {
        self.put(self.tail.load(Ordering::Relaxed), item);
    }

    #[inline]
    fn put(&self, tail: usize, item: NonNull<T>) {
        self.place(tail).store(item.as_ptr(), Ordering::Relaxed);
        let publish = match active(Mutant::PushesQuietly) {
            true => Ordering::Relaxed,
            false => Ordering::Release,
        };
        self.tail.store(tail.wrapping_add(1), publish);
    }

    /// How many places are in use at most.
    #[inline]
    fn most() -> usize {
        match active(Mutant::PushesIntoFullRing) {
            true => N + 1,
            false => N,
        }
    }

    /// For how many more there is room.
    ///
    /// # Safety
    ///
    /// The caller is the ring's owner, who has so many in hand.
    #[cold]
    pub unsafe fn room(&self, in_hand: usize) -> usize {
        let floor = if in_hand == 0 || active(Mutant::ForgetsWhatIsInHand) {
            // Whoever moved the head has read the places before it.
            self.head.load(Ordering::Acquire)
        } else {
            self.in_hand(in_hand)
        };
        self.floor.store(floor, Ordering::Relaxed);
        let used = self.tail.load(Ordering::Relaxed).wrapping_sub(floor);
        Self::most().saturating_sub(used)
    }

    /// The position of the first of so many that are still in hand.
    #[inline]
    pub(super) fn in_hand(&self, count: usize) -> usize {
        self.claimed.load(Ordering::Relaxed).wrapping_sub(count)
    }

    /// Takes the first ones, as many as `how_many` says of so many that wait, and leaves
    /// them at their places: they are in hand. How many they are.
    ///
    /// # Safety
    ///
    /// The caller is the ring's owner, and has nothing in hand.
    #[inline]
    pub(super) unsafe fn claim(&self, how_many: impl Fn(usize) -> usize) -> usize {
        let (head, count) = self.take_span(how_many);
        self.floor.store(head, Ordering::Relaxed);
        self.claimed
            .store(head.wrapping_add(count), Ordering::Relaxed);
        count
    }

    /// Takes the first.
    ///
    /// # Safety
    ///
    /// The caller is the ring's owner.
    #[inline]
    pub unsafe fn pop(&self) -> Option<NonNull<T>> {
        let tail = self.tail.load(Ordering::Relaxed);
        let mut head = self.head.load(Ordering::Relaxed);
        while head != tail {
            let item = self.at(head);
            match self.advance(head, 1) {
                Ok(()) => return NonNull::new(item),
                Err(now) => head = now,
            }
        }
        None
    }

    /// Moves the head on by `count`, if it is still at `head`.
    #[inline]
    fn advance(&self, head: usize, count: usize) -> Result<(), usize> {
        let next = head.wrapping_add(count);
        if active(Mutant::TakesWithoutComparing) {
            self.head.store(next, Ordering::Release);
            return Ok(());
        }
        self.head
            .compare_exchange(head, next, Ordering::AcqRel, Ordering::Acquire)
            .map(drop)
    }

    /// Takes the first half of what waits, and hands each to `to`. How many it were.
    ///
    /// # Safety
    ///
    /// The caller is the ring's owner.
    pub unsafe fn spill(&self, mut to: impl FnMut(NonNull<T>)) -> usize {
        let (head, count) = self.take_span(|waiting| waiting / 2);
        for i in 0..count {
            let item = self.at(head.wrapping_add(i));
            // SAFETY: only the owner writes places, and what waits is not null.
            to(unsafe { NonNull::new_unchecked(item) });
        }
        count
    }

    /// Moves the head on over the first ones: from where, and over how many.
    #[inline]
    fn take_span(&self, how_many: impl Fn(usize) -> usize) -> (usize, usize) {
        let tail = self.tail.load(Ordering::Relaxed);
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            let count = how_many(tail.wrapping_sub(head));
            match self.advance(head, count) {
                Ok(()) => return (head, count),
                Err(now) => head = now,
            }
        }
    }

    /// Takes half of what waits here and of what the owner has `in_hand`, and one at least
    /// if any waits here. The first is returned, with the number of those taken; the others
    /// are put into `into`.
    ///
    /// # Safety
    ///
    /// The caller is the owner of `into`, which is empty, and not this ring.
    pub unsafe fn steal_into(&self, into: &Self, in_hand: usize) -> Option<(NonNull<T>, usize)> {
        let end = into.tail.load(Ordering::Relaxed);
        // Whoever stole from `into` has read what we are about to write over.
        let begin = into.head.load(Ordering::Acquire);
        debug_assert_eq!(begin, end, "stealing with a full hand");
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
            let count = waiting.min((waiting + in_hand).div_ceil(2));
            let first = self.at(head);
            for i in 1..count {
                let item = self.at(head.wrapping_add(i));
                into.place(end.wrapping_add(i - 1))
                    .store(item, Ordering::Relaxed);
            }
            if self.advance(head, count).is_ok() {
                let end = end.wrapping_add(count - 1);
                into.tail.store(end, Ordering::Release);
                return NonNull::new(first).map(|first| (first, count));
            }
        }
    }
}
