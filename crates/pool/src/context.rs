//! The context of a closure: whether it runs in another thread than its caller.

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

    /// Returns `true` if the closure runs in another thread than its caller.
    #[inline]
    pub fn migrated(&self) -> bool {
        self.migrated
    }
}

/// Returns the largest number of threads that a pool can have.
pub fn max_num_threads() -> usize {
    u16::MAX as usize
}
