//! How a task refers to the scheduler it belongs to.
//!
//! As an [`Address`], which counts nothing; the head of `address.rs` says what makes it
//! valid. Here:
//!
//! - The runtime holds a counted reference, and its end waits until the list of tasks is
//!   empty (`turns.rs`).
//! - The functions for the end of a task are called by the thread that runs the tasks,
//!   which is in a method of the runtime.

use std::sync::Arc;

use super::super::address::Address;
use super::core::Core;
use super::shared::Shared;
use crate::task::{Header, Id, Notified, Schedule};

/// See the head of this file.
#[derive(Clone, Copy)]
pub(super) struct Reference(Address<Shared>);

impl Reference {
    pub(super) fn new(shared: &Arc<Shared>) -> Self {
        Self(Address::of(shared))
    }

    fn shared(&self) -> &Shared {
        // SAFETY: the callers are those for whom the address is valid.
        unsafe { self.0.get() }
    }

    /// The core, if this is the thread that runs the tasks.
    #[inline]
    pub(super) fn core_here(&self) -> Option<&Core> {
        let core = self.0.worker_here();
        // SAFETY: for a scheduler of this kind the worker is a `Core` (`turns.rs`), which
        // stays where it is as long as it is in the context. `self` is a borrow from
        // the running function, which ends before the thread's turn does.
        unsafe { core.cast::<Core>().as_ref() }
    }

    /// Queues a task from another thread.
    #[cold]
    fn schedule_remotely(self, task: Notified) {
        // SAFETY: we have the token, so the address is valid.
        let shared = unsafe { self.0.counted() };
        shared.schedule_remotely(task);
    }
}

impl Schedule for Reference {
    #[inline]
    fn schedule(&self, task: Notified) {
        match self.core_here() {
            Some(core) => core.schedule(task, &self.shared().counters),
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
