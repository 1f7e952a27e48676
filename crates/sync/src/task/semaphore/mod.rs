//! `Semaphore`: permits that tasks and threads take and give back, first come,
//! first served. The work is done in `permits/mod.rs`.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::permits::{MAX_PERMITS, Permits, Taken};
pub use crate::semaphores::OverRelease;
use crate::semaphores::errors;
use blitz_io_core::coop;
use blitz_io_core::deadline::after;
use blitz_io_core::{const_unless_loom, debug_fields};
use blitz_io_observe::Sort;
use blitz_io_observe::named;
use blitz_io_observe::{Acquirer, Caller, Kind, counted, decisions};

mod permit;

pub use super::permits::AcquireError;
pub use permit::{OwnedSemaphorePermit, SemaphorePermit};

/// A number of permits. A task that finds too few waits until others have
/// given theirs back.
///
/// The names and the meaning are those of `tokio::sync::Semaphore`. It needs no
/// runtime: tasks of any executor and threads wait in the same queue. It
/// allocates nothing.
///
/// **Fairness.** Requests get their permits in the order of their arrival, even if a later one
/// needs fewer. While a task or thread waits, `try_acquire` fails.
///
/// A task that has spent its budget gets in the queue, or the permits, and continues
/// when it is polled again.
///
/// A task that waits no longer than a time awaits `time::timeout(duration, semaphore.acquire())`;
/// a thread has [`blocking_acquire_timeout`](Semaphore::blocking_acquire_timeout).
///
/// ```
/// use blitz_io::sync::Semaphore;
///
/// static CONNECTIONS: Semaphore = Semaphore::const_new(2);
///
/// # pollster::block_on(async {
/// let first = CONNECTIONS.acquire().await?;
/// let second = CONNECTIONS.acquire().await?;
/// assert!(CONNECTIONS.try_acquire().is_err());
/// drop(first);
/// assert!(CONNECTIONS.try_acquire().is_ok());
/// # drop(second);
/// # Ok::<(), blitz_io::sync::AcquireError>(())
/// # }).unwrap();
/// ```
// For the C interface: the layout is that of `Permits`.
#[repr(transparent)]
pub struct Semaphore {
    permits: Permits,
}

/// The reason why an attempt to take permits failed.
#[derive(PartialEq, Eq, Debug)]
pub enum TryAcquireError {
    /// The semaphore is closed.
    Closed,
    /// There are too few permits, or others wait for them.
    NoPermits,
}

errors!(AcquireError, TryAcquireError);

impl Semaphore {
    /// The greatest number of permits that a semaphore can hold.
    pub const MAX_PERMITS: usize = MAX_PERMITS;

