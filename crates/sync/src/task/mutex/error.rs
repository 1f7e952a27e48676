//! Why a lock could not be had at once.

use blitz_io_core::error_text;

/// The lock is held, or waited for.
#[derive(Debug)]
pub struct TryLockError(pub(in crate::task) ());

error_text! {
    Display for TryLockError {
        _ => "operation would block",
    }
}
