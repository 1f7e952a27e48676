//! `RwLock`: a lock for many readers or one writer that may be held across an
//! `.await`. The work is done in `permits/mod.rs`: a reader takes one permit, a
//! writer all.

use std::cell::UnsafeCell;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::TryLockError;
use super::mutex::lock_traits;
use super::permits::{All, One, Permits, Taken, never_closed};
use blitz_io_core::const_unless_loom;
use blitz_io_core::coop;
use blitz_io_core::deadline::after;
use blitz_io_observe::Sort;
use blitz_io_observe::named;
use blitz_io_observe::{Acquirer, Caller, Kind};

mod owned_read;
mod owned_write;
mod read;
mod write;

pub use owned_read::OwnedRwLockReadGuard;
pub use owned_write::{OwnedRwLockMappedWriteGuard, OwnedRwLockWriteGuard};
pub use read::RwLockReadGuard;
pub use write::{RwLockMappedWriteGuard, RwLockWriteGuard};

/// The default limit of simultaneous readers.
const MAX_READERS: u32 = u32::MAX >> 3;

/// A value that many tasks and threads may read, or one may write, also across an
/// `.await`.
///
/// The names and the meaning are those of `tokio::sync::RwLock`. It needs no
/// runtime: tasks of any executor and threads wait in the same queue, first come,
/// first served. So a reader that comes after a waiting writer waits too, and a
/// task that reads twice at once may wait for itself. Waiting allocates nothing. A
/// panic of the owner does not poison it. A task that has spent its budget gets in the
/// queue, or the lock, and continues when it is polled again.
///
/// A task that waits no longer than a time awaits `time::timeout(duration, lock.read())`; a
/// thread has [`blocking_read_timeout`](RwLock::blocking_read_timeout) and
/// [`blocking_write_timeout`](RwLock::blocking_write_timeout).
///
/// ```
/// use blitz_io::sync::RwLock;
///
/// # pollster::block_on(async {
/// let lock = RwLock::new(5);
/// {
///     let first = lock.read().await;
///     let second = lock.read().await;
///     assert_eq!(*first + *second, 10);
/// }
/// *lock.write().await += 1;
/// assert_eq!(*lock.read().await, 6);
/// # });
/// ```
pub struct RwLock<T: ?Sized> {
    permits: Permits,
    max_readers: u32,
    value: UnsafeCell<T>,
}

// SAFETY: it owns the value, and hands it over between threads.
unsafe impl<T: ?Sized + Send> Send for RwLock<T> {}
// SAFETY: sharing it hands the value over between threads, and lets several of them
// read it at once.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}

impl<T: ?Sized> RwLock<T> {
    /// Creates an unlocked lock.
    ///
    /// ```
    /// use blitz_io::sync::RwLock;
    ///
    /// assert_eq!(RwLock::new(5).into_inner(), 5);
    /// ```
    #[track_caller]
    pub fn new(value: T) -> RwLock<T>
    where
        T: Sized,
    {
        Self::with_max_readers(value, MAX_READERS)
    }

    /// Creates an unlocked lock that at most `max_reads` may read at once.
    ///
    /// # Panics
    ///
    /// If `max_reads` is zero, or above `u32::MAX >> 3`.
    ///
    /// ```
    /// use blitz_io::sync::RwLock;
    ///
    /// let lock = RwLock::with_max_readers(5, 1);
    /// let reader = lock.try_read()?;
    /// assert!(lock.try_read().is_err());
    /// # Ok::<(), blitz_io::sync::TryLockError>(())
    /// ```
    #[track_caller]
    pub fn with_max_readers(value: T, max_reads: u32) -> RwLock<T>
    where
        T: Sized,
    {
        assert_ne!(max_reads, 0, "a RwLock may not be created with 0 readers");
        assert!(
            max_reads <= MAX_READERS,
            "a RwLock may not be created with more than {MAX_READERS} readers"
        );
        let permits = max_reads as usize;
        Self {
            permits: Permits::new(permits).with_resource(Sort::RwLock(permits)),
            max_readers: max_reads,
            value: UnsafeCell::new(value),
        }
    }

