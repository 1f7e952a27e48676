//! Tasks: what a runtime runs.

mod abort;
#[cfg(all(feature = "tracing", not(loom)))]
mod builder;
mod cell;
#[cfg(not(loom))]
pub mod coop;
mod current;
mod error;
mod harness;
mod header;
mod id;
mod join_handle;
pub mod join_set;
mod list;
#[cfg(not(loom))]
mod local_set;
#[cfg(not(loom))]
mod mutant;
#[cfg(loom)]
pub mod mutant;
mod notified;
mod own;
mod owned;
mod raw;
#[cfg(not(loom))]
mod scope;
#[cfg(not(loom))]
mod spawn;
mod state;
#[cfg(all(test, not(loom)))]
mod tests;
mod waker;
#[cfg(not(loom))]
mod yield_now;

pub use abort::AbortHandle;
#[cfg(all(feature = "tracing", not(loom)))]
pub use builder::Builder;
#[cfg(not(loom))]
pub use coop::{Unconstrained, consume_budget, unconstrained};
pub use error::JoinError;
pub use id::{Id, id, try_id};
pub use join_handle::JoinHandle;
#[cfg(not(loom))]
pub use join_set::JoinSet;
#[cfg(not(loom))]
pub(crate) use local_set::spawn_local_on;
#[cfg(not(loom))]
pub use local_set::{LocalEnterGuard, LocalSet, spawn_local};
#[cfg(not(loom))]
pub use scope::{BlockingScope, Scope, ScopedJoinHandle, scope, scope_blocking};
#[cfg(not(loom))]
pub use spawn::spawn;
#[cfg(not(loom))]
pub(crate) use spawn::{BOX_ABOVE, spawn_on};
#[cfg(not(loom))]
pub use yield_now::yield_now;

/// For the models.
#[cfg(loom)]
pub mod model {
    pub use super::header::Header;
    pub use super::notified::{Notified, Ran};
    pub use super::owned::{OwnedTasks, Schedule, unowned};

    pub use super::mutant;
    /// A number for a task.
    pub fn id() -> super::Id {
        super::Id::next()
    }

    /// What a task does before it returns `Pending`, to be polled again after the others.
    pub fn yield_now(context: &std::task::Context<'_>) {
        assert!(super::task_of(context.waker()).is_some_and(super::current::step_back));
    }
}

pub(crate) use header::Header;
pub(crate) use notified::{Notified, Ran};
#[allow(unused_imports, reason = "for blocking tasks")]
pub(crate) use owned::unowned;
pub(crate) use owned::{OwnedTasks, Schedule};
#[allow(unused_imports, reason = "for yield_now")]
pub(crate) use waker::task_of;

#[cfg(not(loom))]
pub use crate::blocking::{block_in_place, spawn_blocking};
#[cfg(not(loom))]
pub use crate::task_local::LocalKey;
#[cfg(not(loom))]
#[doc(hidden)]
pub use crate::task_local::Place;
pub use crate::task_tracker::{
    TaskTracker, TaskTrackerToken, TaskTrackerWaitFuture, TrackedFuture,
};
/// [`TaskTracker`] and what belongs to it.
pub mod task_tracker {
    pub use crate::task_tracker::{
        TaskTracker, TaskTrackerToken, TaskTrackerWaitFuture, TrackedFuture,
    };
}

/// The futures of this module's types, by name.
#[cfg(not(loom))]
pub mod futures {
    pub use crate::task_local::TaskLocalFuture;
}
