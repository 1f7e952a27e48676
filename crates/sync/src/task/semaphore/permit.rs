//! Permits that go back by themselves.

use std::mem;
use std::ptr;
use std::sync::Arc;

use super::Semaphore;

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

impl<'a> SemaphorePermit<'a> {
    #[inline]
    pub(super) fn new(sem: &'a Semaphore, permits: usize) -> Self {
        Self { sem, permits }
    }

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
    pub fn forget(self) {
        mem::forget(self);
    }

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
    #[track_caller]
    pub fn merge(&mut self, mut other: Self) {
        assert!(
            ptr::eq(self.sem, other.sem),
            "merging permits from different semaphore instances"
        );
        let sum = self.permits.checked_add(other.permits);
        self.permits = sum.expect("number of permits overflowed");
        other.permits = 0;
    }

    /// Splits `n` permits off, if there are as many.
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
    pub fn split(&mut self, n: usize) -> Option<Self> {
        self.permits = self.permits.checked_sub(n)?;
        Some(Self::new(self.sem, n))
    }

    /// Returns the semaphore they are of.
    #[must_use]
    pub fn semaphore(&self) -> &Semaphore {
        self.sem
    }

    /// Returns how many permits these are.
    #[must_use]
    pub fn num_permits(&self) -> usize {
        self.permits
    }
}

impl Drop for SemaphorePermit<'_> {
    #[inline]
    fn drop(&mut self) {
        self.sem.give_back(self.permits);
    }
}

impl OwnedSemaphorePermit {
    #[inline]
    pub(super) fn new(sem: Arc<Semaphore>, permits: usize) -> Self {
        Self { sem, permits }
    }

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
    pub fn forget(mut self) {
        self.permits = 0;
    }

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
    #[track_caller]
    pub fn merge(&mut self, mut other: Self) {
        assert!(
            Arc::ptr_eq(&self.sem, &other.sem),
            "merging permits from different semaphore instances"
        );
        let sum = self.permits.checked_add(other.permits);
        self.permits = sum.expect("number of permits overflowed");
        other.permits = 0;
    }

    /// Splits `n` permits off, if there are as many.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use blitz_io::sync::Semaphore;
    ///
    /// let mut permits = Arc::new(Semaphore::new(3)).try_acquire_many_owned(3)?;
    /// assert_eq!(permits.split(2).unwrap().num_permits(), 2);
    /// # Ok::<(), blitz_io::sync::TryAcquireError>(())
    /// ```
    pub fn split(&mut self, n: usize) -> Option<Self> {
        self.permits = self.permits.checked_sub(n)?;
        Some(Self::new(self.sem.clone(), n))
    }

    /// Returns the semaphore they are of.
    #[must_use]
    pub fn semaphore(&self) -> &Arc<Semaphore> {
        &self.sem
    }

    /// Returns how many permits these are.
    #[must_use]
    pub fn num_permits(&self) -> usize {
        self.permits
    }
}

impl Drop for OwnedSemaphorePermit {
    #[inline]
    fn drop(&mut self) {
        self.sem.give_back(self.permits);
    }
}
