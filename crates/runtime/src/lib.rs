//! A work-stealing runtime for tasks, under Tokio's names.

mod context;
pub mod task;
