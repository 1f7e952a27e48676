//! A work-stealing runtime for tasks, under Tokio's names.
//!
//! [`runtime`] starts one, [`task`] has what runs on it, [`time`] waits for the clock,
//! and [`sync`] cancels. The repository's `book/src/how/runtime.md` describes the scheduler and
//! its costs.
//!
//! ```
//! use std::time::Duration;
//!
//! use blitz_io::runtime::Builder;
//! use blitz_io::{task, time};
//!
//! let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
//! let said = runtime.block_on(async {
//!     let child = task::spawn(async {
//!         time::sleep(Duration::from_millis(1)).await;
//!         "done"
//!     });
//!     time::timeout(Duration::from_secs(60), child).await
//! });
//! assert_eq!(said.unwrap().unwrap(), "done");
//! # Ok::<(), std::io::Error>(())
//! ```

#![cfg_attr(docsrs, feature(doc_cfg), doc(auto_cfg(hide(loom))))]

#[cfg(not(loom))]
mod api;
// The models use the kernel as it stands.
#[cfg(not(loom))]
mod kernel;
#[cfg(loom)]
#[doc(hidden)]
pub mod kernel;

#[cfg(not(loom))]
pub use api::*;
#[doc(hidden)]
pub use kernel::context::thread_rng_n;

/// Primitives for tasks, beside those of `blitz_io_sync`.
pub mod sync {
    pub use crate::kernel::cancellation_token::{
        CancellationToken, DropGuard, DropGuardRef, WaitForCancellationFuture,
        WaitForCancellationFutureOwned,
    };
}

/// The examples of the README run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
