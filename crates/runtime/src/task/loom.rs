//! The parts of `task` that have models.

pub mod cancellation_token;
pub mod join_set;
pub(crate) mod raw;
pub mod task_tracker;

pub use task_tracker::{TaskTracker, TaskTrackerToken, TaskTrackerWaitFuture, TrackedFuture};

pub use raw::{AbortHandle, Id, JoinError, JoinHandle};
