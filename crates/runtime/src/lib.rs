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

// The model checker sees only the parts that have models, and they leave much unused.
#![cfg_attr(docsrs, feature(doc_cfg), doc(auto_cfg(hide(loom))))]
#![cfg_attr(loom, allow(dead_code, unused_imports))]

#[cfg(not(loom))]
mod blocking;
#[cfg(not(loom))]
mod common;
#[cfg(not(loom))]
mod config;
mod context;
mod driver;
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
mod pool;
#[cfg(not(loom))]
pub mod runtime;
#[cfg(not(loom))]
mod runtime_id;
mod scheduler;
#[cfg(not(loom))]
mod seed;
mod stalls;
#[cfg_attr(loom, path = "task/loom.rs")]
pub mod task;
#[cfg(not(loom))]
pub mod time;
mod timers;
#[cfg(not(loom))]
mod tokio_handle;
#[cfg(not(loom))]
mod trace;

#[doc(hidden)]
pub use context::random as thread_rng_n;

/// Primitives for tasks, beside those of `blitz_io_sync`.
pub mod sync {
    pub use crate::task::cancellation_token::{
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
    pub use blitz_io_observe::About;
}

/// Items for the models of this crate: not part of the public interface.
#[cfg(loom)]
#[doc(hidden)]
#[allow(missing_docs)]
pub mod model {
    pub mod pool {
        pub use crate::pool::queue;
    }
    pub use crate::stalls::polling;
    pub use crate::task::raw::model as task;
    pub mod time {
        pub use crate::timers::wheel::{Timer, Wheel};
    }
    pub mod current_thread {
        pub use crate::scheduler::current_thread::core_cell;
    }
    pub mod scheduler {
        pub use crate::driver::Driver;
        pub use crate::scheduler::inject::Inject;
        pub use crate::scheduler::multi_thread::{idle, inbox, lifo_slot, queue, run_batch};
    }
}

/// The examples of the README run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
