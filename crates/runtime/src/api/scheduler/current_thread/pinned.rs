//! Tasks that stay on the thread of their first poll.
//!
//! Threads take turns at running the tasks (`turns.rs`). If the thread whose turn it is gets the token of a
//! task that is pinned to another thread, it *sets the task aside*:
//!
//! 1. It keeps a waker of the task, and uses up the token. The task is idle then.
//! 2. The thread whose turn comes next wakes all the tasks that were set aside, and sets those aside again that are
//!    not its own.
//!
//! So a pinned task runs again as soon as its thread calls `block_on` again. The thread keeps the waker before the
//! task is idle, and only a thread with a turn comes to step 1 or 2, so the two do not overlap.
//!
//! A cancelled task ends on any thread. There are two cases:
//!
//! * The request to cancel finds a token. The thread that runs the token sees the request.
//! * The request finds the task idle, and makes a token. This is queued for the thread whose turn it is or comes
//!   next.
//!
//! The end of the runtime drops the futures of all tasks, on the thread that ends it. A pinned
//! future must bear that.

use std::sync::OnceLock;
use std::task::Waker;
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
    fn set_aside(&self, id: Id, waker: &Waker) {
        let shared = self.scheduler.counted();
        let mut set_aside = shared.set_aside.lock();
        set_aside.entry(id).or_insert_with(|| waker.clone());
    }
}
