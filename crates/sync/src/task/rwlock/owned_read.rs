//! The guard of a reader that keeps the lock alive.

use std::marker::PhantomData;
use std::sync::Arc;

use super::RwLock;
use crate::task::guard_traits::guard_reads;

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
        self.0.permits.give_back(1);
    }
}

impl<T: ?Sized> OwnedRwLockReadGuard<T> {
    #[inline]
    pub(super) fn new(lock: Arc<RwLock<T>>) -> Self {
        let data: *const T = lock.value.get();
        Self::of(Share(lock), data)
    }
}

impl<T: ?Sized, U: ?Sized> OwnedRwLockReadGuard<T, U> {
    #[inline]
    pub(super) fn of(hold: Share<T>, data: *const U) -> Self {
        Self {
            hold,
            data,
            marker: PhantomData,
        }
    }

    #[inline]
    fn pointer(&self) -> *const U {
        self.data
    }

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
    #[inline]
    pub fn map<F, V: ?Sized>(this: Self, f: F) -> OwnedRwLockReadGuard<T, V>
    where
        F: FnOnce(&U) -> &V,
    {
        let data: *const V = f(&*this);
        OwnedRwLockReadGuard::of(this.hold, data)
    }

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
    #[inline]
    pub fn try_map<F, V: ?Sized>(this: Self, f: F) -> Result<OwnedRwLockReadGuard<T, V>, Self>
    where
        F: FnOnce(&U) -> Option<&V>,
    {
        match f(&*this) {
            Some(data) => {
                let data: *const V = data;
                Ok(OwnedRwLockReadGuard::of(this.hold, data))
            }
            None => Err(this),
        }
    }

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

guard_reads!([T: ?Sized, U: ?Sized] OwnedRwLockReadGuard<T, U> => U);
