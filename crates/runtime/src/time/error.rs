//! The errors of timers.

use std::{error, fmt, io};

/// An error of a timer.
///
/// No function of this crate returns it: a timer whose runtime has ended panics.
/// It exists for code that names it.
#[derive(Debug, Copy, Clone)]
pub struct Error(Kind);

#[derive(Debug, Clone, Copy, Eq, PartialEq)]
enum Kind {
    Shutdown,
    AtCapacity,
    Invalid,
}

impl Error {
    /// Creates the error of a timer whose runtime has ended.
    ///
    /// ```
    /// let error = blitz_io::time::error::Error::shutdown();
    /// assert!(error.is_shutdown());
    /// ```
    #[must_use]
    pub fn shutdown() -> Self {
        Self(Kind::Shutdown)
    }

    /// Returns whether the timer's runtime has ended.
    #[must_use]
    pub fn is_shutdown(&self) -> bool {
        self.0 == Kind::Shutdown
    }

    /// Creates the error for too many timers.
    #[must_use]
    pub fn at_capacity() -> Self {
        Self(Kind::AtCapacity)
    }

    /// Returns whether there are too many timers.
    #[must_use]
    pub fn is_at_capacity(&self) -> bool {
        self.0 == Kind::AtCapacity
    }

    /// Creates the error for a deadline that is too far away.
    #[must_use]
    pub fn invalid() -> Self {
        Self(Kind::Invalid)
    }

    /// Returns whether the deadline is too far away.
    #[must_use]
    pub fn is_invalid(&self) -> bool {
        self.0 == Kind::Invalid
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Kind::Shutdown => {
                "the timer is shutdown, must be called from the context of Tokio runtime"
            }
            Kind::AtCapacity => "timer is at capacity and cannot create a new entry",
            Kind::Invalid => "timer duration exceeds maximum duration",
        })
    }
}

impl error::Error for Error {}

/// The error of a [`Timeout`](super::Timeout) whose time was up before its future was
/// ready.
///
/// # Examples
///
/// ```
/// use std::io;
/// use blitz_io::{runtime::Runtime, time};
///
/// let result = Runtime::new().unwrap().block_on(async {
///     time::timeout(time::Duration::from_millis(1), std::future::pending::<()>()).await
/// });
/// let elapsed = result.unwrap_err();
/// assert_eq!(elapsed.to_string(), "deadline has elapsed");
/// assert_eq!(io::Error::from(elapsed).kind(), io::ErrorKind::TimedOut);
/// ```
#[derive(Debug, PartialEq, Eq)]
pub struct Elapsed(());

impl Elapsed {
    pub(super) fn new() -> Self {
        Self(())
    }
}

impl fmt::Display for Elapsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt("deadline has elapsed", f)
    }
}

impl error::Error for Elapsed {}

impl From<Elapsed> for io::Error {
    fn from(_: Elapsed) -> Self {
        io::ErrorKind::TimedOut.into()
    }
}
