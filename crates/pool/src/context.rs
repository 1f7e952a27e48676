//! What a closure is told about where it runs.

use std::marker::PhantomData;

/// Tells a closure of [`join_context`](crate::join_context()) whether it was stolen.
#[derive(Debug)]
pub struct FnContext {
    migrated: bool,
    /// Neither `Send` nor `Sync`.
    marker: PhantomData<*mut ()>,
}

impl FnContext {
    #[inline]
    pub(crate) fn new(migrated: bool) -> Self {
        Self {
            migrated,
            marker: PhantomData,
        }
    }

    /// Returns whether the closure runs in a different thread than the one that called.
    #[inline]
    pub fn migrated(&self) -> bool {
        self.migrated
    }
}

/// Returns the largest number of threads that a pool can have.
pub fn max_num_threads() -> usize {
    u16::MAX as usize
}
