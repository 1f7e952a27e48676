//! `Observed`: the field with which a primitive of a program's own has a name and a holder in reports.

use std::time::Instant;

use blitz_io_futex::WaitResult;
use blitz_io_futex::atomic::{AtomicU32, Ordering};
use blitz_io_observe::{Caller, IS_ENABLED, Kind, OwnPrimitive, sleeping};

/// A field for a primitive of your own, which then has a name and a holder in `blitz why`.
///
/// Without it, a report of `blitz why` has the address of a word, and finds no cycle through it. With it, your lock is
/// treated as [`thread::Mutex`](crate::thread::Mutex) is. A deadlock of two of them is *certain*. `blitz lint` finds
/// two orders in which they are taken.
///
/// # Use
///
/// 1. Give the primitive a field, made by [`lock`](Self::lock) if it has one holder, else by
///    [`event`](Self::event).
/// 2. Sleep with [`wait`](Self::wait) instead of [`futex::wait`](crate::futex::wait()).
/// 3. A lock calls [`acquired`](Self::acquired) after it has been taken, and [`released`](Self::released) before it is freed.
///
/// Write `#[track_caller]` at your methods: the report then has the lines that call them. Wakes need nothing.
///
/// ```
/// use blitz_io::futex::atomic::{AtomicU32, Ordering};
/// use blitz_io::futex::{Observed, wake_one};
///
/// /// 0: free, 1: held, 2: held, and threads may sleep.
/// struct SmallLock {
///     state: AtomicU32,
///     observed: Observed,
/// }
///
/// impl SmallLock {
///     #[track_caller] // the line of `SmallLock::new` tells the locks apart
///     const fn new() -> Self {
///         Self { state: AtomicU32::new(0), observed: Observed::lock() }
///     }
///
///     #[track_caller]
///     fn lock(&self) {
///         let free = self.state.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed);
///         if free.is_err() {
///             while self.state.swap(2, Ordering::Acquire) != 0 {
///                 self.observed.wait(&self.state, 2);
///             }
///         }
///         self.observed.acquired();
///     }
///
///     fn unlock(&self) {
///         self.observed.released();
///         if self.state.swap(0, Ordering::Release) == 2 {
///             wake_one(&self.state);
///         }
///     }
/// }
///
/// static LOCK: SmallLock = SmallLock::new();
/// LOCK.lock();
/// LOCK.unlock();
/// ```
///
/// # Cost
///
/// Without the feature `inspect` the type is empty and its methods do nothing but call the futex. With it, the field has
/// five words, an acquisition costs a few stores and a release one, and a sleep has a record.
#[derive(Debug)]
pub struct Observed(OwnPrimitive);

impl Observed {
    /// Creates the field of a lock, which has one holder: `lock created at src/main.rs:12`, with the
    /// caller's line.
    #[must_use]
    #[track_caller]
    pub const fn lock() -> Self {
        Self(OwnPrimitive::new(Kind::OwnLock, Caller::here()))
    }

    /// Creates the field of a primitive that has no holder: an event, a count, a barrier. A report has its waits, and
    /// does not know who ends them.
    #[must_use]
    #[track_caller]
    pub const fn event() -> Self {
        Self(OwnPrimitive::new(Kind::OwnEvent, Caller::here()))
    }

    /// Gives the primitive a name: `lock "accounts"`. With `inspect`, each primitive that is used has a few bytes for its
    /// name until the process ends.
    ///
    /// ```
    /// use blitz_io::futex::Observed;
    ///
    /// static ACCOUNTS: Observed = Observed::lock().named("accounts");
    /// ACCOUNTS.acquired();
    /// ACCOUNTS.released();
    /// ```
    #[must_use]
    pub const fn named(mut self, name: &'static str) -> Self {
        self.0.set_name(name);
        self
    }

    /// Sleeps while `word` holds `expected`, as [`futex::wait`](crate::futex::wait()) does; may return spuriously.
    ///
    /// ```
    /// use blitz_io::futex::{Observed, atomic::AtomicU32};
    ///
    /// Observed::event().wait(&AtomicU32::new(1), 0);
    /// ```
    #[track_caller]
    pub fn wait(&self, word: &AtomicU32, expected: u32) {
        self.wait_deadline(word, expected, None);
    }

    /// Sleeps while `word` holds `expected`, until `deadline`, as
    /// [`futex::wait_deadline`](crate::futex::wait_deadline()) does.
    ///
    /// ```
    /// use std::time::Instant;
    ///
    /// use blitz_io::futex::{Observed, WaitResult, atomic::AtomicU32};
    ///
    /// let result = Observed::event().wait_deadline(&AtomicU32::new(1), 1, Instant::now());
    /// assert_eq!(result, WaitResult::TimedOut);
    /// ```
    #[track_caller]
    pub fn wait_deadline(
        &self,
        word: &AtomicU32,
        expected: u32,
        deadline: impl Into<Option<Instant>>,
    ) -> WaitResult {
        // A wait that does not sleep makes no record.
        if IS_ENABLED && word.load(Ordering::Relaxed) != expected {
            return WaitResult::ValueChanged;
        }
        let deadline = deadline.into();
        let _waits = self.0.block(Caller::here(), deadline.is_some());
        let _record = sleeping(word);
        blitz_io_futex::wait_deadline(word, expected, deadline)
    }

    /// Tells reports that the current thread or task has the lock. Call it after the lock was taken.
    ///
    /// Reports trust that this thread or task, and no other one, releases the lock. If its guard may be sent to
    /// another one, call [`acquired_movable`](Self::acquired_movable).
    #[inline]
    #[track_caller]
    pub fn acquired(&self) {
        self.0.acquired(Caller::here());
    }

    /// Does the same as [`acquired`](Self::acquired) for a lock that another thread or task may release. A deadlock is
    /// then *probable*.
    #[inline]
    #[track_caller]
    pub fn acquired_movable(&self) {
        self.0.acquired_movable(Caller::here());
    }

    /// Tells reports that the lock is free. Call it before the lock is released: afterwards, the next holder may have
    /// been noted.
    #[inline]
    pub fn released(&self) {
        self.0.released();
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{RefUnwindSafe, UnwindSafe};

    use super::*;

    #[test]
    fn it_costs_nothing_without_records() {
        let words = if IS_ENABLED { 5 } else { 0 };
        let is_simulated = blitz_io_observe::decisions::IS_DECIDED;
        assert!(is_simulated || size_of::<Observed>() == words * size_of::<usize>());
        assert!(IS_ENABLED || is_simulated || !std::mem::needs_drop::<Observed>());
    }

    /// A primitive must not lose these traits by the field.
    #[test]
    fn a_primitive_with_it_goes_everywhere() {
        fn goes_everywhere<T: Send + Sync + UnwindSafe + RefUnwindSafe + Unpin>() {}
        goes_everywhere::<Observed>();
    }

    #[test]
    fn a_word_that_differs_ends_the_wait_at_once() {
        let (observed, word) = (Observed::lock().named("lock"), AtomicU32::new(1));
        observed.wait(&word, 0);
        let result = observed.wait_deadline(&word, 0, None);
        assert_eq!(result, WaitResult::ValueChanged);
        let timed_out = observed.wait_deadline(&word, 1, Instant::now());
        assert_eq!(timed_out, WaitResult::TimedOut);
    }
}
