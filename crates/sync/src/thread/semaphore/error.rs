//! Why permits could not be had, or given back.

use std::error::Error;
use std::fmt;

/// The semaphore is closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AcquireError(pub(super) ());

/// Why an attempt to take permits failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TryAcquireError {
    /// The semaphore is closed.
    Closed,
    /// There are too few permits, or were until the time was up.
    NoPermits,
}

/// The semaphore cannot hold as many permits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OverRelease(pub(super) ());

impl fmt::Display for AcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("semaphore closed")
    }
}

impl fmt::Display for TryAcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Closed => "semaphore closed",
            Self::NoPermits => "no permits available",
        })
    }
}

impl fmt::Display for OverRelease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("number of added permits would overflow MAX_PERMITS")
    }
}

impl Error for AcquireError {}
impl Error for TryAcquireError {}
impl Error for OverRelease {}
