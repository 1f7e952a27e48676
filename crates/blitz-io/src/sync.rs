//! Primitives and channels for tasks, laid out like `tokio::sync`: change
//! `use tokio::sync::…` to `use blitz_io::sync::…`.
//!
//! They need nothing but a [`Waker`](std::task::Waker), so they work under any runtime, and
//! between tasks of different runtimes. Waiters queue inside their futures and are served
//! in the order of their arrival; cancelling a wait loses nothing. A thread can wait for
//! everything that can be awaited: the methods that begin with `blocking_` block it, on any
//! thread, so do not call them in a task. With the ending `_timeout` (a `Duration`) or `_deadline` (an
//! [`Instant`](std::time::Instant)) they wait no longer than that. A task awaits the async form in a timeout
//! of its runtime: `time::timeout(duration, mutex.lock())`.
//!
//! [`thread`](crate::thread) has more primitives that are only for threads.

pub use blitz_io_sync::task::*;

pub use blitz_io_channel::{broadcast, mpmc, mpsc, oneshot, watch};

#[cfg(feature = "rt")]
pub use blitz_io_runtime::sync::*;

/// The named futures.
pub mod futures {
    pub use blitz_io_sync::task::{Notified, OwnedNotified};
}
