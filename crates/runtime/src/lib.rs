//! A work-stealing runtime for tasks, under Tokio's names.

mod context;
#[cfg(all(feature = "macros", not(loom)))]
mod macros;
mod random;
pub mod task;
#[cfg(not(loom))]
mod task_local;

#[cfg(all(feature = "macros", not(loom)))]
pub use macros::{join, main, pin, select, test, try_join};
