//! A work-stealing runtime for tasks, under Tokio's names.
//!
//! [`runtime`] starts one, [`task`] has what runs on it, [`time`] waits for the clock, and
//! [`sync`] cancels. How the scheduler works, and what it costs, is told in the
//! repository's `docs/runtime.md`.
//!
//! ```
//! use std::time::Duration;
//!
//! use blitz_runtime::runtime::Builder;
//! use blitz_runtime::{task, time};
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
#![cfg_attr(loom, allow(dead_code, unused_imports))]

mod blocking;
mod bolt;
mod cancellation_token;
#[cfg(not(loom))]
mod common;
mod context;
mod driver;
mod hints;
#[cfg(all(feature = "hyper", not(loom)))]
pub mod hyper;
#[cfg(not(loom))]
pub mod runtime;
mod scheduler;
pub mod task;
#[cfg(not(loom))]
mod task_local;
mod task_tracker;
pub mod time;
#[cfg(not(loom))]
mod trace;

#[doc(hidden)]
pub use context::random as thread_rng_n;

/// What tasks tell each other, beside what `blitz_sync` has.
pub mod sync {
    pub use crate::cancellation_token::{
        CancellationToken, DropGuard, DropGuardRef, WaitForCancellationFuture,
        WaitForCancellationFutureOwned,
    };
}

/// For the models of this crate: not part of the public interface.
#[cfg(loom)]
#[doc(hidden)]
#[allow(missing_docs)]
pub mod model {
    pub mod cancellation_token {
        pub use crate::cancellation_token::mutant;
    }
    pub mod task_tracker {
        pub use crate::task_tracker::mutant;
    }
    pub mod bolt {
        pub use crate::bolt::mutant;
    }
    pub mod blocking {
        pub use crate::blocking::{desk, mutant};
    }
    pub use crate::task::model as task;
    pub mod time {
        pub use crate::time::wheel::{Timer, Wheel, mutant};
    }
    pub mod current_thread {
        pub use crate::scheduler::current_thread::{mutant, place};
    }
    pub mod scheduler {
        pub use crate::driver::Driver;
        pub use crate::scheduler::multi_thread::{idle, inject, mutant, queue, sleep, slot, tray};
    }
}

/// The examples of the README run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
