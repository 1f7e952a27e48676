//! The tasks that a worker has in hand: it claims the next few of its ring in one step,
//! and then runs one after the other.
//!
//! To take one from the ring costs a read-modify-write, and with short polls that is the
//! greater part of what a poll costs. A trayful costs one for all. What is in hand can't
//! be stolen, though, so it is only as much as runs in the time that it would take to
//! wake another worker for it (`pace.rs`), half of the ring at most. If the owner stands
//! still all the same, others *rob* the tray.
//!
//! # The protocol
//!
//! What is in hand stays at its places in the ring: the last `count` of the span that
//! the owner has claimed. The owner takes the first of them by publishing a `count` of
//! one less, and then looks whether there is a robber; when none is left, it fills the
//! tray by claiming a new span and publishing how many it leaves there. A robber, of
//! whom there is one at a time, says that it is there ([`ROBBING`]), makes every thread
//! pass a fence (`fences::heavy`), and takes all that is counted then. It says how many
//! they were (`taken`), and that the tray has been robbed ([`ROBBED`]), and leaves
//! `count` to the owner, who does away with both when it comes by.
//!
//! **No task is taken twice, and none is left.** After its fence the robber sees what the
//! owner has published, or the owner sees the robber: that is what `blitz_sync`'s asymmetric
//! fences promise. An owner that sees nobody has its task, as the robber does not count it.
//! One that sees the robber waits until that has gone. Then `taken` tells whether its task
//! was among those: the robber may have seen the count before or after. Other robbers keep
//! away until the owner has been there and put the count right.
//!
//! **Nobody reads places that are being written**, nor takes one span for another. The
//! owner claims a span when it has published a `count` of zero and has looked for a
//! robber since: one that counts some after that has seen the new number, and with it
//! the span. The owner writes the place of a task when it has taken that and has looked,
//! too: one that counted it before was seen, and the owner waited until it had read.
//! While it polls, the owner keeps off all that it counts itself, unless it hears that
//! those were robbed, for which it asks with an acquire ([`len`](Tray::len)). So it need
//! not look when it fills the tray, but only when it takes the next one.
//!
//! An owner waits for a robber as long as the fence takes, a few microseconds, or a
//! millisecond or two where the system has no such fence, unless the system stops the
//! robber's thread just then: so it lets other threads run meanwhile.

use std::ptr::NonNull;

use blitz_futex::atomic::{AtomicU8, Ordering};
use blitz_sync::internals::{fences, yield_now};

use super::mutant::{Mutant, active};
use super::queue::Ring;

/// How many tasks a worker has in hand at most.
pub const MOST: usize = if cfg!(loom) { 4 } else { 64 };
/// How far a worker looks ahead, to fetch into its cache what it will poll: so far that the
/// other processor has time to send it.
const AHEAD: usize = 8;

/// Nobody robs.
const NOBODY: u8 = 0;
/// Somebody looks what there is.
const ROBBING: u8 = 1;
/// Somebody took the first ones, `taken` in number, and `count` does not say so yet.
const ROBBED: u8 = 2;

/// See the head of this file. What is marked unsafe is for the owner, which is one thread
/// at a time, and which names the same ring each time.
#[derive(Default)]
pub struct Tray {
    count: AtomicU8,
    robber: AtomicU8,
    /// Belongs to the robber; to the owner when there was one.
    taken: AtomicU8,
}

impl Tray {
    /// An empty tray.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many are there.
    #[inline]
    pub fn len(&self) -> usize {
        // Whoever robbed it has read the places.
        match self.robber.load(Ordering::Acquire) {
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
    pub unsafe fn take<T, const N: usize>(&self, ring: &Ring<T, N>) -> Option<NonNull<T>> {
        // SAFETY: passed on.
        unsafe { self.take_looking_ahead(ring) }.map(|(item, _)| item)
    }

    /// The same, and the one that comes [`AHEAD`] after it, as far as can be told from
    /// here: that may be gone, or never have been there.
    ///
    /// # Safety
    ///
    /// As above.
    #[inline]
    pub unsafe fn take_looking_ahead<T, const N: usize>(
        &self,
        ring: &Ring<T, N>,
    ) -> Option<(NonNull<T>, *const T)> {
        let count = self.count.load(Ordering::Relaxed);
        let left = count.checked_sub(1)?;
        if !self.publish(left) && self.lost(count) {
            return None;
        }
        let first = ring.in_hand(count.into());
        // SAFETY: it was in hand, and what was pushed is not null.
        let item = unsafe { NonNull::new_unchecked(ring.at(first)) };
        Some((item, ring.at(first.wrapping_add(AHEAD))))
    }

    /// Sets the number, and looks whether that was in peace.
    #[inline(always)]
    fn publish(&self, count: u8) -> bool {
        fences::publish(&self.count, count, &self.robber) == NOBODY
            || active(Mutant::IgnoresTheRobber)
    }

    /// The owner has seen a robber. Whether that took the first of so many.
    #[cold]
    fn lost(&self, count: u8) -> bool {
        let robber = loop {
            match self.robber.load(Ordering::Acquire) {
                ROBBING => yield_now(),
                gone => break gone,
            }
        };
        if robber == NOBODY {
            return false;
        }
        let lost = self.taken.load(Ordering::Relaxed) >= count;
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
    pub unsafe fn take_through<T, const N: usize>(
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
    unsafe fn fill<T, const N: usize>(&self, ring: &Ring<T, N>, most: usize) -> Option<NonNull<T>> {
        // SAFETY: passed on.
        let count = unsafe { ring.claim(|waiting| waiting.min(most).min(MOST)) };
        let left = count.checked_sub(1)?;
        self.count.store(left as u8, Ordering::Release);
        NonNull::new(ring.at(ring.in_hand(count)))
    }

    /// Takes all that is there, and hands each to `to`, the next one first; how many it
    /// were. For anybody, if the owner stands still.
    ///
    /// # Safety
    ///
    /// The ring is the one that the owner names.
    #[cold]
    pub unsafe fn rob<T, const N: usize>(
        &self,
        ring: &Ring<T, N>,
        mut to: impl FnMut(NonNull<T>),
    ) -> usize {
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
        let first = ring.in_hand(count.into());
        let mut items = [None; MOST];
        for (i, item) in items.iter_mut().enumerate().take(count.into()) {
            // They are in hand, and stay there as long as we rob.
            *item = NonNull::new(ring.at(first.wrapping_add(i)));
        }
        self.taken.store(count, Ordering::Relaxed);
        self.robber.store(ROBBED, Ordering::Release);
        items.into_iter().flatten().for_each(&mut to);
        count.into()
    }
}
