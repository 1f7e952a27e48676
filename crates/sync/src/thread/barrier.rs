//! `Barrier`: threads wait until enough of them have arrived.
//!
//! # States
//!
//! Arrivals are counted in `rounds.rs`: any number of threads may take turns, and
//! one may be in the next round while others still leave the last.
//!
//! `sleep_word` is the word that threads sleep on. While a thread sleeps it is odd. Making it odd
//! announces a sleeper. A thread that then need not sleep leaves it odd, which costs a wake-up
//! that finds no sleeper. The last thread of a round begins the next one, then looks at
//! `sleep_word`. If that is odd, the thread makes it the next even number and wakes all sleepers.
//!
//! # No wake-up is lost
//!
//! A sleeper makes `sleep_word` odd, then looks at the round again, then sleeps as long
//! as `sleep_word` is that odd number. The last thread changes the round, then looks at
//! `sleep_word`. Both have a fence between the two (Dekker's pattern), so either the
//! sleeper sees the new round, or the last thread sees the odd number. In the
//! second case it changes the number, so that a sleeper that is not asleep yet
//! will not fall asleep, and then wakes those that are. A sleeper of the next
//! round may be woken by that as well; it looks, and sleeps again.
//!
//! # Waiting
//!
//! With at most as many threads as processors the others are running, and the wait consists of
//! short pauses. With more, the threads that have yet to arrive need the processors of those that
//! wait. So a waiting thread yields at once: a round then costs one switch for each thread
//! instead of a sleep and a wake-up.

use blitz_io_core::error_text;
use std::time::{Duration, Instant};

use blitz_io_futex::atomic::{AtomicU32, Ordering};
use blitz_io_futex::{WaitResult, wait_deadline, wake_all};

use super::rounds::{Round, Rounds};
use blitz_io_core::deadline;
use blitz_io_core::fences;
use blitz_io_core::spin::Spin;
use blitz_io_core::{const_unless_loom, debug_is_name};
use blitz_io_observe::{self as observe, Blocking, Caller, Kind, Object, named};

/// A place where threads wait for each other.
///
/// ```
/// use blitz_io::thread::Barrier;
///
/// let barrier = Barrier::new(4);
/// let leaders = std::thread::scope(|scope| {
///     let threads: Vec<_> = (0..4)
///         .map(|_| scope.spawn(|| barrier.wait().is_leader()))
///         .collect();
///     threads.into_iter().filter_map(|t| t.join().ok()).filter(|leads| *leads).count()
/// });
/// assert_eq!(leaders, 1);
/// ```
pub struct Barrier {
    rounds: Rounds,
    sleep_word: AtomicU32,
    object: Object,
    made_at: Caller,
}

/// The result of [`Barrier::wait`].
#[derive(Debug)]
pub struct BarrierWaitResult {
    pub(super) is_leader: bool,
}

impl BarrierWaitResult {
    /// Returns `true` for exactly one thread of a round: the last to arrive.
    #[must_use]
    pub fn is_leader(&self) -> bool {
        self.is_leader
    }
}

impl Barrier {
    const_unless_loom! {
        /// Creates a barrier for `threads` threads. With 0 or 1, no thread ever waits.
        ///
        /// # Panics
        ///
        /// If `threads` exceeds `u32::MAX`.
        #[must_use]
        #[track_caller]
        pub const fn new(threads: usize) -> Self {
            Self {
                rounds: Rounds::new(threads),
                sleep_word: AtomicU32::new(0),
                object: Object::new(),
                made_at: Caller::here(),
            }
        }
    }

    /// Waits until all threads of the round have arrived.
    #[inline]
    #[track_caller]
    pub fn wait(&self) -> BarrierWaitResult {
        self.wait_inner(None).expect("a wait without a deadline")
    }

    /// Waits for the others no longer than `timeout`.
    ///
    /// # Errors
    ///
    /// If the others have not arrived in time. The thread then has not arrived, and the round needs
    /// another one in its place.
    ///
    /// ```
    /// use blitz_io::thread::Barrier;
    /// use std::time::Duration;
    ///
    /// let barrier = Barrier::new(2);
    /// assert!(barrier.wait_timeout(Duration::from_millis(1)).is_err());
    /// ```
    #[track_caller]
    pub fn wait_timeout(&self, timeout: Duration) -> Result<BarrierWaitResult, BarrierTimedOut> {
        self.wait_inner(deadline::after(timeout))
    }

    /// Waits for the others no longer than until `deadline`.
    ///
    /// # Errors
    ///
    /// See [`wait_timeout`](Barrier::wait_timeout).
    #[doc(alias = "wait_until")]
    #[track_caller]
    pub fn wait_deadline(&self, deadline: Instant) -> Result<BarrierWaitResult, BarrierTimedOut> {
        self.wait_inner(Some(deadline))
    }

    #[inline]
    #[track_caller]
    fn wait_inner(&self, deadline: Option<Instant>) -> Result<BarrierWaitResult, BarrierTimedOut> {
        let round = self.arrive();
        let is_leader = round.is_none();
        match round {
            Some(round) if !self.wait_for_next(round, deadline, Caller::here()) => {
                Err(BarrierTimedOut(()))
            }
            _ => Ok(BarrierWaitResult { is_leader }),
        }
    }

    /// Counts the caller in. Its round, or `None` if it was the last one.
    #[inline]
    fn arrive(&self) -> Option<Round> {
        let round = self.rounds.arrive();
        if round.is_none() {
            self.wake_sleepers();
        }
        round
    }

    /// Wakes the threads that sleep, after the round has changed.
    #[inline]
    fn wake_sleepers(&self) {
        fences::after_rmw();
        let sleep_word = self.sleep_word.load(Ordering::SeqCst);
        if sleep_word % 2 == 1 {
            self.wake_all(sleep_word);
        }
    }

    #[cold]
    fn wake_all(&self, sleep_word: u32) {
        let next = sleep_word.wrapping_add(1);
        let changed =
            self.sleep_word
                .compare_exchange(sleep_word, next, Ordering::SeqCst, Ordering::Relaxed);
        // If it fails, the last thread of another round has seen the same
        // sleepers, and wakes them.
        if changed.is_ok() {
            wake_all(&self.sleep_word);
        }
    }

    /// Waits until the round is over. Returns `false` if the deadline came first and the
    /// caller has been taken out of the count.
    fn wait_for_next(&self, round: Round, deadline: Option<Instant>, caller: Caller) -> bool {
        let spin = Spin::EVENT.among(self.rounds.threads());
        if deadline::spin_until(spin, deadline, || self.rounds.is_over(round)) {
            return true;
        }
        self.object.created_at(self.made_at);
        self.object.set_parties(self.rounds.threads());
        let _waits = Blocking::new(
            Kind::ThreadBarrier,
            &self.object,
            caller,
            deadline.is_some(),
        );
        loop {
            let sleep_word = self.sleep_word.fetch_or(1, Ordering::SeqCst) | 1;
            fences::after_rmw();
            if self.rounds.is_over(round) {
                return true;
            }
            let _record = observe::sleeping(&self.sleep_word);
            if wait_deadline(&self.sleep_word, sleep_word, deadline) == WaitResult::TimedOut {
                return !self.rounds.withdraw(round);
            }
        }
    }
}

/// The other threads did not arrive in time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BarrierTimedOut(());

error_text! {
    Display for BarrierTimedOut {
        _ => "the other threads did not arrive at the barrier in time",
    }
}

named!(Barrier: object);

debug_is_name!(impl Barrier);
