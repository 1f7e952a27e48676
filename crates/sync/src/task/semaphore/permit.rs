//! Permits that go back by themselves.

use std::mem;
use std::sync::Arc;

use blitz_io_observe::{Acquirer, Caller};

use super::Semaphore;
use crate::semaphores::permits;

/// Permits of a [`Semaphore`]; gives them back when dropped.
///
/// ```
/// use blitz_io::sync::Semaphore;
///
/// let semaphore = Semaphore::new(2);
/// let permit = semaphore.try_acquire()?;
/// assert_eq!(semaphore.available_permits(), 1);
/// drop(permit);
/// assert_eq!(semaphore.available_permits(), 2);
/// # Ok::<(), blitz_io::sync::TryAcquireError>(())
/// ```
#[must_use = "permits go back at once when they are not kept"]
#[derive(Debug)]
pub struct SemaphorePermit<'a> {
    sem: &'a Semaphore,
    permits: usize,
}

/// Permits of a [`Semaphore`] that keep it alive; gives them back when dropped.
///
/// ```
/// use std::sync::Arc;
/// use blitz_io::sync::Semaphore;
///
/// let permit = Arc::new(Semaphore::new(2)).try_acquire_owned()?;
/// assert_eq!(permit.semaphore().available_permits(), 1);
/// # Ok::<(), blitz_io::sync::TryAcquireError>(())
/// ```
#[must_use = "permits go back at once when they are not kept"]
#[derive(Debug)]
pub struct OwnedSemaphorePermit {
    sem: Arc<Semaphore>,
    permits: usize,
}

impl SemaphorePermit<'_> {
    /// Forgets the permits: they are never given back, and the semaphore has as
    /// many fewer.
    ///
    /// ```
    /// use blitz_io::sync::Semaphore;
    ///
    /// let semaphore = Semaphore::new(2);
    /// semaphore.try_acquire()?.forget();
    /// assert_eq!(semaphore.available_permits(), 1);
    /// # Ok::<(), blitz_io::sync::TryAcquireError>(())
    /// ```
    #[track_caller]
    pub fn forget(self) {
        self.sem.forgot(self.permits, Caller::here());
        self.sem.note_no_guard(false);
        mem::forget(self);
    }

    /// Returns the semaphore they are of.
    #[must_use]
    pub fn semaphore(&self) -> &Semaphore {
        self.sem
    }
}

impl OwnedSemaphorePermit {
    /// Forgets the permits: they are never given back, and the semaphore has as
    /// many fewer.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use blitz_io::sync::Semaphore;
    ///
    /// let semaphore = Arc::new(Semaphore::new(2));
    /// semaphore.clone().try_acquire_owned()?.forget();
    /// assert_eq!(semaphore.available_permits(), 1);
    /// # Ok::<(), blitz_io::sync::TryAcquireError>(())
    /// ```
    #[track_caller]
    pub fn forget(mut self) {
        self.sem.forgot(self.permits, Caller::here());
        self.permits = 0;
    }

    /// Returns the semaphore they are of.
    #[must_use]
    pub fn semaphore(&self) -> &Arc<Semaphore> {
        &self.sem
    }
}

permits! {
    SemaphorePermit<'a>, sem: &'a Semaphore, may_move: false;

    /// Takes over the permits of `other`.
    ///
    /// # Panics
    ///
    /// If they are of another semaphore, or more together than can be counted.
    ///
    /// ```
    /// use blitz_io::sync::Semaphore;
    ///
    /// let semaphore = Semaphore::new(2);
    /// let mut permit = semaphore.try_acquire()?;
    /// permit.merge(semaphore.try_acquire()?);
    /// assert_eq!(permit.num_permits(), 2);
    /// # Ok::<(), blitz_io::sync::TryAcquireError>(())
    /// ```
    merge;

    /// Splits `n` permits off, if it has that many.
    ///
    /// ```
    /// use blitz_io::sync::Semaphore;
    ///
    /// let semaphore = Semaphore::new(3);
    /// let mut permits = semaphore.try_acquire_many(3)?;
    /// let two = permits.split(2).unwrap();
    /// assert_eq!((permits.num_permits(), two.num_permits()), (1, 2));
    /// assert!(permits.split(2).is_none());
    /// # Ok::<(), blitz_io::sync::TryAcquireError>(())
    /// ```
    split;
}

permits! {
    OwnedSemaphorePermit, sem: Arc<Semaphore>, may_move: true;

    /// Takes over the permits of `other`.
    ///
    /// # Panics
    ///
    /// If they are of another semaphore, or more together than can be counted.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use blitz_io::sync::Semaphore;
    ///
    /// let semaphore = Arc::new(Semaphore::new(2));
    /// let mut permit = semaphore.clone().try_acquire_owned()?;
    /// permit.merge(semaphore.try_acquire_owned()?);
    /// assert_eq!(permit.num_permits(), 2);
    /// # Ok::<(), blitz_io::sync::TryAcquireError>(())
    /// ```
    merge;

    /// Splits `n` permits off, if it has that many.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use blitz_io::sync::Semaphore;
    ///
    /// let mut permits = Arc::new(Semaphore::new(3)).try_acquire_many_owned(3)?;
    /// assert_eq!(permits.split(2).unwrap().num_permits(), 2);
    /// # Ok::<(), blitz_io::sync::TryAcquireError>(())
    /// ```
    split;
}
