//! The runtimes and what users call: threads, drivers, timers and the pool around the kernel's
//! protocols.

mod blocking;
mod common;
mod config;
mod drivers;
mod enter;
mod errors;
mod hooks;
#[cfg(feature = "hyper")]
pub mod hyper;
#[cfg(feature = "io")]
mod io;
mod metrics;
#[doc(hidden)]
pub mod pinned;
mod pool;
#[cfg(feature = "tracing")]
mod root_waker;
pub mod runtime;
mod runtime_id;
mod scheduler;
mod seed;
mod stalls;
pub mod task;
pub mod time;
mod timers;
mod tokio_handle;
mod trace;

/// Items for the other crates of this workspace: not part of the public interface, and free to
/// change with any release.
#[doc(hidden)]
pub mod internals {
    pub use super::blocking::{spawn_blocking_as, spawn_mandatory_blocking, spawn_short_blocking};
    pub use super::errors::SHUTTING_DOWN;
    #[cfg(feature = "io")]
    pub use super::io::own_driver;
    pub use super::pinned;
    #[cfg(feature = "sim")]
    pub use super::runtime::restart;
    #[cfg(feature = "sim")]
    pub use super::scheduler::abort_tasks;
    #[cfg(feature = "sim")]
    pub use super::time::advance_simulated;
    pub use super::time::simulated_now;
    pub use blitz_io_observe::About;
}
