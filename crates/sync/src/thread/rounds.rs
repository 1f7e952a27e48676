//! Counting threads into rounds: the common part of the barriers.
//!
//! One word holds the *round* and how many threads have *arrived* in it. One compare-and-swap
//! either adds an arrival or, for the thread that is the last one of the round, begins the next
//! round without arrivals. So a thread that arrives while others are still leaving counts for the
//! next round, and any number of threads may take turns.
//!
//! A thread waits until the word names another round than its own. Rounds are 32
//! bits: a thread would have to be stopped for four billion rounds, which others
//! complete in the meantime, to take a later one for its own.

use blitz_io_futex::atomic::{AtomicU64, Ordering};

use blitz_io_core::const_unless_loom;

const ONE_ROUND: u64 = 1 << 32;
const ARRIVED: u64 = ONE_ROUND - 1;

pub(super) struct Rounds {
    state: AtomicU64,
    threads: u32,
}

/// A round, by the part of the word that names it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Round(u64);

impl Rounds {
    const_unless_loom! {
        /// Rounds of `threads` threads each. With 0 or 1 every thread is the last.
        #[track_caller]
        pub(super) const fn new(threads: usize) -> Self {
            assert!(threads as u64 <= u32::MAX as u64, "a barrier for too many threads");
            Self {
                state: AtomicU64::new(0),
                threads: if threads == 0 { 1 } else { threads as u32 },
            }
        }
    }

    /// Returns the number of threads of a round.
    pub(super) fn threads(&self) -> usize {
        self.threads as usize
    }

    /// Counts the caller in. Its round, or `None` if it has ended it.
    #[inline]
    pub(super) fn arrive(&self) -> Option<Round> {
        let is_last = |state| state & ARRIVED == u64::from(self.threads) - 1;
        let next = |state: u64| {
            Some(if is_last(state) {
                (state & !ARRIVED).wrapping_add(ONE_ROUND)
            } else {
                state + 1
            })
        };
        let arrived = (self.state).fetch_update(Ordering::SeqCst, Ordering::Relaxed, next);
        let (Ok(state) | Err(state)) = arrived;
        (!is_last(state)).then_some(Round(state & !ARRIVED))
    }

    /// Returns `true` if all threads of the round have arrived.
    #[inline]
    pub(super) fn is_over(&self, round: Round) -> bool {
        self.state.load(Ordering::SeqCst) & !ARRIVED != round.0
    }

    /// Takes the caller out of the count. Returns `false` if the round is over.
    pub(super) fn withdraw(&self, round: Round) -> bool {
        let one_less = |state: u64| (state & !ARRIVED == round.0).then(|| state - 1);
        self.state
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less)
            .is_ok()
    }
}
