//! The guard of a reader that borrows the lock.

use std::marker::PhantomData;

use crate::task::guards::{guard_maps, guard_of_pointer, guard_reads};
use crate::task::permits::One;

/// The right to read the value of a [`RwLock`](super::RwLock), or a part of it;
/// unlocks when dropped.
///
/// ```
/// use blitz_io::sync::RwLock;
///
/// let lock = RwLock::new(1);
/// let reader = lock.try_read()?;
/// assert_eq!(*reader, 1);
/// # Ok::<(), blitz_io::sync::TryLockError>(())
/// ```
#[clippy::has_significant_drop]
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct RwLockReadGuard<'a, T: ?Sized> {
    hold: One<'a>,
    data: *const T,
    /// It acts as a borrow.
    marker: PhantomData<&'a T>,
}

// SAFETY: it acts as a shared borrow of the value, and any thread may unlock.
unsafe impl<T: ?Sized + Sync> Send for RwLockReadGuard<'_, T> {}
// SAFETY: a shared guard gives shared access to the value, and no more.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLockReadGuard<'_, T> {}

guard_maps! {
    ['a, T: ?Sized] RwLockReadGuard<'a, T> => RwLockReadGuard<'a, V>, |this: &T| this.hold;

    /// Makes a guard for a part of the value.
    ///
    /// ```
    /// use blitz_io::sync::{RwLock, RwLockReadGuard};
    ///
    /// let lock = RwLock::new((1, 2));
    /// let second = RwLockReadGuard::map(lock.try_read()?, |pair| &pair.1);
    /// assert_eq!(*second, 2);
    /// # Ok::<(), blitz_io::sync::TryLockError>(())
    /// ```
    map<F, V>;

    /// Makes a guard for a part of the value, if there is that part.
    ///
    /// # Errors
    ///
    /// If there is not. The guard comes back.
    ///
    /// ```
    /// use blitz_io::sync::{RwLock, RwLockReadGuard};
    ///
    /// let lock = RwLock::new(vec![1]);
    /// let reader = RwLockReadGuard::try_map(lock.try_read()?, |list| list.get(5)).unwrap_err();
    /// assert_eq!(*reader, [1]);
    /// # Ok::<(), blitz_io::sync::TryLockError>(())
    /// ```
    try_map;
}

guard_of_pointer!(['a, T: ?Sized] RwLockReadGuard<'a, T>: One<'a>, *const T);
