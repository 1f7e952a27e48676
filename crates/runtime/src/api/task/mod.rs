//! Tasks, and functions and types to start them and wait for them.

#[cfg(any(feature = "inspect", feature = "tracing"))]
mod builder;
pub mod coop;
mod counted;
mod current;
#[cfg_attr(not(feature = "inspect"), path = "not_inspected.rs")]
pub(crate) mod inspected;
pub mod join_set;
mod local_set;
mod scope;
pub(crate) mod spawn;
mod task_local;
mod tracked;
mod yield_now;

pub use crate::kernel::task_tracker;
pub use crate::kernel::task_tracker::{
    TaskTracker, TaskTrackerToken, TaskTrackerWaitFuture, TrackedFuture,
};
#[cfg(any(feature = "inspect", feature = "tracing"))]
pub use builder::Builder;
pub use coop::{Unconstrained, consume_budget, unconstrained};
pub use current::{id, try_id};
pub use join_set::JoinSet;
pub use local_set::{LocalEnterGuard, LocalSet, spawn_local};
pub use scope::{
    BlockingScope, ParallelScope, Scope, ScopedJoinHandle, blocking_scope, parallel_scope, scope,
};
pub use spawn::spawn;
pub use task_local::LocalKey;
#[doc(hidden)]
pub use task_local::Place;
pub use yield_now::yield_now;

pub use crate::api::blocking::{block_in_place, spawn_blocking};
pub use crate::kernel::task::{AbortHandle, Id, JoinError, JoinHandle};

/// The futures of this module's types, by name.
pub mod futures {
    pub use super::task_local::TaskLocalFuture;
}
