//! `Instant`: a moment on a clock that tests can pause.

use std::fmt;
use std::ops::{Add, AddAssign, Sub, SubAssign};
use std::time::Duration;

use super::clock;

/// A moment on a clock that never goes backwards.
///
/// It is [`std::time::Instant`], except that [`now`](Self::now) does not change while the
/// runtime's clock is [paused](super::pause).
///
/// # Examples
///
/// ```
/// use blitz_io::time::{Duration, Instant};
///
/// let start = Instant::now();
/// assert!(start + Duration::from_secs(1) > start);
/// ```
#[derive(Clone, Copy, Eq, PartialEq, PartialOrd, Ord, Hash)]
pub struct Instant {
    std: std::time::Instant,
}

impl Instant {
    /// Returns the current moment.
    ///
    /// ```
    /// use blitz_io::time::Instant;
    ///
    /// let before = Instant::now();
    /// assert!(Instant::now() >= before);
    /// ```
    #[inline]
    #[must_use]
    pub fn now() -> Self {
        Self::from_std(clock::now())
    }

    /// Converts from the standard library's type.
    #[inline]
    #[must_use]
    pub fn from_std(std: std::time::Instant) -> Self {
        Self { std }
    }

    /// Converts to the standard library's type.
    ///
    /// ```
    /// use blitz_io::time::Instant;
    ///
    /// let now = Instant::now();
    /// assert_eq!(Instant::from_std(now.into_std()), now);
    /// ```
    #[inline]
    #[must_use]
    pub fn into_std(self) -> std::time::Instant {
        self.std
    }

    /// Returns the time from `earlier` until this moment; zero if `earlier` is later.
    ///
    /// ```
    /// use blitz_io::time::{Duration, Instant};
    ///
    /// let start = Instant::now();
    /// let end = start + Duration::from_secs(1);
    /// assert_eq!(end.duration_since(start), Duration::from_secs(1));
    /// assert_eq!(start.duration_since(end), Duration::ZERO);
    /// ```
    #[must_use]
    pub fn duration_since(&self, earlier: Self) -> Duration {
        self.std.saturating_duration_since(earlier.std)
    }

    /// Returns the time from `earlier` until this moment; `None` if `earlier` is later.
    ///
    /// ```
    /// use blitz_io::time::{Duration, Instant};
    ///
    /// let start = Instant::now();
    /// let end = start + Duration::from_secs(1);
    /// assert_eq!(end.checked_duration_since(start), Some(Duration::from_secs(1)));
    /// assert_eq!(start.checked_duration_since(end), None);
    /// ```
    #[must_use]
    pub fn checked_duration_since(&self, earlier: Self) -> Option<Duration> {
        self.std.checked_duration_since(earlier.std)
    }

    /// Returns the time from `earlier` until this moment; zero if `earlier` is later.
    #[must_use]
    pub fn saturating_duration_since(&self, earlier: Self) -> Duration {
        self.std.saturating_duration_since(earlier.std)
    }

    /// Returns the time since this moment; zero if it is in the future.
    ///
    /// ```
    /// use blitz_io::{runtime::Builder, time};
    ///
    /// let runtime = Builder::new_current_thread().enable_time().start_paused(true).build()?;
    /// runtime.block_on(async {
    ///     let start = time::Instant::now();
    ///     time::advance(time::Duration::from_secs(5)).await;
    ///     assert_eq!(start.elapsed(), time::Duration::from_secs(5));
    /// });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        Self::now().saturating_duration_since(*self)
    }

    /// Returns the moment `duration` after this one; `None` if it cannot be represented.
    ///
    /// ```
    /// use blitz_io::time::{Duration, Instant};
    ///
    /// let now = Instant::now();
    /// assert!(now.checked_add(Duration::from_secs(1)).is_some());
    /// assert!(now.checked_add(Duration::MAX).is_none());
    /// ```
    #[must_use]
    pub fn checked_add(&self, duration: Duration) -> Option<Self> {
        self.std.checked_add(duration).map(Self::from_std)
    }

    /// Returns the moment `duration` before this one; `None` if it cannot be represented.
    #[must_use]
    pub fn checked_sub(&self, duration: Duration) -> Option<Self> {
        self.std.checked_sub(duration).map(Self::from_std)
    }
}

impl From<std::time::Instant> for Instant {
    fn from(time: std::time::Instant) -> Self {
        Self::from_std(time)
    }
}

impl From<Instant> for std::time::Instant {
    fn from(time: Instant) -> Self {
        time.into_std()
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    #[inline]
    fn add(self, duration: Duration) -> Self {
        Self::from_std(self.std + duration)
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, duration: Duration) {
        *self = *self + duration;
    }
}

impl Sub for Instant {
    type Output = Duration;

    fn sub(self, earlier: Self) -> Duration {
        self.std.saturating_duration_since(earlier.std)
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;

    fn sub(self, duration: Duration) -> Self {
        Self::from_std(self.std - duration)
    }
}

impl SubAssign<Duration> for Instant {
    fn sub_assign(&mut self, duration: Duration) {
        *self = *self - duration;
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.std.fmt(f)
    }
}
