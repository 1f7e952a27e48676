//! The guard of a reader that keeps the lock alive.

use std::marker::PhantomData;
use std::sync::Arc;

use super::RwLock;
use crate::task::guards::{guard_maps, guard_of_pointer, guard_reads};

/// The right to read the value, or a part of it, of a [`RwLock`] that it keeps
/// alive; unlocks when dropped.
///
/// ```
/// use std::sync::Arc;
/// use blitz_io::sync::RwLock;
///
/// let reader = Arc::new(RwLock::new(1)).try_read_owned()?;
/// std::thread::spawn(move || assert_eq!(*reader, 1)).join().unwrap();
/// # Ok::<(), blitz_io::sync::TryLockError>(())
/// ```
#[clippy::has_significant_drop]
#[must_use = "the lock is released at once"]
pub struct OwnedRwLockReadGuard<T: ?Sized, U: ?Sized = T> {
    hold: Share<T>,
    data: *const U,
    /// It may drop the value.
    marker: PhantomData<T>,
}

/// A reader's hold on a lock: one permit has been taken.
pub(super) struct Share<T: ?Sized>(pub(super) Arc<RwLock<T>>);

// SAFETY: it gives shared access to the part, may drop the whole, and any thread
// may unlock.
unsafe impl<T: ?Sized + Send + Sync, U: ?Sized + Sync> Send for OwnedRwLockReadGuard<T, U> {}
// SAFETY: a shared guard gives shared access to the part, and no more.
unsafe impl<T: ?Sized + Send + Sync, U: ?Sized + Send + Sync> Sync for OwnedRwLockReadGuard<T, U> {}

impl<T: ?Sized> Drop for Share<T> {
    #[inline]
    fn drop(&mut self) {
        self.0.permits.observed.object.released_shared();
        self.0.permits.give_back(1);
    }
}

impl<T: ?Sized> OwnedRwLockReadGuard<T> {
    #[inline]
    pub(super) fn of(lock: Arc<RwLock<T>>) -> Self {
        lock.permits.observed.object.acquired_shared_movable();
        let data = lock.value.get();
        Self::new(Share(lock), data)
    }
}

impl<T: ?Sized, U: ?Sized> OwnedRwLockReadGuard<T, U> {
    /// Returns the lock.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use blitz_io::sync::{OwnedRwLockReadGuard, RwLock};
    ///
    /// let lock = Arc::new(RwLock::new(1));
    /// let reader = lock.clone().try_read_owned()?;
    /// assert!(Arc::ptr_eq(OwnedRwLockReadGuard::rwlock(&reader), &lock));
    /// # Ok::<(), blitz_io::sync::TryLockError>(())
    /// ```
    pub fn rwlock(this: &Self) -> &Arc<RwLock<T>> {
        &this.hold.0
    }
}

guard_maps! {
    [T: ?Sized, U: ?Sized] OwnedRwLockReadGuard<T, U> => OwnedRwLockReadGuard<T, V>, |this: &U| this.hold;

    /// Makes a guard for a part of the value.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use blitz_io::sync::{OwnedRwLockReadGuard, RwLock};
    ///
    /// let reader = Arc::new(RwLock::new((1, 2))).try_read_owned()?;
    /// assert_eq!(*OwnedRwLockReadGuard::map(reader, |pair| &pair.1), 2);
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
    /// use std::sync::Arc;
    /// use blitz_io::sync::{OwnedRwLockReadGuard, RwLock};
    ///
    /// let reader = Arc::new(RwLock::new(vec![1])).try_read_owned()?;
    /// assert!(OwnedRwLockReadGuard::try_map(reader, |list| list.get(5)).is_err());
    /// # Ok::<(), blitz_io::sync::TryLockError>(())
    /// ```
    try_map;
}

guard_of_pointer!([T: ?Sized, U: ?Sized] OwnedRwLockReadGuard<T, U>: Share<T>, *const U);
