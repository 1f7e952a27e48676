//! `Mutex`: a lock that may be held across an `.await`. The work is done in
//! `permits/mod.rs`: the lock is one permit.

use std::cell::UnsafeCell;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::permits::{Permits, Taken, never_closed};
use blitz_io_core::const_unless_loom;
use blitz_io_core::coop;
use blitz_io_core::deadline::after;
use blitz_io_observe::Sort;
use blitz_io_observe::named;
use blitz_io_observe::{Acquirer, Caller, Kind};

mod error;
mod guard;
mod owned;

pub use error::TryLockError;
pub use guard::{MappedMutexGuard, MutexGuard};
pub use owned::{OwnedMappedMutexGuard, OwnedMutexGuard};

/// A value for exclusive use by one task or thread, also across an `.await`.
///
/// The names and the meaning are those of `tokio::sync::Mutex`. It needs no
/// runtime: tasks of any executor and threads wait in the same queue, first come,
/// first served. Waiting allocates nothing. A panic of the owner does not poison
/// it. A task that has spent its budget gets in the queue, or the lock, and continues
/// when it is polled again.
///
/// A task that waits no longer than a time awaits `time::timeout(duration, mutex.lock())`; a
/// thread has [`blocking_lock_timeout`](Mutex::blocking_lock_timeout).
///
/// Where the lock is never held across an `.await`,
/// [`thread::Mutex`](crate::thread::Mutex) is faster.
///
/// ```
/// use blitz_io::sync::Mutex;
///
/// # pollster::block_on(async {
/// let mutex = Mutex::new(1);
/// let mut guard = mutex.lock().await;
/// *guard += 1;
/// assert_eq!(*guard, 2);
/// # });
/// ```
pub struct Mutex<T: ?Sized> {
    permits: Permits,
    value: UnsafeCell<T>,
}

// SAFETY: it owns the value, and hands it over between threads.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// SAFETY: sharing it hands the value over between threads, and no more.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}

impl<T: ?Sized> Mutex<T> {
    /// Creates an unlocked mutex.
    ///
    /// ```
    /// use blitz_io::sync::Mutex;
    ///
    /// let mutex = Mutex::new(5);
    /// assert_eq!(mutex.into_inner(), 5);
    /// ```
    #[track_caller]
    pub fn new(value: T) -> Self
    where
        T: Sized,
    {
        let permits = Permits::new(1).with_resource(Sort::Mutex);
        Self {
            permits,
            value: UnsafeCell::new(value),
        }
    }

    const_unless_loom! {
        /// Creates an unlocked mutex in a constant or a static.
        ///
        /// ```
        /// use blitz_io::sync::Mutex;
        ///
        /// static NAMES: Mutex<Vec<String>> = Mutex::const_new(Vec::new());
        /// NAMES.try_lock().unwrap().push("Ada".into());
        /// ```
        pub const fn const_new(value: T) -> Self
        where
            T: Sized,
        {
            Self { permits: Permits::new(1), value: UnsafeCell::new(value) }
        }
    }

