//! A value that only one call may use at the same time.

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{BLITZ_EBUSY, Outcome};
use crate::protocol::biased_flag::{BiasedFlag, Inside};

/// A flag that is set while a call uses a value.
pub(crate) trait Busy {
    /// The token that a call gets from `enter` and gives to `leave`.
    type Inside: Copy;

    fn new() -> Self;
    /// Enters, or returns `None` while another call is inside.
    fn enter(&self) -> Option<Self::Inside>;
    fn leave(&self, inside: Self::Inside);
}

impl Busy for AtomicBool {
    type Inside = ();

    fn new() -> Self {
        Self::new(false)
    }

    #[inline]
    fn enter(&self) -> Option<()> {
        (!self.swap(true, Ordering::Acquire)).then_some(())
    }

    #[inline]
    fn leave(&self, (): ()) {
        self.store(false, Ordering::Release);
    }
}

impl Busy for BiasedFlag {
    type Inside = Inside;

    fn new() -> Self {
        Self::new()
    }

    #[inline]
    fn enter(&self) -> Option<Inside> {
        self.enter()
    }

    #[inline]
    fn leave(&self, inside: Inside) {
        self.leave(inside);
    }
}

/// A value that only one call may use. A second call at the same time is a mistake of the caller, and
/// gets an error instead of undefined behaviour.
pub(crate) struct Exclusive<T, B = AtomicBool> {
    busy: B,
    value: UnsafeCell<T>,
}

/// An [`Exclusive`] value that one thread uses most of the time.
pub(crate) type Biased<T> = Exclusive<T, BiasedFlag>;

// SAFETY: `busy` gives the value to only one user at the same time.
unsafe impl<T: Send, B: Busy + Sync> Sync for Exclusive<T, B> {}

impl<T, B: Busy> Exclusive<T, B> {
    pub(crate) fn new(value: T) -> Self {
        Self {
            busy: B::new(),
            value: UnsafeCell::new(value),
        }
    }

    /// Returns a guard of the value, or `BLITZ_EBUSY` while another call has one.
    #[inline]
    pub(crate) fn enter(&self) -> Outcome<Entered<'_, T, B>> {
        let inside = self.busy.enter().ok_or(BLITZ_EBUSY)?;
        Ok(Entered { of: self, inside })
    }
}

/// The right to use the value.
pub(crate) struct Entered<'a, T, B: Busy = AtomicBool> {
    of: &'a Exclusive<T, B>,
    inside: B::Inside,
}

impl<T, B: Busy> Deref for Entered<'_, T, B> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: this call has entered, so no other has the value.
        unsafe { &*self.of.value.get() }
    }
}

impl<T, B: Busy> DerefMut for Entered<'_, T, B> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this call has entered, so no other has the value.
        unsafe { &mut *self.of.value.get() }
    }
}

impl<T, B: Busy> Drop for Entered<'_, T, B> {
    fn drop(&mut self) {
        self.of.busy.leave(self.inside);
    }
}
