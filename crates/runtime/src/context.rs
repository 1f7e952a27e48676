//! What a thread knows of the runtime it is in.
//!
//! One thread-local structure of plain cells, without a destructor, so that
//! looking at it costs an address. Whoever sets something takes it back through a
//! guard, also when a panic passes.

use std::cell::Cell;
use std::ptr;

thread_local! {
    static CONTEXT: Context = const { Context::new() };
}

/// The state of one thread. See the functions of this module.
pub(crate) struct Context {
    /// The worker that this thread is at the moment, if it is one.
    worker: Cell<*const ()>,
    /// The header of the task that is being polled.
    task: Cell<*const ()>,
    /// The task that is being polled asked for its place at the end of the queue.
    yielded: Cell<bool>,
}

impl Context {
    const fn new() -> Self {
        Self {
            worker: Cell::new(ptr::null()),
            task: Cell::new(ptr::null()),
            yielded: Cell::new(false),
        }
    }
}

/// Gives the thread's context to `with`.
#[inline]
pub(crate) fn with<R>(with: impl FnOnce(&Context) -> R) -> R {
    CONTEXT.with(with)
}
