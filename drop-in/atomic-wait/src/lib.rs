//! The futex of `blitz-io-futex` under the name of atomic-wait 1.
//!
//! More than there: every system that Rust's standard library supports, as `blitz-io-futex` has a table of locks
//! for those without a futex.

use std::sync::atomic::AtomicU32;

use blitz_io_futex as futex;

/// Blocks the thread while the word holds `value`, until it is woken. It may return without a wake: check the
/// condition in a loop.
///
/// ```
/// use std::sync::atomic::AtomicU32;
///
/// // It holds another value, so this returns at once.
/// atomic_wait::wait(&AtomicU32::new(1), 0);
/// ```
#[inline]
pub fn wait(atomic: &AtomicU32, value: u32) {
    futex::wait(atomic, value);
}

/// Wakes one thread that waits for the word, if there is one. The word is not read: it may have been freed,
/// and the pointer may be null.
///
/// ```
/// use std::sync::atomic::AtomicU32;
///
/// atomic_wait::wake_one(&AtomicU32::new(0));
/// ```
#[inline]
pub fn wake_one(atomic: *const AtomicU32) {
    futex::wake_one(atomic);
}

/// Wakes all threads that wait for the word. The word is not read: it may have been freed,
/// and the pointer may be null.
///
/// ```
/// use std::sync::atomic::AtomicU32;
///
/// atomic_wait::wake_all(&AtomicU32::new(0));
/// ```
#[inline]
pub fn wake_all(atomic: *const AtomicU32) {
    futex::wake_all(atomic);
}