    const_unless_loom! {
        /// Creates an unlocked lock in a constant or a static.
        ///
        /// ```
        /// use blitz_io::sync::RwLock;
        ///
        /// static NAMES: RwLock<Vec<String>> = RwLock::const_new(Vec::new());
        /// assert!(NAMES.try_read().unwrap().is_empty());
        /// ```
        pub const fn const_new(value: T) -> RwLock<T>
        where
            T: Sized,
        {
            Self::const_with_max_readers(value, MAX_READERS)
        }
    }

    const_unless_loom! {
        /// Creates an unlocked lock that at most `max_reads` may read at once, in a constant
        /// or a static.
        ///
        /// # Panics
        ///
        /// If `max_reads` is zero, or above `u32::MAX >> 3`.
        ///
        /// ```
        /// use blitz_io::sync::RwLock;
        ///
        /// static NAMES: RwLock<Vec<String>> = RwLock::const_with_max_readers(Vec::new(), 10);
        /// assert!(NAMES.try_read().unwrap().is_empty());
        /// ```
        #[track_caller]
        pub const fn const_with_max_readers(value: T, max_reads: u32) -> RwLock<T>
        where
            T: Sized,
        {
            assert!(max_reads != 0, "a RwLock may not be created with 0 readers");
            assert!(max_reads <= MAX_READERS);
            Self {
                permits: Permits::new(max_reads as usize),
                max_readers: max_reads,
                value: UnsafeCell::new(value),
            }
        }
    }

