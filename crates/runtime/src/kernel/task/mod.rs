//! The task core, from a task's allocation to its last reference.
//!
//! | file | contents |
//! |---|---|
//! | `state.rs` | the state: one word, and its transitions |
//! | `header.rs` | the untyped part of a task; the token to run it once, and its interface to the scheduler |
//! | `harness.rs` | the typed half of a task: allocation, poll, completion and drop |
//! | `waker.rs` | its wakers |
//! | `join_handle.rs`, `error.rs` | the handles, and the error of a join |
//! | `memory.rs`, `memory_model.rs` | the memory of a task, of which only the model checker knows something |
//! | `owned.rs` | the tasks of a runtime |
//! | `watch.rs` | what the record of a task reads from its header |

#[cfg(test)]
mod changes;
mod error;
mod harness;
mod header;
mod join_handle;
#[cfg_attr(loom, path = "memory_model.rs")]
mod memory;
#[cfg(loom)]
pub mod model;
mod owned;
mod state;
#[cfg(test)]
mod tests;
mod waker;
#[cfg(feature = "inspect")]
mod watch;

pub use error::JoinError;
#[cfg(not(loom))]
pub(crate) use header::cancel;
pub use header::{Header, Id, ListId, Notified, Ran, Schedule};
#[cfg(not(loom))]
pub(crate) use join_handle::ScopeHandle;
pub use join_handle::{AbortHandle, JoinHandle};
pub use owned::{OwnedTasks, unowned};
pub use waker::task_of;

/// Futures above this size go into a box of their own before they become tasks. Some
/// functions take them by value, which costs stack, most where the compiler does not
/// optimise.
pub const BOX_ABOVE: usize = if cfg!(debug_assertions) { 2048 } else { 16384 };
