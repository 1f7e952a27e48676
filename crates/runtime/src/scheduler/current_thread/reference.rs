//! How a task refers to the scheduler it belongs to.
//!
//! As an address that counts nothing, so that spawning and ending a task change no
//! count that all tasks share. What makes it valid:
//!
//! - A task that has not ended is in the list of the scheduler's tasks, or on its way
//!   into it with the spawner holding a counted reference.
//! - The runtime's end waits until that list is empty, and until then the runtime holds
//!   a counted reference (`turns.rs`).
//! - So the address is valid as long as the task has not ended. A task does not end
//!   before its token has been run, so it is valid for who holds the token, up to the
//!   moment of giving it away. Who needs the scheduler longer counts a reference first.
//! - The functions for the end of a task are called by the thread that runs the tasks,
//!   which is in a method of the runtime.

use std::ptr::NonNull;
use std::sync::Arc;

use super::core::Core;
use super::shared::Shared;
use crate::context;
use crate::task::{Header, Id, Notified, Schedule};

/// See the head of this file.
#[derive(Clone, Copy)]
pub(super) struct Reference(NonNull<Shared>);

// SAFETY: it stands for a `&Shared`, which may be sent.
unsafe impl Send for Reference {}
// SAFETY: as above.
unsafe impl Sync for Reference {}

impl Reference {
    pub(super) fn new(shared: &Arc<Shared>) -> Self {
        // As a raw pointer from the `Arc`, so that the count may be reached from it.
        let address = Arc::as_ptr(shared).cast_mut();
        // SAFETY: an `Arc`'s pointer is not null.
        Self(unsafe { NonNull::new_unchecked(address) })
    }

    fn shared(&self) -> &Shared {
        // SAFETY: the callers are those of the list above.
        unsafe { self.0.as_ref() }
    }

    /// The core, if this is the thread that runs the tasks.
    #[inline]
    pub(super) fn core_here(&self) -> Option<&Core> {
        let address = self.0.as_ptr().cast_const().cast();
        let core = context::with(|context| context.worker_for(address));
        // SAFETY: for a scheduler of this kind the worker is a `Core` (`turns.rs`), which
        // stays where it is as long as it is in the context. `self` is a borrow from
        // the running function, which ends before the thread's turn does.
        unsafe { core.cast::<Core>().as_ref() }
    }

    /// Queues a task from another thread.
    #[cold]
    fn schedule_remotely(self, task: Notified) {
        // SAFETY: we have the token, so the address is valid. The count is an `Arc`'s.
        let shared = unsafe {
            Arc::increment_strong_count(self.0.as_ptr());
            Arc::from_raw(self.0.as_ptr())
        };
        shared.schedule_remotely(task);
    }
}

impl Schedule for Reference {
    #[inline]
    fn schedule(&self, task: Notified) {
        match self.core_here() {
            Some(core) => core.push(task),
            None => self.schedule_remotely(task),
        }
    }

    #[inline]
    fn release(&self, task: &Header) {
        let owned = &self.shared().owned;
        match self.core_here() {
            // SAFETY: this thread has the core, and with it the list.
            Some(_) => unsafe { owned.remove_by_owner(task, 0) },
            None => owned.remove(task),
        }
    }

    #[inline]
    fn outlives_call(&self) -> bool {
        self.core_here().is_some()
    }

    #[cold]
    fn unhandled_panic(&self) {
        if let Some(core) = self.core_here() {
            core.unhandled_panic(self.shared());
        }
    }

    #[inline]
    fn terminated(&self, id: Id) {
        self.shared().common().hooks.task_terminate(id);
    }
}
