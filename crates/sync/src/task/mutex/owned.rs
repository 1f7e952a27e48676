//! Guards that keep the mutex alive.

use std::marker::PhantomData;
use std::sync::Arc;

use blitz_io_observe::Acquirer;

use super::Mutex;
use crate::task::guards::{guard_maps, guard_of_pointer, guard_reads, guard_writes};

/// The right to use the value of a [`Mutex`] that it keeps alive; unlocks when
/// dropped.
///
/// ```
/// use std::sync::Arc;
/// use blitz_io::sync::Mutex;
///
/// let mutex = Arc::new(Mutex::new(1));
/// let guard = mutex.clone().try_lock_owned()?;
/// std::thread::spawn(move || assert_eq!(*guard, 1)).join().unwrap();
/// # Ok::<(), blitz_io::sync::TryLockError>(())
/// ```
#[clippy::has_significant_drop]
#[must_use = "the mutex is unlocked at once"]
pub struct OwnedMutexGuard<T: ?Sized> {
    hold: Hold<T>,
}

/// An [`OwnedMutexGuard`] for a part of the value.
#[clippy::has_significant_drop]
#[must_use = "if unused the Mutex will immediately unlock"]
pub struct OwnedMappedMutexGuard<T: ?Sized, U: ?Sized = T> {
    hold: Hold<T>,
    data: *mut U,
    /// It may drop the value, and does not contain it.
    marker: PhantomData<Arc<T>>,
}

/// The lock itself.
pub(super) struct Hold<T: ?Sized>(Arc<Mutex<T>>);

// SAFETY: a shared guard gives shared access to the value, and no more.
unsafe impl<T: ?Sized + Send + Sync> Sync for OwnedMutexGuard<T> {}
// SAFETY: a shared guard gives shared access to the part, and no more.
unsafe impl<T: ?Sized + Send + Sync, U: ?Sized + Send + Sync> Sync for OwnedMappedMutexGuard<T, U> {}
// SAFETY: it gives exclusive access to the part, may drop the whole, and any
// thread may unlock.
unsafe impl<T: ?Sized + Send, U: ?Sized + Send> Send for OwnedMappedMutexGuard<T, U> {}

impl<T: ?Sized> Drop for Hold<T> {
    #[inline]
    fn drop(&mut self) {
        self.0.permits.observed.object.released();
        self.0.permits.give_back(1);
    }
}

impl<T: ?Sized> OwnedMutexGuard<T> {
    #[inline]
    pub(super) fn new(lock: Arc<Mutex<T>>, by: Acquirer) -> Self {
        lock.permits.observed.object.acquired_movable_by(by);
        Self { hold: Hold(lock) }
    }

    #[inline]
    fn pointer(&self) -> *mut T {
        self.hold.0.value.get()
    }

    /// Returns the mutex.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use blitz_io::sync::{Mutex, OwnedMutexGuard};
    ///
    /// let mutex = Arc::new(Mutex::new(1));
    /// let guard = mutex.clone().try_lock_owned()?;
    /// assert!(Arc::ptr_eq(OwnedMutexGuard::mutex(&guard), &mutex));
    /// # Ok::<(), blitz_io::sync::TryLockError>(())
    /// ```
    #[inline]
    pub fn mutex(this: &Self) -> &Arc<Mutex<T>> {
        &this.hold.0
    }
}

guard_maps! {
    [T: ?Sized] OwnedMutexGuard<T> => OwnedMappedMutexGuard<T, V>, |this: &mut T| this.hold;

    /// Makes a guard for a part of the value.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use blitz_io::sync::{Mutex, OwnedMutexGuard};
    ///
    /// let guard = Arc::new(Mutex::new((1, 2))).try_lock_owned()?;
    /// assert_eq!(*OwnedMutexGuard::map(guard, |pair| &mut pair.1), 2);
    /// # Ok::<(), blitz_io::sync::TryLockError>(())
    /// ```
    map<V, F>;

    /// Makes a guard for a part of the value, if there is that part.
    ///
    /// # Errors
    ///
    /// If there is not. The guard comes back.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use blitz_io::sync::{Mutex, OwnedMutexGuard};
    ///
    /// let guard = Arc::new(Mutex::new(vec![1])).try_lock_owned()?;
    /// let guard = OwnedMutexGuard::try_map(guard, |list| list.get_mut(5)).unwrap_err();
    /// assert_eq!(*guard, [1]);
    /// # Ok::<(), blitz_io::sync::TryLockError>(())
    /// ```
    try_map;
}

guard_maps! {
    [T: ?Sized, U: ?Sized] OwnedMappedMutexGuard<T, U> => OwnedMappedMutexGuard<T, V>, |this: &mut U| this.hold;

    /// Makes a guard for a part of the part.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use blitz_io::sync::{Mutex, OwnedMappedMutexGuard, OwnedMutexGuard};
    ///
    /// let guard = Arc::new(Mutex::new(((1, 2), 3))).try_lock_owned()?;
    /// let pair = OwnedMutexGuard::map(guard, |all| &mut all.0);
    /// assert_eq!(*OwnedMappedMutexGuard::map(pair, |pair| &mut pair.1), 2);
    /// # Ok::<(), blitz_io::sync::TryLockError>(())
    /// ```
    map<V, F>;

    /// Makes a guard for a part of the part, if there is that part.
    ///
    /// # Errors
    ///
    /// If there is not. The guard comes back.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use blitz_io::sync::{Mutex, OwnedMappedMutexGuard, OwnedMutexGuard};
    ///
    /// let guard = Arc::new(Mutex::new((vec![1], 2))).try_lock_owned()?;
    /// let list = OwnedMutexGuard::map(guard, |pair| &mut pair.0);
    /// assert!(OwnedMappedMutexGuard::try_map(list, |list| list.get_mut(5)).is_err());
    /// # Ok::<(), blitz_io::sync::TryLockError>(())
    /// ```
    try_map;
}

guard_reads!([T: ?Sized] OwnedMutexGuard<T> => T);
guard_writes!([T: ?Sized] OwnedMutexGuard<T>);
guard_of_pointer!([T: ?Sized, U: ?Sized] OwnedMappedMutexGuard<T, U>: Hold<T>, *mut U);