    /// Locks for reading; waits until no writer has the lock or waits before this reader.
    ///
    /// # Cancel safety
    ///
    /// A dropped future loses its place in the queue, and nothing else.
    ///
    /// ```
    /// use blitz_io::sync::RwLock;
    ///
    /// # pollster::block_on(async {
    /// let lock = RwLock::new(1);
    /// let reader = lock.read().await;
    /// assert_eq!(*reader, 1);
    /// assert!(lock.try_read().is_ok());
    /// # });
    /// ```
    #[track_caller]
    pub fn read(&self) -> impl Future<Output = RwLockReadGuard<'_, T>> {
        let caller = Caller::here();
        async move {
            if !self.permits.take_in_budget(1) {
                never_closed(self.permits.wait(1, Kind::Read, caller).await);
            }
            let by = Acquirer::of_poll().await;
            self.locked(Kind::Read, caller, by);
            RwLockReadGuard::new(self.one(by), self.value.get())
        }
    }

    /// Locks as [`read`](RwLock::read) does, for a thread, which is blocked until then.
    ///
    /// Not to be called by a task: the thread it runs on would be blocked, perhaps
    /// together with the task that holds the lock.
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// use blitz_io::sync::RwLock;
    ///
    /// assert_eq!(*RwLock::new(1).blocking_read(), 1);
    /// ```
    #[track_caller]
    #[doc(alias = "read_blocking")]
    pub fn blocking_read(&self) -> RwLockReadGuard<'_, T> {
        never_closed(self.read_until(None))
    }

    /// Locks as [`blocking_read`](RwLock::blocking_read) does, but waits no longer than `timeout`.
    ///
    /// For threads. A task awaits [`read`](RwLock::read) in a `timeout` of its runtime.
    ///
    /// # Errors
    ///
    /// If `timeout` elapses before the lock can be had and it is this thread's turn.
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// use blitz_io::sync::RwLock;
    /// use std::time::Duration;
    ///
    /// let lock = RwLock::new(1);
    /// let guard = lock.blocking_read_timeout(Duration::from_millis(1))?;
    /// assert!(lock.blocking_write_timeout(Duration::from_millis(1)).is_err());
    /// # drop(guard);
    /// # Ok::<(), blitz_io::sync::TryLockError>(())
    /// ```
    #[track_caller]
    #[doc(alias("read_timeout", "try_read_for"))]
    pub fn blocking_read_timeout(
        &self,
        timeout: Duration,
    ) -> Result<RwLockReadGuard<'_, T>, TryLockError> {
        self.read_until(after(timeout))
    }

    /// Locks as [`blocking_read`](RwLock::blocking_read) does, but waits no longer than until
    /// `deadline`.
    ///
    /// # Errors
    ///
    /// If the deadline passes before the lock can be had and it is this thread's turn.
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// use blitz_io::sync::RwLock;
    /// use std::time::Instant;
    ///
    /// let lock = RwLock::new(1);
    /// assert_eq!(*lock.blocking_read_deadline(Instant::now())?, 1); // it is free
    /// # Ok::<(), blitz_io::sync::TryLockError>(())
    /// ```
    #[track_caller]
    #[doc(alias("read_deadline", "try_read_until"))]
    pub fn blocking_read_deadline(
        &self,
        deadline: Instant,
    ) -> Result<RwLockReadGuard<'_, T>, TryLockError> {
        self.read_until(Some(deadline))
    }

    /// Locks as [`read`](RwLock::read) does, with a guard that keeps the lock alive.
    ///
    /// # Cancel safety
    ///
    /// A dropped future loses its place in the queue, and nothing else.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use blitz_io::sync::RwLock;
    ///
    /// # pollster::block_on(async {
    /// let reader = Arc::new(RwLock::new(1)).read_owned().await;
    /// std::thread::spawn(move || assert_eq!(*reader, 1)).join().unwrap();
    /// # });
    /// ```
    #[track_caller]
    pub fn read_owned(self: Arc<Self>) -> impl Future<Output = OwnedRwLockReadGuard<T>> {
        let caller = Caller::here();
        async move {
            if !self.permits.take_in_budget(1) {
                never_closed(self.permits.wait(1, Kind::Read, caller).await);
            }
            OwnedRwLockReadGuard::of(self)
        }
    }

    /// Locks for reading, if there is neither a writer nor a waiter.
    ///
    /// # Errors
    ///
    /// If there is.
    ///
    /// ```
    /// use blitz_io::sync::RwLock;
    ///
    /// let lock = RwLock::new(1);
    /// let writer = lock.try_write()?;
    /// assert!(lock.try_read().is_err());
    /// drop(writer);
    /// assert!(lock.try_read().is_ok());
    /// # Ok::<(), blitz_io::sync::TryLockError>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn try_read(&self) -> Result<RwLockReadGuard<'_, T>, TryLockError> {
        self.try_acquire_one()?;
        let by = Acquirer::at_once();
        self.locked_at_once(Kind::Read, Caller::here(), by);
        let hold = self.one(by);
        Ok(RwLockReadGuard::new(hold, self.value.get()))
    }

    /// Tries as [`try_read`](RwLock::try_read) does, with a guard that keeps the lock alive.
    ///
    /// # Errors
    ///
    /// If there is a writer or a waiter.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use blitz_io::sync::RwLock;
    ///
    /// let lock = Arc::new(RwLock::new(1));
    /// let reader = lock.clone().try_read_owned()?;
    /// assert!(lock.try_read_owned().is_ok());
    /// # Ok::<(), blitz_io::sync::TryLockError>(())
    /// ```
    #[inline]
    pub fn try_read_owned(self: Arc<Self>) -> Result<OwnedRwLockReadGuard<T>, TryLockError> {
        self.try_acquire_one()?;
        Ok(OwnedRwLockReadGuard::of(self))
    }

    /// Locks for writing; waits until there is neither reader nor writer and it is this task's
    /// turn.
    ///
    /// # Cancel safety
    ///
    /// A dropped future loses its place in the queue, and nothing else.
    ///
    /// ```
    /// use blitz_io::sync::RwLock;
    ///
    /// # pollster::block_on(async {
    /// let lock = RwLock::new(1);
    /// *lock.write().await = 2;
    /// assert_eq!(*lock.read().await, 2);
    /// # });
    /// ```
    #[track_caller]
    pub fn write(&self) -> impl Future<Output = RwLockWriteGuard<'_, T>> {
        let caller = Caller::here();
        async move {
            let all = self.max_readers as usize;
            if !self.permits.take_all_in_budget(all) {
                never_closed(self.permits.wait(all, Kind::Write, caller).await);
            }
            let by = Acquirer::of_poll().await;
            self.locked(Kind::Write, caller, by);
            RwLockWriteGuard::new(self.all(by), self.value.get())
        }
    }

    /// Locks as [`write`](RwLock::write) does, for a thread, which is blocked until then.
    ///
    /// Not to be called by a task: the thread it runs on would be blocked, perhaps
    /// together with the task that holds the lock.
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// use blitz_io::sync::RwLock;
    ///
    /// let lock = RwLock::new(1);
    /// *lock.blocking_write() = 2;
    /// assert_eq!(lock.into_inner(), 2);
    /// ```
    #[track_caller]
    #[doc(alias = "write_blocking")]
    pub fn blocking_write(&self) -> RwLockWriteGuard<'_, T> {
        never_closed(self.write_until(None))
    }

    /// Locks as [`blocking_write`](RwLock::blocking_write) does, but waits no longer than `timeout`.
    ///
    /// For threads. A task awaits [`write`](RwLock::write) in a `timeout` of its runtime.
    ///
    /// # Errors
    ///
    /// If `timeout` elapses before the lock can be had and it is this thread's turn.
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// use blitz_io::sync::RwLock;
    /// use std::time::Duration;
    ///
    /// let lock = RwLock::new(1);
    /// let guard = lock.blocking_write_timeout(Duration::from_millis(1))?;
    /// assert!(lock.blocking_write_timeout(Duration::from_millis(1)).is_err());
    /// # drop(guard);
    /// # Ok::<(), blitz_io::sync::TryLockError>(())
    /// ```
    #[track_caller]
    #[doc(alias("write_timeout", "try_write_for"))]
    pub fn blocking_write_timeout(
        &self,
        timeout: Duration,
    ) -> Result<RwLockWriteGuard<'_, T>, TryLockError> {
        self.write_until(after(timeout))
    }

    /// Locks as [`blocking_write`](RwLock::blocking_write) does, but waits no longer than until
    /// `deadline`.
    ///
    /// # Errors
    ///
    /// If the deadline passes before the lock can be had and it is this thread's turn.
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// use blitz_io::sync::RwLock;
    /// use std::time::Instant;
    ///
    /// let lock = RwLock::new(1);
    /// assert_eq!(*lock.blocking_write_deadline(Instant::now())?, 1); // it is free
    /// # Ok::<(), blitz_io::sync::TryLockError>(())
    /// ```
    #[track_caller]
    #[doc(alias("write_deadline", "try_write_until"))]
    pub fn blocking_write_deadline(
        &self,
        deadline: Instant,
    ) -> Result<RwLockWriteGuard<'_, T>, TryLockError> {
        self.write_until(Some(deadline))
    }

    /// Locks as [`write`](RwLock::write) does, with a guard that keeps the lock alive.
    ///
    /// # Cancel safety
    ///
    /// A dropped future loses its place in the queue, and nothing else.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use blitz_io::sync::RwLock;
    ///
    /// # pollster::block_on(async {
    /// let lock = Arc::new(RwLock::new(1));
    /// let mut writer = lock.clone().write_owned().await;
    /// std::thread::spawn(move || *writer = 2).join().unwrap();
    /// assert_eq!(*lock.read().await, 2);
    /// # });
    /// ```
    #[track_caller]
    pub fn write_owned(self: Arc<Self>) -> impl Future<Output = OwnedRwLockWriteGuard<T>> {
        let caller = Caller::here();
        async move {
            let all = self.max_readers as usize;
            if !self.permits.take_all_in_budget(all) {
                never_closed(self.permits.wait(all, Kind::Write, caller).await);
            }
            let by = Acquirer::of_poll().await;
            self.locked(Kind::Write, caller, by);
            OwnedRwLockWriteGuard::of(self, by)
        }
    }

    /// Locks for writing, if there is neither reader, writer nor waiter.
    ///
    /// # Errors
    ///
    /// If there is.
    ///
    /// ```
    /// use blitz_io::sync::RwLock;
    ///
    /// let lock = RwLock::new(1);
    /// let reader = lock.try_read()?;
    /// assert!(lock.try_write().is_err());
    /// drop(reader);
    /// *lock.try_write()? = 2;
    /// # Ok::<(), blitz_io::sync::TryLockError>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn try_write(&self) -> Result<RwLockWriteGuard<'_, T>, TryLockError> {
        self.try_acquire_all()?;
        let by = Acquirer::at_once();
        self.locked_at_once(Kind::Write, Caller::here(), by);
        Ok(RwLockWriteGuard::new(self.all(by), self.value.get()))
    }

    /// Tries as [`try_write`](RwLock::try_write) does, with a guard that keeps the lock alive.
    ///
    /// # Errors
    ///
    /// If there is a reader, a writer or a waiter.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use blitz_io::sync::RwLock;
    ///
    /// let lock = Arc::new(RwLock::new(1));
    /// let writer = lock.clone().try_write_owned()?;
    /// assert!(lock.try_write_owned().is_err());
    /// # Ok::<(), blitz_io::sync::TryLockError>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn try_write_owned(self: Arc<Self>) -> Result<OwnedRwLockWriteGuard<T>, TryLockError> {
        self.try_acquire_all()?;
        let by = Acquirer::at_once();
        self.locked_at_once(Kind::Write, Caller::here(), by);
        Ok(OwnedRwLockWriteGuard::of(self, by))
    }

    /// Returns the value, without locking: the `&mut` shows that no other task has the lock.
    ///
    /// ```
    /// use blitz_io::sync::RwLock;
    ///
    /// let mut lock = RwLock::new(1);
    /// *lock.get_mut() = 2;
    /// assert_eq!(lock.into_inner(), 2);
    /// ```
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    /// Returns the value.
    ///
    /// ```
    /// use blitz_io::sync::RwLock;
    ///
    /// assert_eq!(RwLock::new(1).into_inner(), 1);
    /// ```
    pub fn into_inner(self) -> T
    where
        T: Sized,
    {
        self.value.into_inner()
    }

    /// Tells the linter that the guard is about to be made. The guard of a reader that keeps the lock alive is not
    /// told: no record says which task has it.
    #[inline(always)]
    fn locked(&self, kind: Kind, caller: Caller, by: Acquirer) {
        let observed = &self.permits.observed;
        observed.object.locked(kind, observed.made_at(), caller, by);
    }

    /// The same after no wait, or one with a deadline.
    #[inline(always)]
    fn locked_at_once(&self, kind: Kind, caller: Caller, by: Acquirer) {
        let observed = &self.permits.observed;
        let made_at = observed.made_at();
        observed.object.locked_at_once(kind, made_at, caller, by);
    }

    /// Locks for reading, and blocks the thread for it until the deadline at the latest.
    #[track_caller]
    fn read_until(
        &self,
        deadline: Option<Instant>,
    ) -> Result<RwLockReadGuard<'_, T>, TryLockError> {
        coop::assert_may_block();
        let is_free = self.permits.take(1) == Taken::Yes;
        let by = self.lock_until(is_free, 1, deadline, Kind::Read, Caller::here())?;
        Ok(RwLockReadGuard::new(self.one(by), self.value.get()))
    }

    /// Locks for writing, and blocks the thread for it until the deadline at the latest.
    #[track_caller]
    fn write_until(
        &self,
        deadline: Option<Instant>,
    ) -> Result<RwLockWriteGuard<'_, T>, TryLockError> {
        coop::assert_may_block();
        let all = self.max_readers as usize;
        let is_free = self.permits.take_all(all);
        let by = self.lock_until(is_free, all, deadline, Kind::Write, Caller::here())?;
        Ok(RwLockWriteGuard::new(self.all(by), self.value.get()))
    }

    /// Waits for permits, unless the caller `has` them already. Returns their holder.
    fn lock_until(
        &self,
        has: bool,
        permits: usize,
        deadline: Option<Instant>,
        kind: Kind,
        caller: Caller,
    ) -> Result<Acquirer, TryLockError> {
        if !has && self.permits.wait_blocking(permits, deadline, kind, caller) != Taken::Yes {
            return Err(TryLockError(()));
        }
        let by = Acquirer::current();
        match deadline {
            None => self.locked(kind, caller, by),
            Some(_) => self.locked_at_once(kind, caller, by),
        }
        Ok(by)
    }

    /// Returns the permit of a reader.
    #[inline]
    fn one(&self, by: Acquirer) -> One<'_> {
        self.permits.observed.object.acquired_shared_by(by);
        One::new(&self.permits)
    }

    /// Returns the permits of a writer.
    #[inline]
    fn all(&self, by: Acquirer) -> All<'_> {
        self.permits.observed.object.acquired_by(by);
        All::new(&self.permits, self.max_readers)
    }

    #[inline]
    fn try_acquire_one(&self) -> Result<(), TryLockError> {
        match self.permits.take(1) {
            Taken::Yes => Ok(()),
            Taken::No | Taken::Closed => Err(TryLockError(())),
        }
    }

    #[inline]
    fn try_acquire_all(&self) -> Result<(), TryLockError> {
        if self.permits.take_all(self.max_readers as usize) {
            Ok(())
        } else {
            Err(TryLockError(()))
        }
    }
}

lock_traits!(RwLock, try_read);

named!(RwLock<T>: permits.observed.object);
