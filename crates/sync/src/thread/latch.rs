//! Waits until an event has happened a given number of times.
//!
//! A checked count over [`Countdown`], whose file tells why no wake-up is lost,
//! and why the thread that was released may free the latch.

use super::countdown::{self, Countdown};
use blitz_io_core::deadline;
use blitz_io_core::error_text;
use blitz_io_core::{const_unless_loom, debug_fields};
use blitz_io_observe::Kind;
use blitz_io_observe::named;
use std::time::{Duration, Instant};

/// A count that goes down, once, and releases all threads that wait when it reaches zero.
///
/// This is `std::latch` of C++20 and the `CountDownLatch` of Java. Unlike a barrier it cannot be
/// used again, and the threads that count down need not be the threads that wait. Every thread
/// that has waited sees the work of a thread before its count-down.
///
/// Counting down below zero is a mistake of the program. It is refused before
/// anything has changed: by a panic, or by an error from
/// [`try_count_down_n`](Latch::try_count_down_n).
///
/// A latch is four bytes large and allocates nothing. A count-down that is not the last one, or
/// that no thread sleeps for, does not enter the kernel.
///
/// # Examples
///
/// ```
/// use blitz_io::thread::Latch;
///
/// let ready = Latch::new(3);
/// std::thread::scope(|s| {
///     for _ in 0..3 {
///         s.spawn(|| ready.count_down());
///     }
///     ready.wait();
///     assert_eq!(ready.count(), 0);
/// });
/// ```
pub struct Latch {
    countdown: Countdown,
}

impl Latch {
    /// The largest count a latch can start from: 2³¹ − 1.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::thread::Latch;
    ///
    /// assert_eq!(Latch::new(Latch::MAX_COUNT).count(), Latch::MAX_COUNT);
    /// ```
    pub const MAX_COUNT: usize = countdown::MAX as usize;

    const_unless_loom! {
        /// Creates a latch that opens after `count` count-downs. With a count of
        /// zero it is open from the start.
        ///
        /// # Panics
        ///
        /// When `count` is above [`MAX_COUNT`](Latch::MAX_COUNT).
        ///
        /// # Examples
        ///
        /// ```
        /// use blitz_io::thread::Latch;
        ///
        /// static STARTED: Latch = Latch::new(8);
        /// assert!(!STARTED.is_released());
        /// ```
        #[inline]
        #[must_use]
        #[track_caller]
        pub const fn new(count: usize) -> Self {
            assert!(count <= Self::MAX_COUNT, "a latch can not count that far");
            Self { countdown: Countdown::new(count as u32) }
        }
    }

    /// Returns how many count-downs are still missing.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::thread::Latch;
    ///
    /// let latch = Latch::new(3);
    /// latch.count_down();
    /// assert_eq!(latch.count(), 2);
    /// ```
    #[inline]
    #[must_use]
    pub fn count(&self) -> usize {
        self.countdown.count() as usize
    }

    /// Counts down by one, and releases the waiters if that makes zero. Never
    /// waits.
    ///
    /// # Panics
    ///
    /// When the count is zero already. The latch stays as it is.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::thread::Latch;
    ///
    /// let latch = Latch::new(1);
    /// latch.count_down();
    /// assert!(latch.is_released());
    /// ```
    #[inline]
    #[track_caller]
    pub fn count_down(&self) {
        self.count_down_n(1);
    }

    /// Counts down by `n` at once, and releases the waiters if that makes zero.
    /// Never waits. With an `n` of zero, nothing happens.
    ///
    /// # Panics
    ///
    /// When the count is less than `n`. The latch stays as it is.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::thread::Latch;
    ///
    /// let latch = Latch::new(5);
    /// latch.count_down_n(3);
    /// assert_eq!(latch.count(), 2);
    /// ```
    #[inline]
    #[track_caller]
    pub fn count_down_n(&self, n: usize) {
        if let Err(error) = self.try_count_down_n(n) {
            panic!("{error}");
        }
    }

