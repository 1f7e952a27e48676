//! The errors of timers.

use blitz_io_core::error_text;
use std::io;

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

error_text! {
    Display for Error {
        Self(Kind::Shutdown) => {
            "the timer is shutdown, must be called from the context of Tokio runtime"
        },
        Self(Kind::AtCapacity) => "timer is at capacity and cannot create a new entry",
        Self(Kind::Invalid) => "timer duration exceeds maximum duration",
    }
}

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

error_text! {
    Display for Elapsed {
        _ => "deadline has elapsed",
    }
}

impl From<Elapsed> for io::Error {
    fn from(_: Elapsed) -> Self {
        io::ErrorKind::TimedOut.into()
    }
}
