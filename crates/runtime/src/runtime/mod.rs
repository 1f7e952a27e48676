//! Runtimes: what runs tasks, timers and blocking work.
//!
//! [`Runtime::new`] and [`Builder`] make one; [`Runtime::block_on`] brings a thread into
//! it; a [`Handle`] is what other threads have of it. There are two flavours:
//!
//! - **multi-thread**: workers, each on a thread of its own, that steal tasks from each
//!   other;
//! - **current-thread**: the thread in `block_on` runs all tasks.
//!
//! There is no I/O in it yet.

mod block;
mod builder;
pub(crate) mod enter;
pub(crate) mod errors;
mod handle;
mod here;
pub(crate) mod hooks;
mod id;
mod launch;
mod local;
pub(crate) mod metrics;
#[allow(clippy::module_inception)]
mod runtime;
pub(crate) mod seed;

pub use builder::{Builder, UnhandledPanic};
pub use handle::{EnterGuard, Handle, TryCurrentError};
pub use here::{is_rt_shutdown_err, worker_index};
pub use hooks::TaskMeta;
pub use id::Id;
pub use local::{LocalOptions, LocalRuntime};
pub use metrics::{
    HistogramConfiguration, InvalidHistogramConfiguration, LogHistogram, LogHistogramBuilder,
    RuntimeMetrics,
};
pub use runtime::{Runtime, RuntimeFlavor};
pub use seed::RngSeed;
