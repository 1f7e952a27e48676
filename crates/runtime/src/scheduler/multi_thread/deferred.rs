//! Pinned tasks that have not begun, which a worker with many of its own leaves to others.
//!
//! A task that is pinned stays on the thread of its first poll (`pinned.rs`). A worker that is awake
//! could begin all new ones before another worker is up to steal some. So a worker is *ahead* when it has
//! a few pinned tasks more than its share, and then it *defers* a new one: it puts the token into
//! this queue, and calls a worker as for the inject queue. Each task is deferred once at most.
//!
//! A worker *passes over* this queue while it is ahead and another worker is awake. Otherwise
//! it takes a task where it takes those of the inject queue.
//!
//! # No task waits here while every worker sleeps
//!
//! The worker that defers a task is awake, and looks here again before it sleeps. So does a worker that
//! is called. A worker W on its way to sleep may see a task, and pass over:
//!
//! 1. W leaves the count of workers that are awake, and then looks, as in `idle.rs`.
//! 2. It passes over only if another worker S is in that count then.
//! 3. So S leaves the count after W, by a read-modify-write of the same word, and then looks, too.
//! 4. If S passes over, it is in W's place. The last worker that leaves sees no other, and gets up.
//!
//! A worker that is awake counts itself out. Otherwise the last one would get up and pass over for ever.
//!
//! # No task waits for ever
//!
//! The other worker that is awake may be stalled. So a worker that is ahead takes a task all the same:
//!
//! * every `global_queue_interval` polls, when the inject queue goes first.
//! * when the monitor has seen that no task is taken, and so has woken it. The monitor looks at this queue
//!   as at the inject queue.

use std::ptr::NonNull;

use super::idle::{Calls, Idle};
use crate::scheduler::inject::Inject;

/// How many tasks of its own a worker has at least when it is ahead. To wake another worker takes longer
/// than to begin a few tasks, and these may end soon.
#[cfg(not(loom))]
pub(super) const FEW: usize = 2;

/// With how many tasks a worker is ahead if its share is this.
#[cfg(not(loom))]
pub(super) fn ahead_from(share: usize) -> usize {
    // A worker compares its count with this number, and finds the share only when it has so many. So the
    // more tasks there are, the more rarely it does.
    share + share / 16 + FEW
}

/// See the head of this file.
pub struct Deferred<T>(Inject<T>);

impl<T> Deferred<T> {
    /// An empty queue.
    pub fn new() -> Self {
        Self(Inject::new())
    }

    /// Whether there is a task for a worker. `is_awake`: `idle` counts the worker as awake. `passes`: it
    /// passes over while another is.
    #[inline]
    pub fn is_for(&self, idle: &Idle, is_awake: bool, passes: impl FnOnce() -> bool) -> bool {
        !self.0.is_empty() && (idle.awake_besides(is_awake) == 0 || !passes())
    }

    /// Defers a task. The result is to be woken.
    pub fn defer(&self, task: NonNull<T>, idle: &Idle) -> Calls {
        self.0.push(task);
        idle.injected()
    }

    /// Takes a task.
    pub fn pop(&self) -> Option<NonNull<T>> {
        self.0.pop()
    }

    /// The queue itself, for looks that concern all queues.
    #[cfg(not(loom))]
    pub fn queue(&self) -> &Inject<T> {
        &self.0
    }
}
