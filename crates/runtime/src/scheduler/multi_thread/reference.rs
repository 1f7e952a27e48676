//! How a task refers to the scheduler it belongs to.
//!
//! As an address that counts nothing, so that spawning and ending a task change no count
//! that all workers share. What makes it valid:
//!
//! - A task that has not ended is in the list of the scheduler's tasks, or on its way
//!   into it, with the spawner holding a counted reference.
//! - Each worker holds a counted reference, and the last one leaves only when that list
//!   is empty (`leave.rs`).
//! - So the address is valid as long as the task has not ended. A task does not end
//!   before its token has been run, so it is valid for who holds the token, up to the
//!   moment of giving it away. Who needs the scheduler longer counts a reference first.
//! - The functions for the end of a task are called by workers, and by a spawner that
//!   finds the list closed.

use std::ptr::NonNull;
use std::sync::Arc;

use super::shared::Shared;
use super::worker::Worker;
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
    #[inline]
    pub(super) fn new(shared: &Arc<Shared>) -> Self {
        // As a raw pointer from the `Arc`, so that the count may be reached from it.
        let address = Arc::as_ptr(shared).cast_mut();
        // SAFETY: an `Arc`'s pointer is not null.
        Self(unsafe { NonNull::new_unchecked(address) })
    }

    #[inline]
    fn shared(&self) -> &Shared {
        // SAFETY: the callers are those of the list above.
        unsafe { self.0.as_ref() }
    }

    /// This thread's worker, if it is one of this scheduler.
    #[inline]
    pub(super) fn worker_here<'a>(self) -> Option<&'a Worker> {
        let address = self.0.as_ptr().cast_const().cast();
        let worker = context::with(|context| context.worker_for(address));
        // SAFETY: for a scheduler of this kind the worker is a `Worker`, which stays where
        // it is until it is taken out of the context, below all that the thread calls
        // meanwhile. The callers let the reference go before they return.
        unsafe { worker.cast::<Worker>().as_ref() }
    }

    /// The same if it has its seat, and so owns the seat's list of tasks.
    #[inline]
    pub(super) fn owner_here<'a>(self) -> Option<&'a Worker> {
        self.worker_here().filter(|worker| worker.seated.get())
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
        match self.worker_here() {
            Some(worker) => worker.woken(task),
            None => self.schedule_remotely(task),
        }
    }

    #[inline]
    fn release(&self, task: &Header) {
        let owned = &self.shared().owned;
        match self.owner_here() {
            // SAFETY: this thread has the seat, and with it the list.
            Some(worker) => unsafe { owned.remove_by_owner(task, worker.number()) },
            None => owned.remove(task),
        }
    }

    #[inline]
    fn outlives_call(&self) -> bool {
        self.worker_here().is_some()
    }

    #[inline]
    fn terminated(&self, id: Id) {
        self.shared().common().hooks.task_terminate(id);
    }
}
