//! Tasks: what a runtime runs.

#[cfg(all(feature = "tracing", not(loom)))]
mod builder;
pub(crate) mod cancellation_token;
#[cfg(not(loom))]
pub mod coop;
#[cfg(not(loom))]
mod counted;
#[cfg(not(loom))]
mod current;
pub mod join_set;
#[cfg(not(loom))]
mod local_set;
#[cfg(not(loom))]
mod scope;
#[cfg(not(loom))]
pub(crate) mod spawn;
#[cfg(not(loom))]
mod task_local;
pub mod task_tracker;
#[cfg(not(loom))]
mod yield_now;

#[cfg(all(feature = "tracing", not(loom)))]
pub use builder::Builder;
#[cfg(not(loom))]
pub use coop::{Unconstrained, consume_budget, unconstrained};
#[cfg(not(loom))]
pub use current::{id, try_id};
#[cfg(not(loom))]
pub use join_set::JoinSet;
#[cfg(not(loom))]
pub use local_set::{LocalEnterGuard, LocalSet, spawn_local};
#[cfg(not(loom))]
pub use scope::{BlockingScope, Scope, ScopedJoinHandle, scope, scope_blocking};
#[cfg(not(loom))]
pub use spawn::spawn;
#[cfg(not(loom))]
pub use task_local::LocalKey;
#[cfg(not(loom))]
#[doc(hidden)]
pub use task_local::Place;
pub use task_tracker::{TaskTracker, TaskTrackerToken, TaskTrackerWaitFuture, TrackedFuture};
#[cfg(not(loom))]
pub use yield_now::yield_now;

#[cfg(not(loom))]
pub use crate::blocking::{block_in_place, spawn_blocking};
pub use crate::core::{AbortHandle, Id, JoinError, JoinHandle};

/// The futures of this module's types, by name.
#[cfg(not(loom))]
pub mod futures {
    pub use super::task_local::TaskLocalFuture;
}
