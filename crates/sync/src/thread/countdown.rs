//! A count that goes down to zero, and threads that wait for it. The core of
//! [`Latch`](super::Latch) and [`WaitGroup`](super::WaitGroup).
//!
//! # The algorithm
//!
//! One futex word: the count in the lower 31 bits, and above it the flag `SLEEPERS`, which a
//! thread sets before it sleeps and which no thread clears. The waiters wait for a count of zero.
//! That is final: nothing raises it again.
//!
//! * Counting down subtracts by compare-exchange, after a look at whether there is enough to
//!   subtract from, so a refused count-down has changed nothing. The count-down that reaches zero
//!   and finds `SLEEPERS` wakes all sleepers.
//! * Waiting sets `SLEEPERS`, then sleeps for as long as the word stays the same. Other
//!   count-downs change the word and wake no thread. One of them may keep a thread from falling
//!   asleep, which then tries again.
//!
//! # Why no wake-up is lost
//!
//! Flag and count share one word, and every change to it is a read-modify-write. So of the flag
//! and the last count-down one comes first, for all threads. If the flag does, the count-down
//! reads it and wakes. If the count-down does, the waiter's compare-exchange fails, and it reads
//! zero. A sleeper falls asleep only while the word holds the flag and a count above zero, so the
//! wake comes later and finds it. No `SeqCst` is needed where there is one location.
//!
//! # Order
//!
//! Each count-down is a release. Those after it are read-modify-writes, so they carry its release
//! sequence on. A thread that reads zero with acquire ordering sees the work of every thread
//! before its count-down.
//!
//! # When the word may be freed
//!
//! The last touch of the count-down that reaches zero is its compare-exchange.
//! After that it has only the address, which the wake passes to the system
//! without reading it. So a thread that has returned from a wait, and knows of
//! no other that still waits, may free the word, though the count-down that
//! released it has not returned yet.

use blitz_io_core::const_unless_loom;
use blitz_io_core::deadline;
use blitz_io_core::spin::Spin;
use blitz_io_futex::WaitResult;
use blitz_io_futex::atomic::{AtomicU32, Ordering};
use blitz_io_observe::{self as observe, Blocking, Caller, Kind, Object};
use std::time::Instant;

/// Set once a thread has slept, or was about to.
const SLEEPERS: u32 = 1 << 31;

/// The largest count.
pub(super) const MAX: u32 = SLEEPERS - 1;

pub(super) struct Countdown {
    word: AtomicU32,
    pub(super) object: Object,
}

impl Countdown {
    const_unless_loom! {
        /// `count` must not be above [`MAX`].
        pub(super) const fn new(count: u32) -> Self {
            Self { word: AtomicU32::new(count), object: Object::new() }
        }
    }

    pub(super) fn count(&self) -> u32 {
        count_of(self.word.load(Ordering::Relaxed))
    }

    /// Returns `true` if the count is zero. If so, the work before each count-down is visible.
    #[inline]
    pub(super) fn is_zero(&self) -> bool {
        count_of(self.word.load(Ordering::Acquire)) == 0
    }

    /// Subtracts `n`, and wakes the waiters if that makes zero. Fails with the
    /// count, and changes nothing, if that is less than `n`.
    #[inline]
    pub(super) fn subtract(&self, n: u32) -> Result<(), u32> {
        let address: *const AtomicU32 = &self.word;
        let before = self.change(Ordering::Release, |count| count.checked_sub(n))?;
        // A waiter may have freed `self` by now.
        if count_of(before) == n && before & SLEEPERS != 0 && n != 0 {
            wake(address);
        }
        Ok(())
    }

    /// Adds one, unless the count is zero or as large as can be, in which case
    /// it fails.
    #[inline]
    pub(super) fn add_unless_zero(&self) -> Result<(), ()> {
        self.change(Ordering::Relaxed, |count| {
            (count != 0 && count != MAX).then(|| count + 1)
        })
        .map(drop)
        .map_err(drop)
    }

    /// Waits until the count is zero. Returns whether that came before
    /// `deadline`. `kind` is that of the primitive.
    #[inline]
    #[track_caller]
    pub(super) fn wait(&self, deadline: Option<Instant>, kind: Kind) -> bool {
        self.is_zero() || self.wait_slow(deadline, kind, Caller::here())
    }

    #[cold]
    fn wait_slow(&self, deadline: Option<Instant>, kind: Kind, caller: Caller) -> bool {
        if deadline::spin_until(Spin::EVENT, deadline, || self.is_zero()) {
            return true;
        }
        let _waits = Blocking::new(kind, &self.object, caller, deadline.is_some());
        while let Some(word) = self.announce() {
            let _record = observe::sleeping(&self.word);
            if blitz_io_futex::wait_deadline(&self.word, word, deadline) == WaitResult::TimedOut {
                return self.is_zero();
            }
        }
        true
    }

    /// Sets `SLEEPERS` and returns the word to sleep on, or `None` if the count
    /// is zero.
    fn announce(&self) -> Option<u32> {
        let announces = |word| count_of(word) != 0 && word & SLEEPERS == 0;
        let announce = |word| announces(word).then_some(word | SLEEPERS);
        let order = Ordering::Acquire;
        match self.word.fetch_update(order, order, announce) {
            Ok(before) => Some(before | SLEEPERS),
            Err(word) => (count_of(word) != 0).then_some(word),
        }
    }

    /// Replaces the count by `next` of it, and leaves the flag alone. Returns the word as it was
    /// before, or the count that `next` refused.
    #[inline]
    fn change(&self, order: Ordering, next: impl Fn(u32) -> Option<u32>) -> Result<u32, u32> {
        let next = |word| Some(next(count_of(word))? | word & SLEEPERS);
        let changed = self.word.fetch_update(order, Ordering::Relaxed, next);
        changed.map_err(count_of)
    }
}

#[cold]
fn wake(address: *const AtomicU32) {
    blitz_io_futex::wake_all(address);
}

fn count_of(word: u32) -> u32 {
    word & MAX
}
