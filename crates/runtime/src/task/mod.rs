//! Tasks: what a runtime runs.

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
