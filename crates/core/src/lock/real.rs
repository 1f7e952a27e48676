//! The lock of a program.

use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::panic::{RefUnwindSafe, UnwindSafe};

use crate::backoff::Backoff;
use crate::debug_is_name;
use crate::exclusive::{Exclusive, HELD};

/// A lock and the data it guards; see the module documentation.
#[derive(Default)]
pub struct Lock<T = ()> {
    raw: Exclusive,
    value: UnsafeCell<T>,
}

/// Releases a [`Lock`] when it is dropped.
#[must_use = "a lock whose guard is dropped is free again"]
pub struct LockGuard<'a, T> {
    lock: &'a Lock<T>,
    /// A guard stays on its thread.
    _not_send: PhantomData<*mut ()>,
}

// SAFETY: a lock moves its value from thread to thread, and only one thread has it at any moment.
unsafe impl<T: Send> Send for Lock<T> {}
// SAFETY: only the one owner of `raw` reaches the value.
unsafe impl<T: Send> Sync for Lock<T> {}
// SAFETY: a shared guard gives shared access to the value.
unsafe impl<T: Sync> Sync for LockGuard<'_, T> {}

// Our code does not panic while it changes the value. For user code see the module documentation.
impl<T> UnwindSafe for Lock<T> {}
impl<T> RefUnwindSafe for Lock<T> {}

impl<T> Lock<T> {
    /// Creates an unlocked lock.
    pub const fn new(value: T) -> Self {
        Self {
            raw: Exclusive::new(),
            value: UnsafeCell::new(value),
        }
    }

    /// Acquires the lock, blocking until it is free.
    #[inline]
    pub fn lock(&self) -> LockGuard<'_, T> {
        self.raw.lock(HELD);
        self.guard()
    }

    /// Acquires the lock if it is free.
    #[inline]
    pub fn try_lock(&self) -> Option<LockGuard<'_, T>> {
        self.raw.try_lock(HELD).then(|| self.guard())
    }

    /// Acquires a busy lock. A thread that finds it taken backs off before it joins the
    /// waiters, unless the lock already has waiters.
    #[inline(always)]
    pub fn lock_with_backoff(&self) -> LockGuard<'_, T> {
        self.try_lock().unwrap_or_else(|| self.back_off())
    }

    /// Returns the value. No other thread has the lock.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    /// Consumes the lock and returns the value.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }

    #[inline]
    fn guard(&self) -> LockGuard<'_, T> {
        LockGuard {
            lock: self,
            _not_send: PhantomData,
        }
    }

    #[cold]
    fn back_off(&self) -> LockGuard<'_, T> {
        let mut backoff = Backoff::new();
        while !backoff.is_completed() && !self.raw.is_awaited() {
            backoff.snooze();
            if !self.raw.is_held() {
                if let Some(guard) = self.try_lock() {
                    return guard;
                }
            }
        }
        self.lock()
    }
}

impl<T> Deref for LockGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard is the only one of a lock that it holds.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for LockGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard is the only one of a lock that it holds, and is borrowed mutably.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for LockGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.lock.raw.unlock();
    }
}

impl<T: fmt::Debug> fmt::Debug for LockGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

debug_is_name!(impl<T> Lock<T>);
