//! The tasks that a worker has in hand: it takes the next few from its ring in one step,
//! and then runs one after the other.
//!
//! To take one from the ring costs a read-modify-write, and with short polls that is the
//! greater part of what a poll costs. A trayful costs one for all. What lies here can't
//! be stolen, though, so it is only as much as runs in the time that it would take to
//! wake another worker for it (`pace.rs`), half of the ring at most. If the owner stands
//! still all the same, others *rob* the tray.
//!
//! Everything is done under the bolt, so nobody takes what another one has taken; only
//! the count is looked at without it. It is 0 for the owner only if there is nothing:
//! nobody else adds to it.

use std::ptr::{self, NonNull};

use blitz_futex::atomic::{AtomicPtr, AtomicUsize, Ordering};

use super::queue::Ring;
use crate::bolt::Bolt;

/// How many tasks a worker has in hand at most.
pub const MOST: usize = if cfg!(loom) { 4 } else { 64 };

/// See the head of this file. What is marked unsafe is for the owner, which is one thread
/// at a time.
pub struct Tray<T> {
    count: AtomicUsize,
    bolt: Bolt,
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
            count: AtomicUsize::new(0),
            bolt: Bolt::new(),
            places: std::array::from_fn(|_| AtomicPtr::new(ptr::null_mut())),
        }
    }

    /// How many are there.
    #[inline]
    pub fn len(&self) -> usize {
        self.count.load(Ordering::Relaxed)
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
        if self.is_empty() {
            return None;
        }
        // SAFETY: passed on.
        unsafe {
            self.bolt.own(|| {
                let last = self.len().checked_sub(1)?;
                self.count.store(last, Ordering::Relaxed);
                let item = self.places[last % MOST].load(Ordering::Relaxed);
                // SAFETY: `fill` puts something into each of the places that count.
                Some(NonNull::new_unchecked(item))
            })
        }
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
        let fill = || {
            let places = self.places[..count].iter().rev();
            (places.zip(taken)).for_each(|(place, item)| {
                place.store(item.as_ptr(), Ordering::Relaxed);
            });
            self.count.store(count, Ordering::Relaxed);
        };
        // SAFETY: passed on.
        unsafe { self.bolt.own(fill) };
        Some(first)
    }

    /// Takes all that is there, and hands each to `to`, the next one first; how many it
    /// were. For anybody, if the owner stands still; in vain if it does not.
    #[cold]
    pub fn rob(&self, mut to: impl FnMut(NonNull<T>)) -> usize {
        if self.is_empty() {
            return 0;
        }
        let all = self.bolt.rob(|| {
            let count = self.len();
            let items = self
                .places
                .each_ref()
                .map(|place| place.load(Ordering::Relaxed));
            self.count.store(0, Ordering::Relaxed);
            (items, count)
        });
        let Some((items, count)) = all else {
            return 0;
        };
        let items = items[..count].iter().rev();
        items
            .filter_map(|&item| NonNull::new(item))
            .for_each(&mut to);
        count
    }
}
