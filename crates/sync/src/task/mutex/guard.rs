//! Guards that borrow the mutex.

use std::marker::PhantomData;
use std::mem;

use blitz_io_observe::Acquirer;

use super::Mutex;
use crate::task::guards::{guard_maps, guard_of_pointer, guard_reads, guard_writes};
use crate::task::permits::One;

/// The right to use the value of a [`Mutex`]; unlocks when dropped.
///
/// ```
/// use blitz_io::sync::Mutex;
///
/// let mutex = Mutex::new(1);
/// *mutex.try_lock()? += 1;
/// assert_eq!(mutex.into_inner(), 2);
/// # Ok::<(), blitz_io::sync::TryLockError>(())
/// ```
#[clippy::has_significant_drop]
#[must_use = "if unused the Mutex will immediately unlock"]
pub struct MutexGuard<'a, T: ?Sized> {
    lock: &'a Mutex<T>,
}

/// A [`MutexGuard`] for a part of the value.
#[clippy::has_significant_drop]
#[must_use = "if unused the Mutex will immediately unlock"]
pub struct MappedMutexGuard<'a, T: ?Sized> {
    hold: One<'a>,
    data: *mut T,
    /// It acts as an exclusive borrow.
    marker: PhantomData<&'a mut T>,
}

// SAFETY: a shared guard gives shared access to the value, and no more.
unsafe impl<T: ?Sized + Send + Sync> Sync for MutexGuard<'_, T> {}
// SAFETY: a shared guard gives shared access to the part, and no more.
unsafe impl<T: ?Sized + Sync> Sync for MappedMutexGuard<'_, T> {}
// SAFETY: it acts as an exclusive borrow of the value, and any thread may unlock.
unsafe impl<T: ?Sized + Send> Send for MappedMutexGuard<'_, T> {}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    #[inline]
    pub(super) fn new(lock: &'a Mutex<T>, by: Acquirer) -> Self {
        lock.permits.observed.object.acquired_by(by);
        Self { lock }
    }

    #[inline]
    fn pointer(&self) -> *mut T {
        self.lock.value.get()
    }

    #[inline]
    fn into_hold(self) -> One<'a> {
        let hold = One::new(&self.lock.permits);
        mem::forget(self);
        hold
    }

    /// Returns the mutex.
    ///
    /// ```
    /// use blitz_io::sync::{Mutex, MutexGuard};
    ///
    /// let mutex = Mutex::new(1);
    /// let guard = mutex.try_lock()?;
    /// assert!(MutexGuard::mutex(&guard).try_lock().is_err());
    /// # Ok::<(), blitz_io::sync::TryLockError>(())
    /// ```
    #[inline]
    pub fn mutex(this: &Self) -> &'a Mutex<T> {
        this.lock
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.lock.permits.observed.object.released();
        self.lock.permits.give_back(1);
    }
}

guard_maps! {
    ['a, T: ?Sized] MutexGuard<'a, T> => MappedMutexGuard<'a, V>, |this: &mut T| this.into_hold();

    /// Makes a guard for a part of the value.
    ///
    /// ```
    /// use blitz_io::sync::{Mutex, MutexGuard};
    ///
    /// let mutex = Mutex::new((1, "one"));
    /// let mut number = MutexGuard::map(mutex.try_lock()?, |pair| &mut pair.0);
    /// *number = 2;
    /// drop(number);
    /// assert_eq!(mutex.into_inner(), (2, "one"));
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
    /// use blitz_io::sync::{Mutex, MutexGuard};
    ///
    /// let mutex = Mutex::new(vec![1]);
    /// let guard = MutexGuard::try_map(mutex.try_lock()?, |list| list.get_mut(5)).unwrap_err();
    /// assert_eq!(*guard, [1]);
    /// # Ok::<(), blitz_io::sync::TryLockError>(())
    /// ```
    try_map;
}

guard_maps! {
    ['a, T: ?Sized] MappedMutexGuard<'a, T> => MappedMutexGuard<'a, V>, |this: &mut T| this.hold;

    /// Makes a guard for a part of the part.
    ///
    /// ```
    /// use blitz_io::sync::{MappedMutexGuard, Mutex, MutexGuard};
    ///
    /// let mutex = Mutex::new(((1, 2), 3));
    /// let pair = MutexGuard::map(mutex.try_lock()?, |all| &mut all.0);
    /// assert_eq!(*MappedMutexGuard::map(pair, |pair| &mut pair.1), 2);
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
    /// use blitz_io::sync::{MappedMutexGuard, Mutex, MutexGuard};
    ///
    /// let mutex = Mutex::new((vec![1], 2));
    /// let list = MutexGuard::map(mutex.try_lock()?, |pair| &mut pair.0);
    /// assert!(MappedMutexGuard::try_map(list, |list| list.get_mut(5)).is_err());
    /// # Ok::<(), blitz_io::sync::TryLockError>(())
    /// ```
    try_map;
}

guard_reads!([T: ?Sized] MutexGuard<'_, T> => T);
guard_writes!([T: ?Sized] MutexGuard<'_, T>);
guard_of_pointer!(['a, T: ?Sized] MappedMutexGuard<'a, T>: One<'a>, *mut T);
