//! The guards of a writer that keep the lock alive.

use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ptr;
use std::sync::Arc;

use blitz_io_observe::Acquirer;

use super::RwLock;
use super::owned_read::{OwnedRwLockReadGuard, Share};
use crate::task::guards::{guard_maps, guard_of_pointer, guard_reads, guard_writes};

/// The right to use the value of a [`RwLock`], which it keeps alive, alone; unlocks
/// when dropped.
///
/// ```
/// use std::sync::Arc;
/// use blitz_io::sync::RwLock;
///
/// let lock = Arc::new(RwLock::new(1));
/// let mut writer = lock.clone().try_write_owned()?;
/// std::thread::spawn(move || *writer = 2).join().unwrap();
/// assert_eq!(*lock.try_read()?, 2);
/// # Ok::<(), blitz_io::sync::TryLockError>(())
/// ```
#[clippy::has_significant_drop]
#[must_use = "the lock is released at once"]
pub struct OwnedRwLockWriteGuard<T: ?Sized> {
    hold: Whole<T>,
    data: *mut T,
    /// It may drop the value.
    marker: PhantomData<T>,
}

/// An [`OwnedRwLockWriteGuard`] for a part of the value.
///
/// It cannot be downgraded: a part that has been reached through a `&mut` may be
/// one that must not be shared.
#[clippy::has_significant_drop]
#[must_use = "the lock is released at once"]
pub struct OwnedRwLockMappedWriteGuard<T: ?Sized, U: ?Sized = T> {
    hold: Whole<T>,
    data: *mut U,
    /// It may drop the value.
    marker: PhantomData<T>,
}

/// A writer's hold on a lock.
pub(super) struct Whole<T: ?Sized>(Arc<RwLock<T>>);

// SAFETY: it gives exclusive access to the value and may drop it, can become a
// reader's, and any thread may unlock.
unsafe impl<T: ?Sized + Send + Sync> Send for OwnedRwLockWriteGuard<T> {}
// SAFETY: a shared guard gives shared access to the value, and no more.
unsafe impl<T: ?Sized + Send + Sync> Sync for OwnedRwLockWriteGuard<T> {}
// SAFETY: it gives exclusive access to the part, may drop the whole, and any
// thread may unlock.
unsafe impl<T, U> Send for OwnedRwLockMappedWriteGuard<T, U>
where
    T: ?Sized + Send + Sync,
    U: ?Sized + Send + Sync,
{
}
// SAFETY: a shared guard gives shared access to the part, and no more.
unsafe impl<T, U> Sync for OwnedRwLockMappedWriteGuard<T, U>
where
    T: ?Sized + Send + Sync,
    U: ?Sized + Send + Sync,
{
}

impl<T: ?Sized> Whole<T> {
    /// Lets readers in.
    fn keep_one(self) -> Share<T> {
        let this = ManuallyDrop::new(self);
        // SAFETY: it is read once, since `this` is never dropped.
        let share = Share(unsafe { ptr::read(&this.0) });
        share.0.permits.observed.object.released();
        share.0.permits.observed.object.acquired_shared_movable();
        let others = share.0.max_readers as usize - 1;
        if others > 0 {
            share.0.permits.give_back(others);
        }
        share
    }
}

impl<T: ?Sized> Drop for Whole<T> {
    #[inline]
    fn drop(&mut self) {
        self.0.permits.observed.object.released();
        self.0.permits.give_back(self.0.max_readers as usize);
    }
}

impl<T: ?Sized> OwnedRwLockWriteGuard<T> {
    #[inline]
    pub(super) fn of(lock: Arc<RwLock<T>>, by: Acquirer) -> Self {
        lock.permits.observed.object.acquired_movable_by(by);
        let data = lock.value.get();
        Self::new(Whole(lock), data)
    }

    /// Turns this guard into a mapped guard with the same right.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use blitz_io::sync::{OwnedRwLockWriteGuard, RwLock};
    ///
    /// let lock = Arc::new(RwLock::new(1));
    /// *OwnedRwLockWriteGuard::into_mapped(lock.clone().try_write_owned()?) = 2;
    /// assert_eq!(*lock.try_read()?, 2);
    /// # Ok::<(), blitz_io::sync::TryLockError>(())
    /// ```
    #[inline]
    pub fn into_mapped(this: Self) -> OwnedRwLockMappedWriteGuard<T> {
        Self::map(this, |value| value)
    }

    /// Becomes a reader. No writer comes in between.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use blitz_io::sync::RwLock;
    ///
    /// let lock = Arc::new(RwLock::new(1));
    /// let reader = lock.clone().try_write_owned()?.downgrade();
    /// assert_eq!(*reader + *lock.try_read()?, 2);
    /// # Ok::<(), blitz_io::sync::TryLockError>(())
    /// ```
    pub fn downgrade(self) -> OwnedRwLockReadGuard<T> {
        OwnedRwLockReadGuard::new(self.hold.keep_one(), self.data)
    }

