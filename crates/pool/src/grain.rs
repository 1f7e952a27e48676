//! How fine the recursion is that a worker runs, and when it need not fork.
//!
//! A fork costs a few nanoseconds even if it is not stolen, about as much as a small call. A
//! recursion whose calls are that small does not need most of its forks: only the oldest ones are
//! large enough to be stolen. So a worker that has [`ENOUGH_FORKS`] calls one closure after the
//! other, if it knows that this `join` is fine. As soon as one of its forks is stolen, the next
//! `join` forks again.
//!
//! A closure that is not forked cannot be stolen later, so a coarse `join` must never count
//! as fine. Hence:
//!
//! * The evidence is time. A worker measures how long [`WINDOW`] joins take, and counts
//!   only those whose first closure has ended. Only completed joins count.
//! * It holds for one place in the program, identified by the closure's type: that one
//!   recursion is fine says nothing about another.
//! * It holds until a window takes longer.
//!
//! A theft ends it, too. A thief cannot take a fork before the victim next uses its deque, or is
//! interrupted. A worker that does not fork does not use its deque.
//!
//! Correctness does not depend on any of this: a `join` may fork or not.

use std::cell::Cell;
use std::time::{Duration, Instant};

use blitz_io_futex::atomic::AtomicUsize;
use blitz_io_futex::atomic::Ordering::Relaxed;

/// In a balanced recursion, the oldest two forks are three quarters of the work, and each
/// thief soon has two forks of its own. With one more, a tree of depth nine makes 129 forks
/// instead of 45, with two more 255.
pub(crate) const ENOUGH_FORKS: usize = 2;
/// How many joins are measured together, so that reading the clock costs next to nothing.
const WINDOW: u32 = 256;
/// A theft costs about five microseconds. Sixteen fine joins together are not worth
/// stealing.
const FINE: Duration = Duration::from_nanos(5_000 / 16 * WINDOW as u64);

/// The place in the program whose joins are fine, or 0. It belongs to a worker; thieves
/// clear it.
#[derive(Debug)]
pub(crate) struct FineSite(AtomicUsize);

impl FineSite {
    pub(crate) fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    #[inline(always)]
    pub(crate) fn is(&self, site: usize) -> bool {
        self.0.load(Relaxed) == site
    }

    /// Makes the worker's next `join` fork.
    pub(crate) fn clear(&self) {
        self.0.store(0, Relaxed);
    }

    fn set(&self, site: usize) {
        self.0.store(site, Relaxed);
    }
}

/// A worker's measurements of its joins.
#[derive(Debug)]
pub(crate) struct Grain {
    /// Joins until the end of the window.
    left: Cell<u32>,
    began: Cell<Option<Instant>>,
}

impl Grain {
    pub(crate) fn new() -> Self {
        Self {
            left: Cell::new(WINDOW),
            began: Cell::new(None),
        }
    }

    /// Counts a `join` whose first closure has ended while the second one was not stolen.
    #[inline(always)]
    pub(crate) fn joined(&self, site: usize, fine: &FineSite) {
        let left = self.left.get() - 1;
        self.left.set(left);
        if left == 0 {
            self.measure(site, fine);
        }
    }

    #[cold]
    #[inline(never)]
    fn measure(&self, site: usize, fine: &FineSite) {
        let now = Instant::now();
        let is_fine = self.began.get().is_some_and(|began| now - began < FINE);
        fine.set(if is_fine { site } else { 0 });
        self.left.set(WINDOW);
        self.began.set(Some(now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Joins until `site` is known to be fine. A busy machine may need several windows.
    fn until_fine(grain: &Grain, site: usize, fine: &FineSite) {
        let end = Instant::now() + Duration::from_secs(20);
        while !fine.is(site) {
            assert!(Instant::now() < end, "quick joins are fine");
            grain.joined(site, fine);
        }
    }

    #[test]
    fn a_place_is_fine_after_quick_joins_and_no_other_is() {
        let (grain, fine) = (Grain::new(), FineSite::new());
        assert!(!fine.is(1));
        until_fine(&grain, 1, &fine);
        assert!(!fine.is(2));
        until_fine(&grain, 2, &fine);
        assert!(!fine.is(1));
    }

    #[test]
    fn a_slow_window_ends_it() {
        let (grain, fine) = (Grain::new(), FineSite::new());
        until_fine(&grain, 1, &fine);
        std::thread::sleep(FINE);
        (0..WINDOW).for_each(|_| grain.joined(1, &fine));
        assert!(!fine.is(1));
    }

    #[test]
    fn a_thief_ends_it_until_the_next_window() {
        let (grain, fine) = (Grain::new(), FineSite::new());
        until_fine(&grain, 1, &fine);
        fine.clear();
        assert!(!fine.is(1));
        until_fine(&grain, 1, &fine);
    }
}