    /// Counts down by `n` at once, like [`count_down_n`](Latch::count_down_n).
    ///
    /// # Errors
    ///
    /// When the count is less than `n`. The latch stays as it is.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::thread::Latch;
    ///
    /// let latch = Latch::new(2);
    /// assert_eq!(latch.try_count_down_n(3).unwrap_err().count(), 2);
    /// assert_eq!(latch.count(), 2);
    /// assert!(latch.try_count_down_n(2).is_ok());
    /// ```
    #[inline]
    pub fn try_count_down_n(&self, n: usize) -> Result<(), CountDownError> {
        // A number that does not fit into 32 bits is above every count.
        let refused = |count: u32| CountDownError {
            wanted: n,
            count: count as usize,
        };
        match u32::try_from(n) {
            Ok(n) => self.countdown.subtract(n).map_err(refused),
            Err(_) => Err(refused(self.countdown.count())),
        }
    }

    /// Returns whether the count has reached zero. If so, the work before each count-down is
    /// visible here. Never waits.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::thread::Latch;
    ///
    /// assert!(Latch::new(0).is_released());
    /// ```
    #[inline]
    #[must_use]
    pub fn is_released(&self) -> bool {
        self.countdown.is_zero()
    }

    /// Returns whether a [`wait`](Latch::wait) would return at once: the name that
    /// [`is_released`](Latch::is_released) has in C++.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::thread::Latch;
    ///
    /// assert!(!Latch::new(1).try_wait());
    /// ```
    #[inline]
    #[must_use]
    pub fn try_wait(&self) -> bool {
        self.is_released()
    }

    /// Waits until the count is zero.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::thread::Latch;
    ///
    /// let latch = Latch::new(1);
    /// std::thread::scope(|s| {
    ///     s.spawn(|| latch.wait());
    ///     latch.count_down();
    /// });
    /// ```
    #[inline]
    #[track_caller]
    pub fn wait(&self) {
        self.countdown.wait(None, Kind::ThreadLatch);
    }

    /// Waits until the count is zero, for no longer than `timeout`. Returns
    /// whether it is.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::thread::Latch;
    /// use std::time::Duration;
    ///
    /// assert!(!Latch::new(1).wait_timeout(Duration::from_millis(1)));
    /// ```
    #[inline]
    #[track_caller]
    #[must_use = "the time may be up with the latch closed"]
    pub fn wait_timeout(&self, timeout: Duration) -> bool {
        self.is_released()
            || self
                .countdown
                .wait(deadline::after(timeout), Kind::ThreadLatch)
    }

    /// Waits until the count is zero, for no longer than until `deadline`.
    /// Returns whether it is.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::thread::Latch;
    /// use std::time::Instant;
    ///
    /// assert!(Latch::new(0).wait_deadline(Instant::now()));
    /// ```
    #[inline]
    #[track_caller]
    #[must_use = "the time may be up with the latch closed"]
    #[doc(alias = "wait_until")]
    pub fn wait_deadline(&self, deadline: Instant) -> bool {
        self.countdown.wait(Some(deadline), Kind::ThreadLatch)
    }

    /// Counts down by one and waits for the others.
    ///
    /// # Panics
    ///
    /// When the count is zero already. The latch stays as it is.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::thread::Latch;
    ///
    /// let start = Latch::new(2);
    /// std::thread::scope(|s| {
    ///     s.spawn(|| start.arrive_and_wait());
    ///     start.arrive_and_wait();
    /// });
    /// ```
    #[inline]
    #[track_caller]
    pub fn arrive_and_wait(&self) {
        self.count_down();
        self.wait();
    }
}

named!(Latch: countdown.object);

debug_fields!(impl Latch, |this| { count: this.count() });

/// A [`Latch`] was to count down below zero.
///
/// # Examples
///
/// ```
/// use blitz_io::thread::Latch;
///
/// let error = Latch::new(2).try_count_down_n(3).unwrap_err();
/// assert_eq!(error.to_string(), "a latch can not count down by 3: its count is 2");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CountDownError {
    wanted: usize,
    count: usize,
}

impl CountDownError {
    /// Returns the count, which has not changed.
    ///
    /// # Examples
    ///
    /// ```
    /// use blitz_io::thread::Latch;
    ///
    /// assert_eq!(Latch::new(0).try_count_down_n(1).unwrap_err().count(), 0);
    /// ```
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }
}

error_text! {
    Display for CountDownError {
        Self { wanted, count } => format_args!(
            "a latch can not count down by {wanted}: its count is {count}"
        ),
    }
}