    /// Returns the lock.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use blitz_io::sync::{OwnedRwLockWriteGuard, RwLock};
    ///
    /// let lock = Arc::new(RwLock::new(1));
    /// let writer = lock.clone().try_write_owned()?;
    /// assert!(Arc::ptr_eq(OwnedRwLockWriteGuard::rwlock(&writer), &lock));
    /// # Ok::<(), blitz_io::sync::TryLockError>(())
    /// ```
    pub fn rwlock(this: &Self) -> &Arc<RwLock<T>> {
        &this.hold.0
    }
}

impl<T: ?Sized, U: ?Sized> OwnedRwLockMappedWriteGuard<T, U> {
    /// Returns the lock.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use blitz_io::sync::{OwnedRwLockMappedWriteGuard, OwnedRwLockWriteGuard, RwLock};
    ///
    /// let lock = Arc::new(RwLock::new(1));
    /// let writer = OwnedRwLockWriteGuard::into_mapped(lock.clone().try_write_owned()?);
    /// assert!(Arc::ptr_eq(OwnedRwLockMappedWriteGuard::rwlock(&writer), &lock));
    /// # Ok::<(), blitz_io::sync::TryLockError>(())
    /// ```
    pub fn rwlock(this: &Self) -> &Arc<RwLock<T>> {
        &this.hold.0
    }
}

guard_maps! {
    [T: ?Sized] OwnedRwLockWriteGuard<T> => OwnedRwLockMappedWriteGuard<T, V>, |this: &mut T| this.hold;

    /// Makes a guard for a part of the value.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use blitz_io::sync::{OwnedRwLockWriteGuard, RwLock};
    ///
    /// let lock = Arc::new(RwLock::new((1, 2)));
    /// let writer = lock.clone().try_write_owned()?;
    /// *OwnedRwLockWriteGuard::map(writer, |pair| &mut pair.1) = 3;
    /// assert_eq!(*lock.try_read()?, (1, 3));
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
    /// use blitz_io::sync::{OwnedRwLockWriteGuard, RwLock};
    ///
    /// let writer = Arc::new(RwLock::new(vec![1])).try_write_owned()?;
    /// assert!(OwnedRwLockWriteGuard::try_map(writer, |list| list.get_mut(5)).is_err());
    /// # Ok::<(), blitz_io::sync::TryLockError>(())
    /// ```
    try_map;
}

guard_maps! {
    [T: ?Sized] OwnedRwLockWriteGuard<T> => OwnedRwLockReadGuard<T, V>, |this: &T| this.hold.keep_one();

    /// Becomes a reader of a part of the value. No writer comes in between.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use blitz_io::sync::{OwnedRwLockWriteGuard, RwLock};
    ///
    /// let lock = Arc::new(RwLock::new((1, 2)));
    /// let writer = lock.clone().try_write_owned()?;
    /// let second = OwnedRwLockWriteGuard::downgrade_map(writer, |pair| &pair.1);
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
    /// use std::sync::Arc;
    /// use blitz_io::sync::{OwnedRwLockWriteGuard, RwLock};
    ///
    /// let writer = Arc::new(RwLock::new(vec![1])).try_write_owned()?;
    /// assert!(OwnedRwLockWriteGuard::try_downgrade_map(writer, |list| list.get(5)).is_err());
    /// # Ok::<(), blitz_io::sync::TryLockError>(())
    /// ```
    try_downgrade_map;
}

guard_maps! {
    [T: ?Sized, U: ?Sized] OwnedRwLockMappedWriteGuard<T, U> => OwnedRwLockMappedWriteGuard<T, V>, |this: &mut U| this.hold;

    /// Makes a guard for a part of the part.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use blitz_io::sync::{OwnedRwLockMappedWriteGuard, OwnedRwLockWriteGuard, RwLock};
    ///
    /// let writer = Arc::new(RwLock::new(((1, 2), 3))).try_write_owned()?;
    /// let pair = OwnedRwLockWriteGuard::map(writer, |all| &mut all.0);
    /// assert_eq!(*OwnedRwLockMappedWriteGuard::map(pair, |pair| &mut pair.1), 2);
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
    /// use std::sync::Arc;
    /// use blitz_io::sync::{OwnedRwLockMappedWriteGuard, OwnedRwLockWriteGuard, RwLock};
    ///
    /// let writer = Arc::new(RwLock::new((vec![1], 2))).try_write_owned()?;
    /// let list = OwnedRwLockWriteGuard::map(writer, |pair| &mut pair.0);
    /// assert!(OwnedRwLockMappedWriteGuard::try_map(list, |list| list.get_mut(5)).is_err());
    /// # Ok::<(), blitz_io::sync::TryLockError>(())
    /// ```
    try_map;
}

guard_of_pointer!([T: ?Sized] OwnedRwLockWriteGuard<T>: Whole<T>, *mut T);
guard_of_pointer!([T: ?Sized, U: ?Sized] OwnedRwLockMappedWriteGuard<T, U>: Whole<T>, *mut U);
