//! Primitives and channels for tasks, laid out as `tokio::sync` is: change
//! `use tokio::sync::…` to `use blitz_io::sync::…`.
//!
//! They need a [`Waker`](std::task::Waker) and nothing else, so they work under any
//! runtime, and between tasks of different ones. Waiters queue inside their futures
//! and are served in the order of their arrival; a wait that is given up loses
//! nothing. Whatever can be awaited can also be waited for by a thread: the methods
//! that begin with `blocking_` block it, on any thread, so do not call them in a
//! task.
//!
//! For threads alone, [`thread`](crate::thread) has more.

pub use blitz_sync::task::*;

pub use blitz_channel::{broadcast, mpmc, mpsc, oneshot, watch};

#[cfg(feature = "rt")]
pub use blitz_runtime::sync::*;

/// Futures that have a name.
pub mod futures {
    pub use blitz_sync::task::{Notified, OwnedNotified};
}
