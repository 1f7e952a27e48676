//! Primitives for threads and tasks that wait, on one small futex core.
//!
//! [`task`] has the primitives that a task awaits, with Tokio's names. [`thread`](mod@thread) has
//! those that block a thread, with the names of parking_lot, std and crossbeam. Both use the same
//! queue of waiters, and the primitives in `task` can also block a thread.
//!
//! ```
//! use std::sync::Arc;
//!
//! use blitz_io::{sync, thread}; // `sync` has the contents of `task` here
//!
//! let permits = Arc::new(sync::Semaphore::new(1));
//! let total = Arc::new(thread::Mutex::new(0));
//!
//! let (p, t) = (permits.clone(), total.clone());
//! let worker = std::thread::spawn(move || {
//!     let _permit = p.blocking_acquire().unwrap();
//!     *t.lock() += 1;
//! });
//! pollster::block_on(async { // the crate pollster
//!     let _permit = permits.acquire().await.unwrap();
//!     *total.lock() += 1;
//! });
//! worker.join().unwrap();
//! assert_eq!(*total.lock(), 2);
//! ```

#![cfg_attr(docsrs, feature(doc_cfg), doc(auto_cfg(hide(loom))))]

mod cell_traits;
mod semaphores;
pub mod task;
pub mod thread;

/// Returns how a lock's release is kept in order before its look for waiters:
///
/// - `"membarrier"`: waiters make the system run the fence, and the release is a plain store.
/// - `"fence"`: the same would be possible, but the system refuses the call or answers it late.
/// - `"sequentially consistent store"`: other systems and processors.
pub fn release_fence() -> &'static str {
    blitz_io_core::fences::mechanism()
}

/// The examples of the README run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
