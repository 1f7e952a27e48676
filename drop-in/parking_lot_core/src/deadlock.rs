//! Deadlock detection, with the interface of parking_lot_core 0.9.
//!
//! Without the feature `deadlock_detection` nothing is written down. With it, a lock says which
//! resources its thread holds, `watched.rs` knows what each parked thread waits for, and
//! `check_deadlock` finds cycles. A thread of a reported cycle stays parked for ever.

#[cfg(feature = "deadlock_detection")]
pub use crate::watched::{DeadlockedThread, check_deadlock};

/// Writes down that the calling thread holds the resource `key`.
///
/// # Safety
///
/// The thread has acquired the resource.
#[inline]
pub unsafe fn acquire_resource(key: usize) {
    #[cfg(feature = "deadlock_detection")]
    crate::watched::acquire(key);
    #[cfg(not(feature = "deadlock_detection"))]
    let _ = key;
}

/// Writes down that the calling thread no longer holds the resource `key`.
///
/// # Safety
///
/// The thread is about to release the resource.
#[inline]
pub unsafe fn release_resource(key: usize) {
    #[cfg(feature = "deadlock_detection")]
    crate::watched::release(key);
    #[cfg(not(feature = "deadlock_detection"))]
    let _ = key;
}
