//! A look at the value.

use std::fmt;
use std::ops::Deref;
use std::panic::{RefUnwindSafe, UnwindSafe};

use super::lock::ReadGuard;

/// Shared access to the value of a channel.
///
/// While it exists, no sender can send. So keep it for a short time only, and not
/// across an `.await`. A thread that has one should not ask for another: it would
/// wait behind a sender that waits for the first.
///
/// ```
/// use blitz_io::sync::watch;
///
/// let (tx, rx) = watch::channel(String::from("hello"));
/// assert_eq!(rx.borrow().len(), 5);
/// assert!(!tx.borrow().is_empty());
/// ```
pub struct Ref<'a, T> {
    inner: ReadGuard<'a, T>,
    has_changed: bool,
}

impl<T: RefUnwindSafe> UnwindSafe for Ref<'_, T> {}
impl<T: RefUnwindSafe> RefUnwindSafe for Ref<'_, T> {}

impl<'a, T> Ref<'a, T> {
    #[inline]
    pub(super) fn new(inner: ReadGuard<'a, T>, has_changed: bool) -> Self {
        Self { inner, has_changed }
    }

    /// Returns whether the receiver had not seen this value before. Always `false` for a sender's
    /// reference.
    ///
    /// ```
    /// use blitz_io::sync::watch;
    ///
    /// let (tx, mut rx) = watch::channel(1);
    /// assert!(!rx.borrow().has_changed());
    /// tx.send(2).unwrap();
    /// assert!(rx.borrow().has_changed());
    /// assert!(rx.borrow_and_update().has_changed());
    /// assert!(!rx.borrow().has_changed());
    /// ```
    pub fn has_changed(&self) -> bool {
        self.has_changed
    }
}

impl<T> Deref for Ref<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T: fmt::Debug> fmt::Debug for Ref<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ref")
            .field("inner", &&*self.inner)
            .field("has_changed", &self.has_changed)
            .finish()
    }
}
