//! `SpinBarrier`: a barrier that never sleeps. Arrivals are counted in `rounds.rs`; there are no
//! sleepers to wake.

use super::barrier::BarrierWaitResult;
use super::rounds::Rounds;
use blitz_io_core::backoff;
use blitz_io_core::{const_unless_loom, debug_is_name};

/// A barrier whose threads spin until the others have arrived.
///
/// It is for threads that do the same amount of work on processors of their own,
/// and need no more than a microsecond of each other. It never enters the
/// system, except that with more threads than processors the waiting ones yield,
/// since the others could not arrive otherwise. A thread that waits long keeps a
/// processor busy for nothing: use [`Barrier`](super::Barrier) then, which is as
/// fast in the short term and sleeps in the long. As its threads run, `blitz why` lists no wait for it.
///
/// ```
/// use blitz_io::thread::SpinBarrier;
///
/// let barrier = SpinBarrier::new(2);
/// std::thread::scope(|scope| {
///     scope.spawn(|| barrier.wait());
///     barrier.wait();
/// });
/// ```
pub struct SpinBarrier {
    rounds: Rounds,
}

impl SpinBarrier {
    const_unless_loom! {
        /// Creates a barrier for `threads` threads. With 0 or 1, no thread ever waits.
        ///
        /// # Panics
        ///
        /// If `threads` exceeds `u32::MAX`.
        #[must_use]
        #[track_caller]
        pub const fn new(threads: usize) -> Self {
            Self { rounds: Rounds::new(threads) }
        }
    }

    /// Waits until all threads of the round have arrived.
    #[inline]
    pub fn wait(&self) -> BarrierWaitResult {
        let round = self.rounds.arrive();
        if let Some(round) = round {
            while !self.rounds.is_over(round) {
                backoff::relax(self.rounds.threads());
            }
        }
        BarrierWaitResult {
            is_leader: round.is_none(),
        }
    }
}

debug_is_name!(impl SpinBarrier);
