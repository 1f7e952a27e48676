//! Why permits could not be had.

use std::error::Error;
use std::fmt;

/// The semaphore is closed.
#[derive(Debug)]
pub struct AcquireError(());

/// Why an attempt to take permits failed.
#[derive(PartialEq, Eq, Debug)]
pub enum TryAcquireError {
    /// The semaphore is closed.
    Closed,
    /// There are too few permits, or others wait for them.
    NoPermits,
}

impl AcquireError {
    pub(super) fn closed() -> Self {
        Self(())
    }
}

impl fmt::Display for AcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "semaphore closed")
    }
}

impl fmt::Display for TryAcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => write!(f, "semaphore closed"),
            Self::NoPermits => write!(f, "no permits available"),
        }
    }
}

impl Error for AcquireError {}
impl Error for TryAcquireError {}
