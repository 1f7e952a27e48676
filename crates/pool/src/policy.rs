//! When a worker forks, which forks it steals, and how long it looks for work before it sleeps.
//!
//! Correctness does not depend on any of this: a `join` may fork or not, a fork may be stolen or
//! not, and [`sleep`](crate::sleep) keeps every sleep safe.
//!
//! # Fine recursions
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

use std::cell::Cell;
use std::thread;
use std::time::{Duration, Instant};

use blitz_io_core::awake::awake;
use blitz_io_core::pause::pause;
use blitz_io_core::processors;
use blitz_io_futex::atomic::AtomicUsize;
use blitz_io_futex::atomic::Ordering::Relaxed;

use crate::deque::Sight;

/// The number of stealable forks that suffices. In a balanced recursion, the oldest two are
/// three quarters of the work, and each thief soon has two forks of its own. With one more, a
/// tree of depth nine makes 129 forks instead of 45, with two more 255.
pub(crate) const ENOUGH_FORKS: usize = 2;
/// Number of joins that are measured together, so that reading the clock costs next to nothing.
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

/// A theft costs thief and victim about this much together: the fence on the victim's
/// processor, the job's memory, and the hand-over of its result. A job that takes less time
/// is not worth stealing; most forks of a fine recursion take less.
const WORTH_STEALING: Duration = Duration::from_micros(5);

/// The age of each victim's oldest fork: the time for which it has been the same one.
#[derive(Debug)]
pub(crate) struct Ages {
    seen: Box<[Option<(Sight, Instant)>]>,
    now: Instant,
    next: Instant,
    /// `true` if any worker has forked since the last look.
    active: bool,
}

impl Ages {
    pub(crate) fn new(workers: usize) -> Self {
        let now = Instant::now();
        Self {
            seen: vec![None; workers].into(),
            now,
            next: now,
            active: false,
        }
    }

    /// Returns `true` if there were new forks since the last call, even if none was worth
    /// stealing. If a worker slept then, their owners would soon have to wake it.
    pub(crate) fn were_new(&mut self) -> bool {
        std::mem::take(&mut self.active)
    }

    /// Returns whether to look at the victims now. Looking more often would take from them
    /// the cache lines that they write with every fork.
    pub(crate) fn is_time(&mut self) -> bool {
        self.now = Instant::now();
        if self.now < self.next {
            return false;
        }
        self.next = self.now + WORTH_STEALING / 2;
        true
    }

    /// Returns `true` if the oldest fork of `victim` is old enough to be stolen.
    pub(crate) fn is_old(&mut self, victim: usize, sight: Option<Sight>) -> bool {
        let Some(sight) = sight else {
            self.seen[victim] = None;
            return false;
        };
        match self.seen[victim] {
            Some((before, since)) if before == sight => self.now - since >= WORTH_STEALING,
            _ => {
                self.seen[victim] = Some((sight, self.now));
                self.active = true;
                false
            }
        }
    }
}

/// How a pool's workers wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Spin {
    /// A worker looks for work for about as long as its last wait took, if that was short,
    /// and for at most half a millisecond. Then it sleeps.
    #[default]
    Adaptive,
    /// A worker without work sleeps at once.
    Never,
}

/// A sleep and its wake-up cost about this much, so a shorter wait is not worth a sleep.
const SHORTEST: Duration = Duration::from_micros(10);
/// A worker sleeps through waits that are longer than this.
const LONGEST: Duration = Duration::from_micros(500);
/// A yield that took this long gave the processor to other work.
const LONG_YIELD: Duration = Duration::from_micros(30);
/// Number of looks between two yields.
const LOOKS_A_YIELD: u32 = 32;

/// A loop that takes longer than this gets more workers than there are free processors. It
/// is much longer than most loops take, and less than a time slice of most systems.
pub(crate) const LATE: Duration = Duration::from_millis(1);

/// Returns the number of processors that no awake worker of a runtime uses.
pub(crate) fn free_processors() -> usize {
    processors().saturating_sub(awake())
}

/// Returns the number of workers that a loop can use at first, in addition to its caller. The caller
/// is one of the awake workers if there are any; otherwise it takes a processor of its own.
pub(crate) fn helpers() -> usize {
    processors().saturating_sub(awake().max(1))
}

/// The time that one worker spins.
#[derive(Debug)]
pub(crate) struct Patience {
    policy: Spin,
    began: Option<Instant>,
    limit: Duration,
    looks: u32,
}

impl Patience {
    pub(crate) fn new(policy: Spin) -> Self {
        Self {
            policy,
            began: None,
            limit: LONGEST,
            looks: 0,
        }
    }

    /// Starts a wait.
    pub(crate) fn begin(&mut self) {
        self.began = None;
        self.looks = 0;
    }

    /// Restarts the clock: there are signs that the wait will soon be over.
    pub(crate) fn extend(&mut self) {
        self.began = None;
    }

    /// Ends the wait. The next one is expected to take as long.
    pub(crate) fn found(&mut self) {
        let waited = self.began.map_or(Duration::ZERO, |began| began.elapsed());
        self.limit = match waited {
            long if long > LONGEST => SHORTEST,
            short => (2 * short).clamp(SHORTEST, LONGEST),
        };
    }

    /// Pauses for a moment. Returns whether to look again; if not, the worker should sleep.
    pub(crate) fn spin(&mut self) -> bool {
        if self.policy == Spin::Never {
            self.began.get_or_insert_with(Instant::now);
            return false;
        }
        let Some(began) = self.began else {
            self.began = Some(Instant::now());
            return true;
        };
        self.looks += 1;
        if self.looks % LOOKS_A_YIELD != 0 && processors() > 1 {
            pause(4);
            return true;
        }
        let before = Instant::now();
        if before - began >= self.limit || free_processors() == 0 {
            return false;
        }
        thread::yield_now();
        before.elapsed() < LONG_YIELD
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Joins until `grain` has found `site` to be fine. A busy machine may need several windows.
    fn until_fine(grain: &Grain, site: usize, fine: &FineSite) {
        while !fine.is(site) {
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
