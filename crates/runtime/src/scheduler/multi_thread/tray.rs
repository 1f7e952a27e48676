//! The tasks that a worker has in hand: it takes the next few from its ring in one step,
//! and then runs one after the other.
//!
//! To take one from the ring costs a read-modify-write, and with short polls that is the
//! greater part of what a poll costs. A trayful costs one for all. What lies here can't
//! be stolen, though, so it is only as much as runs in the time that it would take to
//! wake another worker for it (`pace.rs`), half of the ring at most. If the owner stands
//! still all the same, others *rob* the tray.
//!
//! # The protocol
//!
//! The first `count` places are in use. The owner takes the last of them by publishing a
//! `count` of one less, and then looks whether there is a robber; it fills the empty tray
//! by writing the places, publishing their number, and looking likewise. A robber, of whom
//! there is one at a time, says that it is there ([`ROBBING`]), makes every thread pass a
//! fence (`heavy`), and takes all that is counted then. It says how many they were
//! (`taken`), and that the tray has been robbed ([`ROBBED`]), and leaves `count` to the
//! owner, who does away with both when it comes by.
//!
//! **No task is taken twice, and none is left.** After its fence the robber sees what the
//! owner has published, or the owner sees the robber: that is what `blitz_sync`'s asymmetric
//! fences promise. An owner that sees nobody has its task, as the robber does not count it.
//! One that sees the robber waits until that has gone. Then `taken` tells whether its task
//! was among those: the robber may have seen the count before or after. Other robbers keep
//! away until the owner has been there and put the count right.
//!
//! **Nobody uses places that are being written.** The owner writes them only when the tray
//! is empty, to the owner's knowledge. A robber that counts some afterwards has seen the
//! number published; one that counted some before was seen by the owner before it found
//! the tray empty, or took the last one.
//!
//! An owner waits for a robber as long as the fence takes, a few microseconds, unless the
//! system stops the robber's thread just then: so it lets other threads run meanwhile.

use std::ptr::{self, NonNull};

use blitz_futex::atomic::{AtomicPtr, AtomicU8, Ordering};
use blitz_sync::internals::{fences, yield_now};

use super::mutant::{Mutant, active};
use super::queue::Ring;

/// How many tasks a worker has in hand at most.
pub const MOST: usize = if cfg!(loom) { 4 } else { 64 };

/// Nobody robs.
const NOBODY: u8 = 0;
/// Somebody looks what there is.
const ROBBING: u8 = 1;
/// Somebody took the first ones, `taken` in number, and `count` does not say so yet.
const ROBBED: u8 = 2;

/// See the head of this file. What is marked unsafe is for the owner, which is one thread
/// at a time.
pub struct Tray<T> {
    count: AtomicU8,
    robber: AtomicU8,
    /// Belongs to the robber; to the owner when there was one.
    taken: AtomicU8,
    /// The first `count` are there, the next one last.
    places: [AtomicPtr<T>; MOST],
}

impl<T> Default for Tray<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Tray<T> {
    /// An empty tray.
    pub fn new() -> Self {
        Self {
            count: AtomicU8::new(0),
            robber: AtomicU8::new(NOBODY),
            taken: AtomicU8::new(0),
            places: std::array::from_fn(|_| AtomicPtr::new(ptr::null_mut())),
        }
    }

    /// How many are there.
    #[inline]
    pub fn len(&self) -> usize {
        match self.robber.load(Ordering::Relaxed) {
            ROBBED => 0,
            _ => self.count.load(Ordering::Relaxed).into(),
        }
    }

    /// Whether none is.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes the next one.
    ///
    /// # Safety
    ///
    /// The caller is the tray's owner.
    #[inline]
    pub unsafe fn take(&self) -> Option<NonNull<T>> {
        let last = self.count.load(Ordering::Relaxed).checked_sub(1)?;
        if !self.publish(last) && self.lost(last) {
            return None;
        }
        let item = self.places[usize::from(last) % MOST].load(Ordering::Relaxed);
        // SAFETY: `fill` has put something into each of the places that count.
        Some(unsafe { NonNull::new_unchecked(item) })
    }

    /// Sets the number, and looks whether that was in peace.
    #[inline(always)]
    fn publish(&self, count: u8) -> bool {
        fences::publish(&self.count, count, &self.robber) == NOBODY
            || active(Mutant::IgnoresTheRobber)
    }

    /// The owner has seen a robber. Whether that took the one at this place.
    #[cold]
    fn lost(&self, place: u8) -> bool {
        let robber = loop {
            match self.robber.load(Ordering::Acquire) {
                ROBBING => yield_now(),
                gone => break gone,
            }
        };
        if robber == NOBODY {
            return false;
        }
        let lost = self.taken.load(Ordering::Relaxed) > place;
        self.count.store(0, Ordering::Relaxed);
        self.robber.store(NOBODY, Ordering::Release);
        lost && !active(Mutant::TakesWhatWasRobbed)
    }

    /// Takes the first one of the ring, and with it as many of those behind it as make
    /// half of the ring, but `most` in all.
    ///
    /// # Safety
    ///
    /// The caller is the owner of the ring and of the tray, which is empty.
    #[inline]
    pub unsafe fn take_through<const N: usize>(
        &self,
        ring: &Ring<T, N>,
        most: usize,
    ) -> Option<NonNull<T>> {
        let count = most.min(ring.len() / 2);
        if count <= 1 {
            // SAFETY: passed on.
            return unsafe { ring.pop() };
        }
        // SAFETY: passed on.
        unsafe { self.fill(ring, count) }
    }

    /// # Safety
    ///
    /// As above.
    unsafe fn fill<const N: usize>(&self, ring: &Ring<T, N>, most: usize) -> Option<NonNull<T>> {
        let how_many = |waiting: usize| waiting.min(most).min(MOST);
        // SAFETY: passed on.
        let mut taken = unsafe { ring.take_many(how_many) };
        let first = taken.next()?;
        let count = taken.len();
        let places = self.places[..count].iter().rev();
        (places.zip(taken)).for_each(|(place, item)| {
            place.store(item.as_ptr(), Ordering::Relaxed);
        });
        if !self.publish(count as u8) {
            // Whoever it was has all of them, or none.
            self.lost(0);
        }
        Some(first)
    }

    /// Takes all that is there, and hands each to `to`, the next one first; how many it
    /// were. For anybody, if the owner stands still.
    #[cold]
    pub fn rob(&self, mut to: impl FnMut(NonNull<T>)) -> usize {
        if self.is_empty() {
            return 0;
        }
        let first = (self.robber)
            .compare_exchange(NOBODY, ROBBING, Ordering::SeqCst, Ordering::Relaxed)
            .is_ok();
        if !first {
            return 0;
        }
        if !active(Mutant::RobsWithoutFence) {
            fences::heavy();
        }
        let count = self.count.load(Ordering::Acquire);
        if count == 0 {
            self.robber.store(NOBODY, Ordering::Release);
            return 0;
        }
        let items = self
            .places
            .each_ref()
            .map(|place| place.load(Ordering::Relaxed));
        self.taken.store(count, Ordering::Relaxed);
        self.robber.store(ROBBED, Ordering::Release);
        let items = items[..usize::from(count)].iter().rev();
        items
            .filter_map(|&item| NonNull::new(item))
            .for_each(&mut to);
        count.into()
    }
}
