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

// The models use the kernel as it stands.
#[cfg(not(loom))]
mod kernel;
#[cfg(loom)]
#[doc(hidden)]
pub mod kernel;

#[cfg(not(loom))]
mod blocking;
#[cfg(not(loom))]
mod common;
#[cfg(not(loom))]
mod config;
#[cfg(not(loom))]
mod drivers;
#[cfg(not(loom))]
mod enter;
#[cfg(not(loom))]
mod errors;
#[cfg(not(loom))]
mod hooks;
#[cfg(feature = "hyper")]
pub mod hyper;
#[cfg(feature = "io")]
mod io;
#[cfg(not(loom))]
mod metrics;
#[cfg(not(loom))]
#[doc(hidden)]
pub mod pinned;
#[cfg(not(loom))]
mod pool;
#[cfg(all(feature = "tracing", not(loom)))]
mod root_waker;
#[cfg(not(loom))]
pub mod runtime;
#[cfg(not(loom))]
mod runtime_id;
#[cfg(not(loom))]
mod scheduler;
#[cfg(not(loom))]
mod seed;
#[cfg(not(loom))]
mod stalls;
#[cfg(not(loom))]
pub mod task;
#[cfg(not(loom))]
pub mod time;
#[cfg(not(loom))]
mod timers;
#[cfg(not(loom))]
mod tokio_handle;
#[cfg(not(loom))]
mod trace;

#[doc(hidden)]
pub use kernel::context::random as thread_rng_n;

/// Primitives for tasks, beside those of `blitz_io_sync`.
pub mod sync {
    pub use crate::kernel::cancellation_token::{
        CancellationToken, DropGuard, DropGuardRef, WaitForCancellationFuture,
        WaitForCancellationFutureOwned,
    };
}

/// Items for the other crates of this workspace: not part of the public interface, and free to
/// change with any release.
#[cfg(not(loom))]
#[doc(hidden)]
pub mod internals {
    pub use crate::blocking::{spawn_blocking_as, spawn_mandatory_blocking, spawn_short_blocking};
    pub use crate::errors::SHUTTING_DOWN;
    #[cfg(feature = "io")]
    pub use crate::io::own_driver;
    pub use crate::pinned;
    #[cfg(feature = "sim")]
    pub use crate::runtime::restart;
    #[cfg(feature = "sim")]
    pub use crate::scheduler::abort_tasks;
    pub use crate::time::simulated_now;
    pub use blitz_io_observe::About;
}

/// The examples of the README run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
