//! How a task refers to the scheduler it belongs to, and how it comes to it.
//!
//! As an [`Address`], which counts nothing; the head of `address.rs` says what makes it
//! valid. Here:
//!
//! - Each worker holds a counted reference, and the last one ends only when the list
//!   of tasks is empty (`shutdown.rs`).
//! - The functions for the end of a task are called by workers, and by a spawner that
//!   finds the list closed.

use std::future::Future;
use std::sync::Arc;

use super::super::address::Address;
use super::shared::Shared;
use super::worker::Worker;
use crate::core::{Header, Id, JoinHandle, Notified, Schedule};

/// See the head of this file.
#[derive(Clone, Copy)]
struct Reference(Address<Shared>);

impl Shared {
    /// Makes a task and queues it.
    #[inline]
    pub(crate) fn spawn<F>(self: &Arc<Self>, future: F, id: Id) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let reference = Reference(Address::of(self));
        let worker = reference.worker_here();
        let (join, task) = match reference.owner_here() {
            // SAFETY: this thread has the core, and with it the list. The future may go to
            // other threads.
            Some(owner) => unsafe { self.owned.bind_own(owner.index, future, reference, id) },
            // Spreads the tasks that are spawned by other threads over the lists.
            None => self.owned.bind(id.as_u64() as usize, future, reference, id),
        };
        self.common().hooks.task_spawn(id);
        match worker {
            Some(worker) => worker.spawned(task),
            None => self.spawned_remotely(task),
        }
        join
    }
}

impl Reference {
    #[inline]
    fn shared(&self) -> &Shared {
        // SAFETY: the callers are those for whom the address is valid.
        unsafe { self.0.get() }
    }

    /// This thread's worker, if it is one of this scheduler.
    #[inline]
    fn worker_here<'a>(self) -> Option<&'a Worker> {
        let worker = self.0.worker_here();
        // SAFETY: for a scheduler of this kind the worker is a `Worker`, which stays where
        // it is until it is taken out of the context, below all that the thread calls
        // meanwhile. The callers let the reference go before they return.
        unsafe { worker.cast::<Worker>().as_ref() }
    }

    /// The same if it has its core, and so owns the core's list of tasks.
    #[inline]
    fn owner_here<'a>(self) -> Option<&'a Worker> {
        self.worker_here().filter(|worker| worker.has_core.get())
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
        match self.worker_here() {
            Some(worker) => worker.woken(task),
            None => self.schedule_remotely(task),
        }
    }

    #[inline]
    fn release(&self, task: &Header) {
        let owned = &self.shared().owned;
        match self.owner_here() {
            // SAFETY: this thread has the core, and with it the list.
            Some(worker) => unsafe { owned.remove_by_owner(task, worker.index) },
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
