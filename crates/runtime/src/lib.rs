//! A work-stealing runtime for tasks, under Tokio's names.

mod context;
mod random;
pub mod task;
#[cfg(not(loom))]
mod task_local;
