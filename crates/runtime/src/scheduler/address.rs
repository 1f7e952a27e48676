//! Where a scheduler is.
//!
//! An address that counts nothing, so that spawning and ending a task change no count
//! that all threads share. What makes it valid for its use as a task's
//! reference to its scheduler:
//!
//! - A task that has not ended is in the list of the scheduler's tasks, or on its way
//!   into it, with the spawner holding a counted reference.
//! - Some thread holds a counted reference until that list is empty for good: which one,
//!   `multi_thread/worker.rs` and `current_thread/shared.rs` say.
//! - So the address is valid as long as the task has not ended. A task does not end
//!   before its token has been run, so it is valid for the holder of the token, up to the
//!   moment of giving it away. Code that needs the scheduler longer counts a reference first.

use std::ptr::NonNull;
use std::sync::Arc;

use crate::context;

/// See the head of this file.
pub(super) struct Address<S>(NonNull<S>);

// SAFETY: it stands for a `&S`, which may be sent, and for an `Arc` of it.
unsafe impl<S: Send + Sync> Send for Address<S> {}
// SAFETY: as above.
unsafe impl<S: Send + Sync> Sync for Address<S> {}

impl<S> Clone for Address<S> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for Address<S> {}

impl<S> Address<S> {
    #[inline]
    pub(super) fn of(scheduler: &Arc<S>) -> Self {
        // As a raw pointer from the `Arc`, so that the count may be reached from it.
        let address = Arc::as_ptr(scheduler).cast_mut();
        // SAFETY: an `Arc`'s pointer is not null.
        Self(unsafe { NonNull::new_unchecked(address) })
    }

    /// The scheduler.
    ///
    /// # Safety
    ///
    /// It is there as long as what is returned is used.
    #[inline]
    pub(super) unsafe fn get<'a>(self) -> &'a S {
        // SAFETY: as the caller promises.
        unsafe { self.0.as_ref() }
    }

    /// The scheduler, with a reference that counts.
    ///
    /// # Safety
    ///
    /// It is there.
    pub(super) unsafe fn counted(self) -> Arc<S> {
        // SAFETY: the address is an `Arc`'s, and valid.
        unsafe {
            Arc::increment_strong_count(self.0.as_ptr());
            Arc::from_raw(self.0.as_ptr())
        }
    }

    /// What this thread works with if it is a worker of this scheduler; else null.
    #[inline]
    pub(super) fn worker_here(self) -> *const () {
        let address = self.0.as_ptr().cast_const().cast();
        context::with(|context| context.worker_for(address))
    }
}
