//! A value that one call at a time may use.

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{BLITZ_EBUSY, Outcome};

/// A value that one call at a time may use. A second call at the same time is a mistake of the
/// caller, and gets an error instead of undefined behaviour.
pub(crate) struct Exclusive<T> {
    is_busy: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: `is_busy` gives the value to one user at a time.
unsafe impl<T: Send> Sync for Exclusive<T> {}

impl<T> Exclusive<T> {
    pub(crate) fn new(value: T) -> Self {
        Self {
            is_busy: AtomicBool::new(false),
            value: UnsafeCell::new(value),
        }
    }

    /// The value, until the result is dropped.
    #[inline]
    pub(crate) fn enter(&self) -> Outcome<Entered<'_, T>> {
        if self.is_busy.swap(true, Ordering::Acquire) {
            return Err(BLITZ_EBUSY);
        }
        Ok(Entered(self))
    }
}

/// The right to use the value.
pub(crate) struct Entered<'a, T>(&'a Exclusive<T>);

impl<T> Deref for Entered<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: this call set `is_busy`, so no other has the value.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for Entered<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this call set `is_busy`, so no other has the value.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for Entered<'_, T> {
    fn drop(&mut self) {
        self.0.is_busy.store(false, Ordering::Release);
    }
}
