//! Tasks: what a runtime runs.

mod abort;
mod cell;
mod current;
mod error;
mod harness;
mod header;
mod id;
mod join_handle;
mod notified;
mod owned;
mod raw;
mod state;
mod waker;
mod watched;

pub use abort::AbortHandle;
pub use error::JoinError;
pub use id::{Id, id, try_id};
pub use join_handle::JoinHandle;

pub(crate) use header::Header;
pub(crate) use notified::{Notified, Ran};
#[allow(unused_imports, reason = "for blocking tasks")]
pub(crate) use owned::unowned;
pub(crate) use owned::{OwnedTasks, Schedule};
#[allow(unused_imports, reason = "for yield_now")]
pub(crate) use waker::task_of;

#[cfg(not(loom))]
pub use crate::task_local::LocalKey;
#[cfg(not(loom))]
#[doc(hidden)]
pub use crate::task_local::Place;

/// The futures of this module's types, by name.
#[cfg(not(loom))]
pub mod futures {
    pub use crate::task_local::TaskLocalFuture;
}
