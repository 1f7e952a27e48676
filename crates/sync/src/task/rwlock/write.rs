//! The guards of a writer that borrow the lock.

use std::marker::PhantomData;

use super::RwLockReadGuard;
use crate::task::guards::{guard_maps, guard_of_pointer, guard_reads, guard_writes};
use crate::task::permits::All;

/// The right to use the value of a [`RwLock`](super::RwLock) alone; unlocks when
/// dropped.
///
/// ```
/// use blitz_io::sync::RwLock;
///
/// let lock = RwLock::new(1);
/// *lock.try_write()? += 1;
/// assert_eq!(lock.into_inner(), 2);
/// # Ok::<(), blitz_io::sync::TryLockError>(())
/// ```
#[clippy::has_significant_drop]
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    hold: All<'a>,
    data: *mut T,
    /// It acts as an exclusive borrow.
    marker: PhantomData<&'a mut T>,
}

/// A [`RwLockWriteGuard`] for a part of the value.
///
/// It cannot be downgraded: a part that has been reached through a `&mut` may be
/// one that must not be shared.
#[clippy::has_significant_drop]
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct RwLockMappedWriteGuard<'a, T: ?Sized> {
    hold: All<'a>,
    data: *mut T,
    /// It acts as an exclusive borrow.
    marker: PhantomData<&'a mut T>,
}

// SAFETY: it acts as an exclusive borrow of the value, can become a shared one, and any thread
// may unlock.
unsafe impl<T: ?Sized + Send + Sync> Send for RwLockWriteGuard<'_, T> {}
// SAFETY: a shared guard gives shared access to the value, and no more.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLockWriteGuard<'_, T> {}
// SAFETY: it acts as an exclusive borrow of the part, and any thread may unlock.
unsafe impl<T: ?Sized + Send + Sync> Send for RwLockMappedWriteGuard<'_, T> {}
// SAFETY: a shared guard gives shared access to the part, and no more.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLockMappedWriteGuard<'_, T> {}

impl<'a, T: ?Sized> RwLockWriteGuard<'a, T> {
    /// Turns this guard into a mapped guard with the same right.
    ///
    /// ```
    /// use blitz_io::sync::{RwLock, RwLockWriteGuard};
    ///
    /// let lock = RwLock::new(1);
    /// *RwLockWriteGuard::into_mapped(lock.try_write()?) = 2;
    /// assert_eq!(lock.into_inner(), 2);
    /// # Ok::<(), blitz_io::sync::TryLockError>(())
    /// ```
    #[inline]
    pub fn into_mapped(this: Self) -> RwLockMappedWriteGuard<'a, T> {
        Self::map(this, |value| value)
    }

    /// Becomes a reader. No writer comes in between.
    ///
    /// ```
    /// use blitz_io::sync::RwLock;
    ///
    /// let lock = RwLock::new(1);
    /// let mut writer = lock.try_write()?;
    /// *writer = 2;
    /// let reader = writer.downgrade();
    /// assert_eq!(*reader + *lock.try_read()?, 4);
    /// # Ok::<(), blitz_io::sync::TryLockError>(())
    /// ```
    pub fn downgrade(self) -> RwLockReadGuard<'a, T> {
        RwLockReadGuard::new(self.hold.keep_one(), self.data)
    }
}

guard_maps! {
    ['a, T: ?Sized] RwLockWriteGuard<'a, T> => RwLockMappedWriteGuard<'a, V>, |this: &mut T| this.hold;

    /// Makes a guard for a part of the value.
    ///
    /// ```
    /// use blitz_io::sync::{RwLock, RwLockWriteGuard};
    ///
    /// let lock = RwLock::new((1, 2));
    /// *RwLockWriteGuard::map(lock.try_write()?, |pair| &mut pair.1) = 3;
    /// assert_eq!(lock.into_inner(), (1, 3));
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
    /// use blitz_io::sync::{RwLock, RwLockWriteGuard};
    ///
    /// let lock = RwLock::new(vec![1]);
    /// let writer = lock.try_write()?;
    /// let writer = RwLockWriteGuard::try_map(writer, |list| list.get_mut(5)).unwrap_err();
    /// assert_eq!(*writer, [1]);
    /// # Ok::<(), blitz_io::sync::TryLockError>(())
    /// ```
    try_map;
}

guard_maps! {
    ['a, T: ?Sized] RwLockWriteGuard<'a, T> => RwLockReadGuard<'a, V>, |this: &T| this.hold.keep_one();

    /// Becomes a reader of a part of the value. No writer comes in between.
    ///
    /// ```
    /// use blitz_io::sync::{RwLock, RwLockWriteGuard};
    ///
    /// let lock = RwLock::new((1, 2));
    /// let second = RwLockWriteGuard::downgrade_map(lock.try_write()?, |pair| &pair.1);
    /// assert!(lock.try_read().is_ok());
    /// assert_eq!(*second, 2);
    /// # Ok::<(), blitz_io::sync::TryLockError>(())
    /// ```
    downgrade_map<F, V>;

    /// Becomes a reader of a part of the value, if there is that part.
    ///
    /// # Errors
    ///
    /// If there is not. The guard comes back, and is still that of a writer.
    ///
    /// ```
    /// use blitz_io::sync::{RwLock, RwLockWriteGuard};
    ///
    /// let lock = RwLock::new(vec![1]);
    /// let writer = lock.try_write()?;
    /// let writer = RwLockWriteGuard::try_downgrade_map(writer, |list| list.get(5)).unwrap_err();
    /// assert!(lock.try_read().is_err());
    /// # drop(writer);
    /// # Ok::<(), blitz_io::sync::TryLockError>(())
    /// ```
    try_downgrade_map;
}

guard_maps! {
    ['a, T: ?Sized] RwLockMappedWriteGuard<'a, T> => RwLockMappedWriteGuard<'a, V>, |this: &mut T| this.hold;

    /// Makes a guard for a part of the part.
    ///
    /// ```
    /// use blitz_io::sync::{RwLock, RwLockMappedWriteGuard, RwLockWriteGuard};
    ///
    /// let lock = RwLock::new(((1, 2), 3));
    /// let pair = RwLockWriteGuard::map(lock.try_write()?, |all| &mut all.0);
    /// *RwLockMappedWriteGuard::map(pair, |pair| &mut pair.1) = 5;
    /// assert_eq!(lock.into_inner(), ((1, 5), 3));
    /// # Ok::<(), blitz_io::sync::TryLockError>(())
    /// ```
    map<F, V>;

    /// Makes a guard for a part of the part, if there is that part.
    ///
    /// # Errors
    ///
    /// If there is not. The guard comes back.
    ///
    /// ```
    /// use blitz_io::sync::{RwLock, RwLockMappedWriteGuard, RwLockWriteGuard};
    ///
    /// let lock = RwLock::new((vec![1], 2));
    /// let list = RwLockWriteGuard::map(lock.try_write()?, |pair| &mut pair.0);
    /// assert!(RwLockMappedWriteGuard::try_map(list, |list| list.get_mut(5)).is_err());
    /// # Ok::<(), blitz_io::sync::TryLockError>(())
    /// ```
    try_map;
}

guard_of_pointer!(['a, T: ?Sized] RwLockWriteGuard<'a, T>: All<'a>, *mut T);
guard_of_pointer!(['a, T: ?Sized] RwLockMappedWriteGuard<'a, T>: All<'a>, *mut T);
