//! How fine the recursion is that a worker runs, and when it need not fork.
//!
//! A fork costs a few nanoseconds even if nobody steals it, about as much as a small call. A
//! recursion whose calls are that small has no use for most of its forks: only the oldest ones
//! are large enough to be stolen. So a worker that has [`ENOUGH_FORKS`] calls both closures
//! in turn, if it knows that this `join` is fine. As soon as one of its forks is stolen, the
//! next `join` forks again.
//!
//! What is not forked cannot be stolen later, so this must not be said of a `join` that is
//! coarse. Hence:
//!
//! * The evidence is time. A worker measures how long [`WINDOW`] joins take, and counts those
//!   only whose first closure has ended. A descent, however fast, is no evidence.
//! * It holds for one place in the program, told by the closure's type: that one recursion is
//!   fine says nothing of another.
//! * It holds until a window takes longer.
//!
//! Correctness does not depend on any of this: a `join` may fork or not.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// Of a balanced recursion, the oldest two forks are three quarters of the work, and each
/// thief has two forks of its own soon. With one more, a tree of depth nine makes 129 forks
/// instead of 45, with two more 255.
pub(crate) const ENOUGH_FORKS: usize = 2;
/// How many joins are measured at once, so that the clock costs next to nothing.
const WINDOW: u32 = 256;
/// A theft costs about five microseconds. Sixteen fine joins together are not worth one.
const FINE: Duration = Duration::from_nanos(5_000 / 16 * WINDOW as u64);

/// What a worker knows of its joins.
#[derive(Debug)]
pub(crate) struct Grain {
    /// The place that is fine, or 0.
    fine: Cell<usize>,
    /// Joins until the window's end.
    left: Cell<u32>,
    began: Cell<Option<Instant>>,
}

impl Grain {
    pub(crate) fn new() -> Self {
        Self {
            fine: Cell::new(0),
            left: Cell::new(WINDOW),
            began: Cell::new(None),
        }
    }

    #[inline(always)]
    pub(crate) fn is_fine(&self, site: usize) -> bool {
        self.fine.get() == site
    }

    /// The first closure of a `join` has ended, and nobody has stolen the second one.
    #[inline(always)]
    pub(crate) fn joined(&self, site: usize) {
        let left = self.left.get() - 1;
        self.left.set(left);
        if left == 0 {
            self.measure(site);
        }
    }

    #[cold]
    #[inline(never)]
    fn measure(&self, site: usize) {
        let now = Instant::now();
        let fine = self.began.get().is_some_and(|began| now - began < FINE);
        self.fine.set(if fine { site } else { 0 });
        self.left.set(WINDOW);
        self.began.set(Some(now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Joins until `site` is known to be fine; a busy machine may need several windows.
    fn until_fine(grain: &Grain, site: usize) {
        let end = Instant::now() + Duration::from_secs(20);
        while !grain.is_fine(site) {
            assert!(Instant::now() < end, "quick joins are fine");
            grain.joined(site);
        }
    }

    #[test]
    fn a_place_is_fine_after_quick_joins_and_no_other_is() {
        let grain = Grain::new();
        assert!(!grain.is_fine(1));
        until_fine(&grain, 1);
        assert!(!grain.is_fine(2));
        until_fine(&grain, 2);
        assert!(!grain.is_fine(1));
    }

    #[test]
    fn a_slow_window_ends_it() {
        let grain = Grain::new();
        until_fine(&grain, 1);
        std::thread::sleep(FINE);
        (0..WINDOW).for_each(|_| grain.joined(1));
        assert!(!grain.is_fine(1));
    }
}
