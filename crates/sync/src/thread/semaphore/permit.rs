//! Permits that go back by themselves.

use std::mem;
use std::sync::Arc;

use blitz_io_observe::{Acquirer, Caller};

use super::Semaphore;
use crate::semaphores::permits;

/// Permits of a [`Semaphore`]; gives them back when dropped.
#[must_use = "permits go back at once when they are not kept"]
#[derive(Debug)]
pub struct SemaphorePermit<'a> {
    semaphore: &'a Semaphore,
    permits: usize,
}

/// Permits of a [`Semaphore`] that keep it alive; gives them back when dropped.
#[must_use = "permits go back at once when they are not kept"]
#[derive(Debug)]
pub struct OwnedSemaphorePermit {
    semaphore: Arc<Semaphore>,
    permits: usize,
}

impl SemaphorePermit<'_> {
    /// Forgets the permits: they are never given back, and the semaphore has as
    /// many fewer.
    #[track_caller]
    pub fn forget(self) {
        self.semaphore.forgot(self.permits, Caller::here());
        self.semaphore.note_no_guard(false);
        mem::forget(self);
    }
}

impl OwnedSemaphorePermit {
    /// Forgets the permits: they are never given back, and the semaphore has as
    /// many fewer.
    #[track_caller]
    pub fn forget(mut self) {
        self.semaphore.forgot(self.permits, Caller::here());
        self.permits = 0;
    }

    /// Returns the semaphore they are of.
    #[must_use]
    pub fn semaphore(&self) -> &Arc<Semaphore> {
        &self.semaphore
    }
}

permits! {
    SemaphorePermit<'a>, semaphore: &'a Semaphore, may_move: false;

    /// Takes over the permits of `other`.
    ///
    /// # Panics
    ///
    /// If they are of another semaphore, or more together than can be counted.
    /// Then both still return their permits when they are dropped.
    merge;

    /// Splits `n` permits off, if it has that many.
    split;
}

permits! {
    OwnedSemaphorePermit, semaphore: Arc<Semaphore>, may_move: true;

    /// Takes over the permits of `other`.
    ///
    /// # Panics
    ///
    /// If they are of another semaphore, or more together than can be counted.
    /// Then both still return their permits when they are dropped.
    merge;

    /// Splits `n` permits off, if it has that many.
    split;
}
