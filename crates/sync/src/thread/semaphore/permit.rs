//! Permits that go back by themselves.

use std::mem;
use std::sync::Arc;

use super::Semaphore;

/// Permits of a [`Semaphore`]; gives them back when dropped.
#[must_use = "permits go back at once when they are not kept"]
#[derive(Debug)]
pub struct SemaphorePermit<'a> {
    semaphore: &'a Semaphore,
    permits: u32,
}

/// Permits of a [`Semaphore`] that keep it alive; gives them back when dropped.
#[must_use = "permits go back at once when they are not kept"]
#[derive(Debug)]
pub struct OwnedSemaphorePermit {
    semaphore: Arc<Semaphore>,
    permits: u32,
}

impl<'a> SemaphorePermit<'a> {
    #[inline]
    pub(super) fn new(semaphore: &'a Semaphore, permits: u32) -> Self {
        Self { semaphore, permits }
    }

    /// Forgets the permits: they are never given back, and the semaphore has as
    /// many fewer.
    pub fn forget(self) {
        mem::forget(self);
    }

    /// Takes over the permits of `other`.
    ///
    /// # Panics
    ///
    /// If they are of another semaphore, or more together than a `u32` can count.
    /// Both go back to the semaphore in their time.
    #[track_caller]
    pub fn merge(&mut self, mut other: Self) {
        assert!(
            std::ptr::eq(self.semaphore, other.semaphore),
            "merging permits from different semaphore instances"
        );
        let sum = self.permits.checked_add(other.permits);
        self.permits = sum.expect("too many permits for one guard");
        other.permits = 0;
    }

    /// Splits `n` permits off, if there are as many.
    pub fn split(&mut self, n: usize) -> Option<Self> {
        let n = u32::try_from(n).ok().filter(|n| *n <= self.permits)?;
        self.permits -= n;
        Some(Self::new(self.semaphore, n))
    }

    /// Returns how many permits these are.
    #[must_use]
    pub fn num_permits(&self) -> usize {
        self.permits as usize
    }
}

impl Drop for SemaphorePermit<'_> {
    #[inline]
    fn drop(&mut self) {
        self.semaphore.give_back(self.permits);
    }
}

impl OwnedSemaphorePermit {
    pub(super) fn new(semaphore: Arc<Semaphore>, permits: u32) -> Self {
        Self { semaphore, permits }
    }

    /// Forgets the permits: they are never given back, and the semaphore has as
    /// many fewer.
    pub fn forget(mut self) {
        self.permits = 0;
    }

    /// Takes over the permits of `other`.
    ///
    /// # Panics
    ///
    /// If they are of another semaphore, or more together than a `u32` can count.
    /// Both go back to the semaphore in their time.
    #[track_caller]
    pub fn merge(&mut self, mut other: Self) {
        assert!(
            Arc::ptr_eq(&self.semaphore, &other.semaphore),
            "merging permits from different semaphore instances"
        );
        let sum = self.permits.checked_add(other.permits);
        self.permits = sum.expect("too many permits for one guard");
        other.permits = 0;
    }

    /// Splits `n` permits off, if there are as many.
    pub fn split(&mut self, n: usize) -> Option<Self> {
        let n = u32::try_from(n).ok().filter(|n| *n <= self.permits)?;
        self.permits -= n;
        Some(Self::new(self.semaphore.clone(), n))
    }

    /// Returns how many permits these are.
    #[must_use]
    pub fn num_permits(&self) -> usize {
        self.permits as usize
    }

    /// Returns the semaphore they are of.
    #[must_use]
    pub fn semaphore(&self) -> &Arc<Semaphore> {
        &self.semaphore
    }
}

impl Drop for OwnedSemaphorePermit {
    fn drop(&mut self) {
        self.semaphore.give_back(self.permits);
    }
}
