//! The lock of the models of code above it.

use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::{PoisonError, TryLockError};

/// A lock and the data it guards; see the module documentation.
#[derive(Debug, Default)]
pub struct Lock<T = ()>(loom::sync::Mutex<T>);

/// Releases a [`Lock`] when it is dropped.
pub type LockGuard<'a, T> = loom::sync::MutexGuard<'a, T>;

impl<T> UnwindSafe for Lock<T> {}
impl<T> RefUnwindSafe for Lock<T> {}

impl<T> Lock<T> {
    /// Creates an unlocked lock.
    pub fn new(value: T) -> Self {
        Self(loom::sync::Mutex::new(value))
    }

    /// Acquires the lock, blocking until it is free.
    pub fn lock(&self) -> LockGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Acquires the lock if it is free.
    pub fn try_lock(&self) -> Option<LockGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(error)) => Some(error.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Acquires the lock.
    pub fn lock_with_backoff(&self) -> LockGuard<'_, T> {
        self.lock()
    }

    /// Returns the value. No other thread has the lock.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    /// Consumes the lock and returns the value.
    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}
