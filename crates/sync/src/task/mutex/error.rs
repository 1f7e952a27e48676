//! Why a lock could not be had at once.

use std::error::Error;
use std::fmt;

/// The lock is held, or waited for.
#[derive(Debug)]
pub struct TryLockError(pub(in crate::task) ());

impl fmt::Display for TryLockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "operation would block")
    }
}

impl Error for TryLockError {}