    /// Creates a semaphore with this many permits.
    ///
    /// # Panics
    ///
    /// If `permits` exceeds [`MAX_PERMITS`](Semaphore::MAX_PERMITS).
    ///
    /// ```
    /// use blitz_io::sync::Semaphore;
    ///
    /// assert_eq!(Semaphore::new(3).available_permits(), 3);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn new(permits: usize) -> Self {
        assert_fits(permits);
        let permits = Permits::new(permits).with_resource(Sort::Semaphore);
        Self { permits }
    }

    const_unless_loom! {
        /// Creates a semaphore in a constant or a static.
        ///
        /// # Panics
        ///
        /// If `permits` exceeds [`MAX_PERMITS`](Semaphore::MAX_PERMITS).
        ///
        /// ```
        /// use blitz_io::sync::Semaphore;
        ///
        /// static PLACES: Semaphore = Semaphore::const_new(10);
        /// assert_eq!(PLACES.available_permits(), 10);
        /// ```
        #[must_use]
        #[track_caller]
        pub const fn const_new(permits: usize) -> Self {
            assert!(permits <= Self::MAX_PERMITS);
            Self { permits: Permits::new(permits) }
        }
    }

    /// Returns how many permits can be had now. That is 0 while a task or thread waits.
    ///
    /// ```
    /// use blitz_io::sync::Semaphore;
    ///
    /// let semaphore = Semaphore::new(2);
    /// let _permit = semaphore.try_acquire();
    /// assert_eq!(semaphore.available_permits(), 1);
    /// ```
    #[must_use]
    #[inline]
    pub fn available_permits(&self) -> usize {
        self.permits.available()
    }

    /// Adds `n` new permits.
    ///
    /// # Panics
    ///
    /// If there would be more than [`MAX_PERMITS`](Semaphore::MAX_PERMITS). The
    /// semaphore is as it was then.
    ///
    /// ```
    /// use blitz_io::sync::Semaphore;
    ///
    /// let semaphore = Semaphore::new(0);
    /// semaphore.add_permits(1);
    /// assert!(semaphore.try_acquire().is_ok());
    /// ```
    #[track_caller]
    #[inline]
    pub fn add_permits(&self, n: usize) {
        self.refilled(n);
        self.note_added(n, Caller::here());
        self.permits.add(n);
    }

    /// Adds `n` new permits, if there are then no more than `bound` that neither have an owner nor go to a
    /// waiter. With the number that the semaphore started with as the bound, this refuses a release without an
    /// acquire.
    ///
    /// # Errors
    ///
    /// If there would be more. The semaphore is as it was then.
    ///
    /// ```
    /// use blitz_io::sync::Semaphore;
    ///
    /// let places = Semaphore::new(4);
    /// places.try_acquire()?.forget();
    /// assert!(places.add_permits_within(1, 4).is_ok());
    /// assert!(places.add_permits_within(1, 4).is_err());
    /// assert_eq!(places.available_permits(), 4);
    /// # Ok::<(), blitz_io::sync::TryAcquireError>(())
    /// ```
    #[doc(alias = "max_permits")]
    #[track_caller]
    pub fn add_permits_within(&self, n: usize, bound: usize) -> Result<(), OverRelease> {
        self.refilled(n);
        if self.permits.add_within(n, bound) {
            self.note_added(n, Caller::here());
            Ok(())
        } else {
            Err(OverRelease(()))
        }
    }

    /// Adds `n` new permits if `fits` agrees to the number of permits that have no owner. (Unlike
    /// [`available_permits`](Semaphore::available_permits), this counts permits that are kept for waiters.)
    #[doc(hidden)]
    #[inline]
    pub fn add_permits_if(&self, n: usize, fits: impl Fn(usize) -> bool) -> bool {
        self.refilled(n);
        self.permits.add_if(n, fits)
    }

    /// Removes up to `n` permits, and returns how many it has removed.
    ///
    /// ```
    /// use blitz_io::sync::Semaphore;
    ///
    /// let semaphore = Semaphore::new(3);
    /// assert_eq!(semaphore.forget_permits(2), 2);
    /// assert_eq!(semaphore.forget_permits(2), 1);
    /// ```
    pub fn forget_permits(&self, n: usize) -> usize {
        self.permits.forget(n)
    }

    /// Takes one permit; waits until there is one.
    ///
    /// # Errors
    ///
    /// If the semaphore is closed, or gets closed during the wait.
    ///
    /// # Cancel safety
    ///
    /// A dropped future loses its place in the queue, and nothing else.
    ///
    /// ```
    /// use blitz_io::sync::Semaphore;
    ///
    /// # pollster::block_on(async {
    /// let semaphore = Semaphore::new(1);
    /// let permit = semaphore.acquire().await?;
    /// assert_eq!(semaphore.available_permits(), 0);
    /// drop(permit);
    /// assert_eq!(semaphore.available_permits(), 1);
    /// # Ok::<(), blitz_io::sync::AcquireError>(())
    /// # }).unwrap();
    /// ```
    #[track_caller]
    pub fn acquire(&self) -> impl Future<Output = Result<SemaphorePermit<'_>, AcquireError>> {
        self.acquire_many(1)
    }

    /// Takes `n` permits at once; waits until that many are available.
    ///
    /// # Errors
    ///
    /// If the semaphore is closed, or gets closed during the wait.
    ///
    /// # Panics
    ///
    /// If `n` exceeds [`MAX_PERMITS`](Semaphore::MAX_PERMITS), which it can on
    /// 32-bit systems.
    ///
    /// # Cancel safety
    ///
    /// A dropped future loses its place in the queue, and nothing else.
    ///
    /// ```
    /// use blitz_io::sync::Semaphore;
    ///
    /// # pollster::block_on(async {
    /// let semaphore = Semaphore::new(5);
    /// let permits = semaphore.acquire_many(3).await?;
    /// assert_eq!(permits.num_permits(), 3);
    /// # Ok::<(), blitz_io::sync::AcquireError>(())
    /// # }).unwrap();
    /// ```
    #[track_caller]
    pub fn acquire_many(
        &self,
        n: u32,
    ) -> impl Future<Output = Result<SemaphorePermit<'_>, AcquireError>> {
        let caller = Caller::here();
        async move {
            if !self.take_in_budget(n as usize) {
                self.permits
                    .wait(n as usize, Kind::Semaphore, caller)
                    .await?;
            }
            Ok(self.permit(n as usize, caller, Acquirer::of_poll().await))
        }
    }

    /// Takes one permit, if there is one and no task or thread waits.
    ///
    /// # Errors
    ///
    /// If the semaphore is closed, or there is none.
    ///
    /// ```
    /// use blitz_io::sync::{Semaphore, TryAcquireError};
    ///
    /// let semaphore = Semaphore::new(1);
    /// let _permit = semaphore.try_acquire()?;
    /// assert_eq!(semaphore.try_acquire().unwrap_err(), TryAcquireError::NoPermits);
    /// # Ok::<(), TryAcquireError>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn try_acquire(&self) -> Result<SemaphorePermit<'_>, TryAcquireError> {
        self.try_acquire_many(1)
    }

    /// Takes `n` permits at once, if that many are available and no task or thread waits.
    ///
    /// # Errors
    ///
    /// If the semaphore is closed, or there are too few.
    ///
    /// # Panics
    ///
    /// If `n` exceeds [`MAX_PERMITS`](Semaphore::MAX_PERMITS), which it can on
    /// 32-bit systems.
    ///
    /// ```
    /// use blitz_io::sync::Semaphore;
    ///
    /// let semaphore = Semaphore::new(5);
    /// assert!(semaphore.try_acquire_many(5).is_ok());
    /// assert!(semaphore.try_acquire_many(6).is_err());
    /// ```
    #[inline]
    #[track_caller]
    pub fn try_acquire_many(&self, n: u32) -> Result<SemaphorePermit<'_>, TryAcquireError> {
        self.try_take(n as usize)?;
        Ok(self.permit(n as usize, Caller::here(), Acquirer::at_once()))
    }

    /// Acquires as [`acquire`](Semaphore::acquire) does, for a thread, which is blocked until then.
    ///
    /// Not to be called by a task: the thread it runs on would be blocked. In a task of this
    /// project's runtime it panics.
    ///
    /// # Errors
    ///
    /// If the semaphore is closed, or gets closed during the wait.
    ///
    /// ```
    /// use blitz_io::sync::Semaphore;
    ///
    /// let semaphore = Semaphore::new(0);
    /// std::thread::scope(|scope| {
    ///     let waiter = scope.spawn(|| semaphore.blocking_acquire().map(|permit| permit.forget()));
    ///     semaphore.add_permits(1);
    ///     waiter.join().unwrap()
    /// })?;
    /// # Ok::<(), blitz_io::sync::AcquireError>(())
    /// ```
    #[track_caller]
    #[doc(alias = "acquire_blocking")]
    pub fn blocking_acquire(&self) -> Result<SemaphorePermit<'_>, AcquireError> {
        self.blocking_acquire_many(1)
    }

    /// Acquires as [`acquire_many`](Semaphore::acquire_many) does, for a thread, which is blocked
    /// until then.
    ///
    /// # Errors
    ///
    /// If the semaphore is closed, or gets closed during the wait.
    ///
    /// # Panics
    ///
    /// If `n` exceeds [`MAX_PERMITS`](Semaphore::MAX_PERMITS), which it can on
    /// 32-bit systems. In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// use blitz_io::sync::Semaphore;
    ///
    /// let semaphore = Semaphore::new(3);
    /// assert_eq!(semaphore.blocking_acquire_many(2)?.num_permits(), 2);
    /// # Ok::<(), blitz_io::sync::AcquireError>(())
    /// ```
    #[track_caller]
    pub fn blocking_acquire_many(&self, n: u32) -> Result<SemaphorePermit<'_>, AcquireError> {
        self.take_until(n, None).map_err(|_| AcquireError(()))?;
        Ok(self.permit(n as usize, Caller::here(), Acquirer::current()))
    }

    /// Acquires as [`blocking_acquire`](Semaphore::blocking_acquire) does, but waits no longer than
    /// `timeout`.
    ///
    /// For threads. A task awaits [`acquire`](Semaphore::acquire) in a `timeout` of its runtime.
    ///
    /// # Errors
    ///
    /// [`NoPermits`](TryAcquireError::NoPermits) if `timeout` elapses,
    /// [`Closed`](TryAcquireError::Closed) if the semaphore is closed, or gets closed during the wait.
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// use blitz_io::sync::{Semaphore, TryAcquireError};
    /// use std::time::Duration;
    ///
    /// let semaphore = Semaphore::new(1);
    /// let _permit = semaphore.blocking_acquire_timeout(Duration::from_millis(1))?;
    /// let none = semaphore.blocking_acquire_timeout(Duration::from_millis(1));
    /// assert_eq!(none.unwrap_err(), TryAcquireError::NoPermits);
    /// # Ok::<(), TryAcquireError>(())
    /// ```
    #[track_caller]
    #[doc(alias = "acquire_timeout")]
    pub fn blocking_acquire_timeout(
        &self,
        timeout: Duration,
    ) -> Result<SemaphorePermit<'_>, TryAcquireError> {
        self.blocking_acquire_many_timeout(1, timeout)
    }

    /// Acquires as [`blocking_acquire`](Semaphore::blocking_acquire) does, but waits no longer than
    /// until `deadline`.
    ///
    /// # Errors
    ///
    /// As [`blocking_acquire_timeout`](Semaphore::blocking_acquire_timeout).
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// use blitz_io::sync::{Semaphore, TryAcquireError};
    /// use std::time::{Duration, Instant};
    ///
    /// let semaphore = Semaphore::new(0);
    /// let soon = Instant::now() + Duration::from_millis(1);
    /// let none = semaphore.blocking_acquire_deadline(soon);
    /// assert_eq!(none.unwrap_err(), TryAcquireError::NoPermits);
    /// ```
    #[track_caller]
    #[doc(alias = "acquire_deadline")]
    pub fn blocking_acquire_deadline(
        &self,
        deadline: Instant,
    ) -> Result<SemaphorePermit<'_>, TryAcquireError> {
        self.blocking_acquire_many_deadline(1, deadline)
    }

    /// Acquires as [`blocking_acquire_many`](Semaphore::blocking_acquire_many) does, but waits no
    /// longer than `timeout`.
    ///
    /// # Errors
    ///
    /// As [`blocking_acquire_timeout`](Semaphore::blocking_acquire_timeout).
    ///
    /// # Panics
    ///
    /// As [`blocking_acquire_many`](Semaphore::blocking_acquire_many).
    ///
    /// ```
    /// use blitz_io::sync::Semaphore;
    /// use std::time::Duration;
    ///
    /// let semaphore = Semaphore::new(3);
    /// let two = semaphore.blocking_acquire_many_timeout(2, Duration::from_millis(1))?;
    /// assert!(semaphore.blocking_acquire_many_timeout(2, Duration::from_millis(1)).is_err());
    /// # drop(two);
    /// # Ok::<(), blitz_io::sync::TryAcquireError>(())
    /// ```
    #[track_caller]
    pub fn blocking_acquire_many_timeout(
        &self,
        n: u32,
        timeout: Duration,
    ) -> Result<SemaphorePermit<'_>, TryAcquireError> {
        self.take_until(n, after(timeout))?;
        Ok(self.permit(n as usize, Caller::here(), Acquirer::current()))
    }

    /// Acquires as [`blocking_acquire_many`](Semaphore::blocking_acquire_many) does, but waits no
    /// longer than until `deadline`.
    ///
    /// # Errors
    ///
    /// As [`blocking_acquire_timeout`](Semaphore::blocking_acquire_timeout).
    ///
    /// # Panics
    ///
    /// As [`blocking_acquire_many`](Semaphore::blocking_acquire_many).
    ///
    /// ```
    /// use blitz_io::sync::Semaphore;
    /// use std::time::Instant;
    ///
    /// let semaphore = Semaphore::new(3);
    /// let two = semaphore.blocking_acquire_many_deadline(2, Instant::now())?; // they are free
    /// assert_eq!(two.num_permits(), 2);
    /// # Ok::<(), blitz_io::sync::TryAcquireError>(())
    /// ```
    #[track_caller]
    pub fn blocking_acquire_many_deadline(
        &self,
        n: u32,
        deadline: Instant,
    ) -> Result<SemaphorePermit<'_>, TryAcquireError> {
        self.take_until(n, Some(deadline))?;
        Ok(self.permit(n as usize, Caller::here(), Acquirer::current()))
    }

    /// Acquires as [`acquire`](Semaphore::acquire) does, with a permit that keeps the semaphore
    /// alive.
    ///
    /// # Errors
    ///
    /// If the semaphore is closed, or gets closed during the wait.
    ///
    /// # Cancel safety
    ///
    /// A dropped future loses its place in the queue, and nothing else.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use blitz_io::sync::Semaphore;
    ///
    /// # pollster::block_on(async {
    /// let semaphore = Arc::new(Semaphore::new(1));
    /// let permit = semaphore.clone().acquire_owned().await?;
    /// std::thread::spawn(move || drop(permit)).join().unwrap();
    /// assert_eq!(semaphore.available_permits(), 1);
    /// # Ok::<(), blitz_io::sync::AcquireError>(())
    /// # }).unwrap();
    /// ```
    #[track_caller]
    pub fn acquire_owned(
        self: Arc<Self>,
    ) -> impl Future<Output = Result<OwnedSemaphorePermit, AcquireError>> {
        self.acquire_many_owned(1)
    }

    /// Acquires as [`acquire_many`](Semaphore::acquire_many) does, with permits that keep the
    /// semaphore alive.
    ///
    /// # Errors
    ///
    /// If the semaphore is closed, or gets closed during the wait.
    ///
    /// # Panics
    ///
    /// If `n` exceeds [`MAX_PERMITS`](Semaphore::MAX_PERMITS), which it can on
    /// 32-bit systems.
    ///
    /// # Cancel safety
    ///
    /// A dropped future loses its place in the queue, and nothing else.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use blitz_io::sync::Semaphore;
    ///
    /// # pollster::block_on(async {
    /// let semaphore = Arc::new(Semaphore::new(3));
    /// let permits = semaphore.acquire_many_owned(2).await?;
    /// assert_eq!(permits.semaphore().available_permits(), 1);
    /// # Ok::<(), blitz_io::sync::AcquireError>(())
    /// # }).unwrap();
    /// ```
    #[track_caller]
    pub fn acquire_many_owned(
        self: Arc<Self>,
        n: u32,
    ) -> impl Future<Output = Result<OwnedSemaphorePermit, AcquireError>> {
        let caller = Caller::here();
        async move {
            if !self.take_in_budget(n as usize) {
                self.permits
                    .wait(n as usize, Kind::Semaphore, caller)
                    .await?;
            }
            Ok(self.owned_permit(n as usize, caller, Acquirer::of_poll().await))
        }
    }

    /// Tries as [`try_acquire`](Semaphore::try_acquire) does, with a permit that keeps the
    /// semaphore alive.
    ///
    /// # Errors
    ///
    /// If the semaphore is closed, or there is no permit.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use blitz_io::sync::Semaphore;
    ///
    /// let semaphore = Arc::new(Semaphore::new(1));
    /// let _permit = semaphore.clone().try_acquire_owned()?;
    /// assert!(semaphore.try_acquire_owned().is_err());
    /// # Ok::<(), blitz_io::sync::TryAcquireError>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn try_acquire_owned(self: Arc<Self>) -> Result<OwnedSemaphorePermit, TryAcquireError> {
        self.try_acquire_many_owned(1)
    }

    /// Tries as [`try_acquire_many`](Semaphore::try_acquire_many) does, with permits that keep the
    /// semaphore alive.
    ///
    /// # Errors
    ///
    /// If the semaphore is closed, or there are too few permits.
    ///
    /// # Panics
    ///
    /// If `n` exceeds [`MAX_PERMITS`](Semaphore::MAX_PERMITS), which it can on
    /// 32-bit systems.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use blitz_io::sync::Semaphore;
    ///
    /// let semaphore = Arc::new(Semaphore::new(3));
    /// let _permits = semaphore.clone().try_acquire_many_owned(2)?;
    /// assert!(semaphore.try_acquire_many_owned(2).is_err());
    /// # Ok::<(), blitz_io::sync::TryAcquireError>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn try_acquire_many_owned(
        self: Arc<Self>,
        n: u32,
    ) -> Result<OwnedSemaphorePermit, TryAcquireError> {
        self.try_take(n as usize)?;
        Ok(self.owned_permit(n as usize, Caller::here(), Acquirer::at_once()))
    }

    /// Acquires as [`acquire_owned`](Semaphore::acquire_owned) does, for a thread, which is blocked
    /// until then.
    ///
    /// # Errors
    ///
    /// If the semaphore is closed, or gets closed during the wait.
    ///
    /// # Panics
    ///
    /// In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use blitz_io::sync::Semaphore;
    ///
    /// let semaphore = Arc::new(Semaphore::new(1));
    /// let _permit = semaphore.blocking_acquire_owned()?;
    /// # Ok::<(), blitz_io::sync::AcquireError>(())
    /// ```
    #[track_caller]
    pub fn blocking_acquire_owned(self: Arc<Self>) -> Result<OwnedSemaphorePermit, AcquireError> {
        self.blocking_acquire_many_owned(1)
    }

    /// Acquires as [`acquire_many_owned`](Semaphore::acquire_many_owned) does, for a thread, which
    /// is blocked until then.
    ///
    /// # Errors
    ///
    /// If the semaphore is closed, or gets closed during the wait.
    ///
    /// # Panics
    ///
    /// If `n` exceeds [`MAX_PERMITS`](Semaphore::MAX_PERMITS), which it can on
    /// 32-bit systems. In a task, if the runtime is that of this project: it must not be blocked.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use blitz_io::sync::Semaphore;
    ///
    /// let semaphore = Arc::new(Semaphore::new(2));
    /// let _permits = semaphore.blocking_acquire_many_owned(2)?;
    /// # Ok::<(), blitz_io::sync::AcquireError>(())
    /// ```
    #[track_caller]
    pub fn blocking_acquire_many_owned(
        self: Arc<Self>,
        n: u32,
    ) -> Result<OwnedSemaphorePermit, AcquireError> {
        self.take_until(n, None).map_err(|_| AcquireError(()))?;
        Ok(self.owned_permit(n as usize, Caller::here(), Acquirer::current()))
    }

    /// Ends all waiting, now and in future, with an error. Permits that are out
    /// stay valid.
    ///
    /// ```
    /// use blitz_io::sync::{Semaphore, TryAcquireError};
    ///
    /// let semaphore = Semaphore::new(1);
    /// semaphore.close();
    /// assert_eq!(semaphore.try_acquire().unwrap_err(), TryAcquireError::Closed);
    /// assert!(semaphore.blocking_acquire().is_err());
    /// ```
    pub fn close(&self) {
        coop::acted();
        self.permits.close();
    }

    /// Returns whether [`close`](Semaphore::close) has been called.
    ///
    /// ```
    /// use blitz_io::sync::Semaphore;
    ///
    /// let semaphore = Semaphore::new(1);
    /// assert!(!semaphore.is_closed());
    /// semaphore.close();
    /// assert!(semaphore.is_closed());
    /// ```
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.permits.is_closed()
    }

    /// Takes `n` permits if they can be had at once, for a task, which has a budget.
    #[inline]
    #[track_caller]
    fn take_in_budget(&self, n: usize) -> bool {
        assert_fits(n);
        self.permits.take_in_budget(n)
    }

    #[inline]
    #[track_caller]
    fn try_take(&self, n: usize) -> Result<(), TryAcquireError> {
        assert_fits(n);
        result_of(self.permits.take(n))
    }

    /// Takes `n` permits, and blocks the thread for them until the deadline at the latest.
    #[track_caller]
    fn take_until(&self, n: u32, deadline: Option<Instant>) -> Result<(), TryAcquireError> {
        coop::assert_may_block();
        let (n, caller) = (n as usize, Caller::here());
        let kind = Kind::Semaphore;
        let wait = |_| result_of(self.permits.wait_blocking(n, deadline, kind, caller));
        self.try_take(n).or_else(wait)
    }

    /// Returns the guard of permits that have been taken.
    #[inline]
    fn permit(&self, n: usize, caller: Caller, by: Acquirer) -> SemaphorePermit<'_> {
        self.acquired(n, caller, by, false);
        SemaphorePermit::new(self, n)
    }

    /// Like [`permit`](Self::permit), with a guard that keeps the semaphore alive.
    #[inline]
    fn owned_permit(
        self: Arc<Self>,
        n: usize,
        caller: Caller,
        by: Acquirer,
    ) -> OwnedSemaphorePermit {
        self.acquired(n, caller, by, true);
        OwnedSemaphorePermit::new(self, n)
    }

    /// Records that permits have been taken, and where the semaphore was created.
    #[inline]
    fn acquired(&self, n: usize, caller: Caller, by: Acquirer, may_move: bool) {
        let observed = &self.permits.observed;
        observed.object.created_at(observed.made_at());
        observed.object.permits_taken(n, caller, by);
        self.note_guard(by, may_move);
        observed.object.took_permits();
    }

    /// Tells the recorders that the program has forgotten permits.
    #[inline]
    fn forgot(&self, n: usize, caller: Caller) {
        if n != 0 {
            let observed = &self.permits.observed;
            let made_at = observed.made_at();
            observed
                .object
                .forgot_permits(n, Kind::Semaphore, made_at, caller);
        }
    }

    /// Tells the recorders that the program adds permits.
    #[inline]
    fn refilled(&self, n: usize) {
        let observed = &self.permits.observed;
        let made_at = observed.made_at();
        observed.object.added_permits(n, Kind::Semaphore, made_at);
    }

    /// The current task adds permits, for the report of a simulation.
    #[inline(always)]
    fn note_added(&self, n: usize, at: Caller) {
        if decisions::explains() {
            let _call = at.calls();
            let object = &self.permits.observed.object;
            object.did(Kind::Semaphore, || {
                format!("adds {} to {{}}", counted(n, "permit"))
            });
        }
    }

    /// The acquirer has one more guard of permits. `may_move`: it may move to another task.
    #[inline]
    fn note_guard(&self, by: Acquirer, may_move: bool) {
        self.permits.observed.object.permits_acquired(by, may_move);
    }

    /// The current task or thread drops or forgets a guard of permits.
    #[inline]
    fn note_no_guard(&self, may_move: bool) {
        self.permits.observed.object.permits_released(may_move);
    }

    /// Returns the permits of a guard.
    #[inline]
    fn give_back(&self, n: usize, may_move: bool) {
        self.permits.observed.object.permits_returned(n);
        self.note_no_guard(may_move);
        self.permits.give_back_checked(n);
    }
}

#[inline]
fn result_of(taken: Taken) -> Result<(), TryAcquireError> {
    match taken {
        Taken::Yes => Ok(()),
        Taken::No => Err(TryAcquireError::NoPermits),
        Taken::Closed => Err(TryAcquireError::Closed),
    }
}

/// Panics if `n` is above [`MAX_PERMITS`]. The compiler drops the check where any `u32` fits.
#[inline]
#[track_caller]
fn assert_fits(n: usize) {
    assert!(
        n <= MAX_PERMITS,
        "a semaphore may not have more than MAX_PERMITS permits ({MAX_PERMITS})"
    );
}

debug_fields!(impl Semaphore, |this| { ll_sem: Count(this.available_permits()) });

/// Formats the count as Tokio's semaphore does.
struct Count(usize);

impl fmt::Debug for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Semaphore")
            .field("permits", &self.0)
            .finish()
    }
}

named!(Semaphore: permits.observed.object);
