//! Tasks that stay on the thread of their first poll.
//!
//! Threads take turns at running the tasks (`turns.rs`). A token of a task that is pinned to
//! another thread than the one whose turn it is, is *set aside*. The thread whose turn comes
//! next queues all those tokens again, and sets those aside that are not its own. So a pinned
//! task runs again as soon as its thread calls `block_on` again.
//!
//! The end of the runtime drops the futures of all tasks, on the thread that ends it. A pinned
//! future must bear that.

use std::sync::OnceLock;
use std::thread::ThreadId;

use super::shared::Shared;
use crate::api::scheduler::reference::Reference;
use crate::kernel::context;
use crate::kernel::task::{Header, Id, Notified, Schedule};

/// The scheduler of a pinned task.
#[derive(Clone)]
pub(crate) struct Pinned {
    scheduler: Reference<Shared>,
    /// The thread of the first poll.
    thread: OnceLock<ThreadId>,
}

impl Pinned {
    pub(in crate::api::scheduler) fn new(scheduler: Reference<Shared>) -> Self {
        Self {
            scheduler,
            thread: OnceLock::new(),
        }
    }
}

impl Schedule for Pinned {
    const PINS: bool = true;

    #[inline]
    fn schedule(&self, task: Notified) {
        self.scheduler.schedule(task);
    }

    #[inline]
    fn release(&self, task: &Header) {
        self.scheduler.release(task);
    }

    fn unhandled_panic(&self) {
        self.scheduler.unhandled_panic();
    }

    fn terminated(&self, id: Id) {
        self.scheduler.terminated(id);
    }

    #[inline]
    fn pin(&self) -> bool {
        let here = context::thread_id();
        *self.thread.get_or_init(|| here) == here
    }

    #[cold]
    fn set_aside(&self, task: Notified) {
        let shared = self.scheduler.counted();
        shared.set_aside.lock().push(task);
    }
}
