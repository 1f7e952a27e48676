//! A number that a lock guards.

use std::sync::Arc;

use loom::cell::UnsafeCell;

/// A number that a lock guards, and that loom watches for unsynchronised access.
pub struct Counter<L> {
    /// The lock.
    pub lock: L,
    value: UnsafeCell<u32>,
}

// SAFETY: the callers of `add` and `get` keep each other out by the lock, which loom checks.
unsafe impl<L: Sync> Sync for Counter<L> {}
// SAFETY: a number may go anywhere.
unsafe impl<L: Send> Send for Counter<L> {}

impl<L> Counter<L> {
    /// Creates a counter at zero.
    pub fn of(lock: L) -> Arc<Self> {
        let value = UnsafeCell::new(0);
        Arc::new(Self { lock, value })
    }

    /// Adds one. The caller has the lock.
    pub fn add(&self) {
        // SAFETY: the caller has the lock, which loom checks.
        self.value.with_mut(|value| unsafe { *value += 1 });
    }

    /// Returns the number. The caller has the lock, or the other threads have ended.
    pub fn get(&self) -> u32 {
        // SAFETY: no other thread uses it now, which loom checks.
        self.value.with(|value| unsafe { *value })
    }
}