    /// Locks the mutex; waits until the lock is free and it is this task's turn.
    ///
    /// # Cancel safety
    ///
    /// A dropped future loses its place in the queue, and nothing else.
    ///
    /// ```
    /// use blitz_io::sync::Mutex;
    ///
    /// # pollster::block_on(async {
    /// let mutex = Mutex::new(1);
    /// *mutex.lock().await = 2;
    /// assert_eq!(*mutex.lock().await, 2);
    /// # });
    /// ```
    #[track_caller]
    pub fn lock(&self) -> impl Future<Output = MutexGuard<'_, T>> {
        let caller = Caller::here();
        async move {
            if !self.permits.take_all_in_budget(1) {
                never_closed(self.permits.wait(1, Kind::Mutex, caller).await);
            }
            let by = Acquirer::of_poll().await;
            self.locked(caller, by);
            MutexGuard::new(self, by)
        }
    }

    /// Locks as [`lock`](Mutex::lock) does, for a thread, which is blocked until
    /// then.
    ///
    /// Not to be called by a task: the thread it runs on would be blocked, perhaps
    /// together with the task that holds the lock.
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// use blitz_io::sync::Mutex;
    ///
    /// let mutex = Mutex::new(1);
    /// *mutex.blocking_lock() += 1;
    /// assert_eq!(mutex.into_inner(), 2);
    /// ```
    #[track_caller]
    #[doc(alias = "lock_blocking")]
    pub fn blocking_lock(&self) -> MutexGuard<'_, T> {
        MutexGuard::new(self, never_closed(self.acquire_until(None)))
    }

    /// Locks as [`blocking_lock`](Mutex::blocking_lock) does, but waits no longer than `timeout`.
    ///
    /// For threads. A task awaits [`lock`](Mutex::lock) in a `timeout` of its runtime.
    ///
    /// # Errors
    ///
    /// If `timeout` elapses before the lock is free and it is this thread's turn.
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// use blitz_io::sync::Mutex;
    /// use std::time::Duration;
    ///
    /// let mutex = Mutex::new(1);
    /// let guard = mutex.blocking_lock_timeout(Duration::from_millis(1))?;
    /// assert!(mutex.blocking_lock_timeout(Duration::from_millis(1)).is_err());
    /// # drop(guard);
    /// # Ok::<(), blitz_io::sync::TryLockError>(())
    /// ```
    #[track_caller]
    #[doc(alias("lock_timeout", "try_lock_for"))]
    pub fn blocking_lock_timeout(
        &self,
        timeout: Duration,
    ) -> Result<MutexGuard<'_, T>, TryLockError> {
        let by = self.acquire_until(after(timeout))?;
        Ok(MutexGuard::new(self, by))
    }

    /// Locks as [`blocking_lock`](Mutex::blocking_lock) does, but waits no longer than until
    /// `deadline`.
    ///
    /// # Errors
    ///
    /// If the deadline passes before the lock is free and it is this thread's turn.
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// use blitz_io::sync::Mutex;
    /// use std::time::Instant;
    ///
    /// let mutex = Mutex::new(1);
    /// *mutex.blocking_lock_deadline(Instant::now())? = 2; // it is free
    /// assert_eq!(mutex.into_inner(), 2);
    /// # Ok::<(), blitz_io::sync::TryLockError>(())
    /// ```
    #[track_caller]
    #[doc(alias("lock_deadline", "try_lock_until"))]
    pub fn blocking_lock_deadline(
        &self,
        deadline: Instant,
    ) -> Result<MutexGuard<'_, T>, TryLockError> {
        let by = self.acquire_until(Some(deadline))?;
        Ok(MutexGuard::new(self, by))
    }

    /// Locks as [`lock_owned`](Mutex::lock_owned) does, for a thread, which is
    /// blocked until then.
    ///
    /// # Panics
    ///
    /// See [`blocking_lock`](Mutex::blocking_lock).
    ///
    /// ```
    /// use std::sync::Arc;
    /// use blitz_io::sync::Mutex;
    ///
    /// let guard = Arc::new(Mutex::new(1)).blocking_lock_owned();
    /// assert_eq!(*guard, 1);
    /// ```
    #[track_caller]
    pub fn blocking_lock_owned(self: Arc<Self>) -> OwnedMutexGuard<T> {
        let by = never_closed(self.acquire_until(None));
        OwnedMutexGuard::new(self, by)
    }

    /// Locks as [`lock`](Mutex::lock) does, with a guard that keeps the mutex
    /// alive.
    ///
    /// # Cancel safety
    ///
    /// A dropped future loses its place in the queue, and nothing else.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use blitz_io::sync::Mutex;
    ///
    /// # pollster::block_on(async {
    /// let mutex = Arc::new(Mutex::new(1));
    /// let guard = mutex.clone().lock_owned().await;
    /// std::thread::spawn(move || drop(guard)).join().unwrap();
    /// assert!(mutex.try_lock().is_ok());
    /// # });
    /// ```
    #[track_caller]
    pub fn lock_owned(self: Arc<Self>) -> impl Future<Output = OwnedMutexGuard<T>> {
        let caller = Caller::here();
        async move {
            if !self.permits.take_all_in_budget(1) {
                never_closed(self.permits.wait(1, Kind::Mutex, caller).await);
            }
            let by = Acquirer::of_poll().await;
            self.locked(caller, by);
            OwnedMutexGuard::new(self, by)
        }
    }

    /// Locks, if the lock is free and no task or thread waits for it.
    ///
    /// # Errors
    ///
    /// If it is held or waited for.
    ///
    /// ```
    /// use blitz_io::sync::Mutex;
    ///
    /// let mutex = Mutex::new(1);
    /// let guard = mutex.try_lock()?;
    /// assert!(mutex.try_lock().is_err());
    /// # drop(guard);
    /// # Ok::<(), blitz_io::sync::TryLockError>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn try_lock(&self) -> Result<MutexGuard<'_, T>, TryLockError> {
        self.try_acquire()?;
        let by = Acquirer::at_once();
        self.locked_at_once(Caller::here(), by);
        Ok(MutexGuard::new(self, by))
    }

    /// Returns the value, without locking: the `&mut` shows that no other task has the mutex.
    ///
    /// ```
    /// use blitz_io::sync::Mutex;
    ///
    /// let mut mutex = Mutex::new(1);
    /// *mutex.get_mut() = 2;
    /// assert_eq!(mutex.into_inner(), 2);
    /// ```
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    /// Tries as [`try_lock`](Mutex::try_lock) does, with a guard that keeps the
    /// mutex alive.
    ///
    /// # Errors
    ///
    /// If the lock is held or waited for.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use blitz_io::sync::Mutex;
    ///
    /// let mutex = Arc::new(Mutex::new(1));
    /// let guard = mutex.clone().try_lock_owned()?;
    /// assert!(mutex.try_lock_owned().is_err());
    /// # Ok::<(), blitz_io::sync::TryLockError>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn try_lock_owned(self: Arc<Self>) -> Result<OwnedMutexGuard<T>, TryLockError> {
        self.try_acquire()?;
        let by = Acquirer::at_once();
        self.locked_at_once(Caller::here(), by);
        Ok(OwnedMutexGuard::new(self, by))
    }

    /// Returns the value.
    ///
    /// ```
    /// use blitz_io::sync::Mutex;
    ///
    /// assert_eq!(Mutex::new(1).into_inner(), 1);
    /// ```
    pub fn into_inner(self) -> T
    where
        T: Sized,
    {
        self.value.into_inner()
    }

    /// Tells the linter that the guard is about to be made.
    #[inline(always)]
    fn locked(&self, caller: Caller, by: Acquirer) {
        let observed = &self.permits.observed;
        observed
            .object
            .locked(Kind::Mutex, observed.made_at(), caller, by);
    }

    /// The same after no wait, or one with a deadline.
    #[inline(always)]
    fn locked_at_once(&self, caller: Caller, by: Acquirer) {
        let observed = &self.permits.observed;
        let made_at = observed.made_at();
        observed
            .object
            .locked_at_once(Kind::Mutex, made_at, caller, by);
    }

    #[inline]
    fn try_acquire(&self) -> Result<(), TryLockError> {
        if self.permits.take_all(1) {
            Ok(())
        } else {
            Err(TryLockError(()))
        }
    }

    /// Takes the lock, and blocks the thread for it until the deadline at the latest. Returns its holder.
    #[track_caller]
    fn acquire_until(&self, deadline: Option<Instant>) -> Result<Acquirer, TryLockError> {
        coop::assert_may_block();
        let caller = Caller::here();
        let wait = || self.permits.wait_blocking(1, deadline, Kind::Mutex, caller);
        if !self.permits.take_all(1) && wait() != Taken::Yes {
            return Err(TryLockError(()));
        }
        let by = Acquirer::current();
        match deadline {
            None => self.locked(caller, by),
            Some(_) => self.locked_at_once(caller, by),
        }
        Ok(by)
    }
}

/// Implements `From`, `Default` and `Debug` for a lock, by `new` and this way to look at the
/// value without waiting.
macro_rules! lock_traits {
    ($lock:ident, $try_look:ident) => {
        impl<T> From<T> for $lock<T> {
            #[track_caller]
            fn from(value: T) -> Self {
                Self::new(value)
            }
        }

        impl<T: Default> Default for $lock<T> {
            #[track_caller]
            fn default() -> Self {
                Self::new(T::default())
            }
        }

        impl<T: ?Sized + std::fmt::Debug> std::fmt::Debug for $lock<T> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let mut shown = f.debug_struct(stringify!($lock));
                match self.$try_look() {
                    Ok(guard) => shown.field("data", &&*guard),
                    Err(_) => shown.field("data", &format_args!("<locked>")),
                };
                shown.finish()
            }
        }
    };
}

lock_traits!(Mutex, try_lock);

pub(super) use lock_traits;

named!(Mutex<T>: permits.observed.object);
