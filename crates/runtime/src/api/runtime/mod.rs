//! Runtimes: they run tasks, timers and blocking work.
//!
//! [`Runtime::new`] and [`Builder`] make one; [`Runtime::block_on`] enters it and blocks
//! the thread; other threads use a [`Handle`]. There are two flavours:
//!
//! - **multi-thread**: workers, each on a thread of its own, that steal tasks from each
//!   other;
//! - **current-thread**: the thread in `block_on` runs all tasks.

mod builder;
mod current;
#[cfg(feature = "taskdump")]
pub mod dump;
#[cfg(feature = "tokio")]
mod enter_tokio;
mod former_names;
mod handle;
#[cfg_attr(not(feature = "inspect"), path = "not_inspected.rs")]
mod inspected;
mod launch;
mod local_runtime;
mod metrics;
mod owner;

pub use builder::Builder;
pub use current::{is_rt_shutdown_err, worker_index};
#[cfg(feature = "taskdump")]
pub use dump::Dump;
pub use handle::{EnterGuard, Handle, RuntimeFlavor};
#[cfg(feature = "sim")]
pub use local_runtime::restart;
pub use local_runtime::{LocalOptions, LocalRuntime};
pub use metrics::RuntimeMetrics;
pub use owner::Runtime;

pub use crate::api::config::UnhandledPanic;
pub use crate::api::errors::TryCurrentError;
pub use crate::api::hooks::TaskMeta;
pub use crate::api::metrics::{
    HistogramConfiguration, InvalidHistogramConfiguration, LogHistogram, LogHistogramBuilder,
};
pub use crate::api::runtime_id::Id;
pub use crate::api::seed::RngSeed;
pub use crate::api::stalls::StalledWorker;
