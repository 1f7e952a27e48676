//! Locks, semaphores, notifications and channels for tasks, laid out like `tokio::sync`.
//!
//! ```
//! use std::sync::Arc;
//!
//! use blitz_io::sync::{Mutex, mpsc}; // was: tokio::sync
//!
//! # pollster::block_on(async {
//! let (found, mut all) = mpsc::channel(8);
//! let total = Arc::new(Mutex::new(0));
//! found.send(7).await.unwrap();
//! drop(found);
//! while let Some(number) = all.recv().await {
//!     *total.lock().await += number;
//! }
//! assert_eq!(*total.lock().await, 7);
//! # });
//! ```
//!
//! # Which primitive
//!
//! | you want to | use |
//! |---|---|
//! | give one task exclusive use of a value, also over an `.await` | [`Mutex`] |
//! | let many tasks read it, or one write it | [`RwLock`] |
//! | limit how many tasks do something | [`Semaphore`] |
//! | tell a task that something has happened | [`Notify`] |
//! | let tasks wait for each other, in rounds | [`Barrier`] |
//! | make a value once | [`OnceCell`], [`SetOnce`] |
//! | send values to one receiver | [`mpsc`]; a single value [`oneshot`] |
//! | send each value to one of several receivers | [`mpmc`], also between threads |
//! | send each value to all receivers | [`broadcast`] |
//! | show all receivers the newest value | [`watch`] |
//! | ask tasks to stop | `CancellationToken` (feature `rt`) |
//!
//! # For any runtime, and for threads
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
