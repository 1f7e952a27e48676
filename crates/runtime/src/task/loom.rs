//! The parts of `task` that have models.

pub mod cancellation_token;
pub mod join_set;
pub mod task_tracker;

pub use task_tracker::{TaskTracker, TaskTrackerToken, TaskTrackerWaitFuture, TrackedFuture};

pub use crate::core::{AbortHandle, Id, JoinError, JoinHandle};
