//! The task core: what a task is, from its allocation to its last reference.
//!
//! | file | what it has |
//! |---|---|
//! | `state.rs` | the state: one word, and its transitions |
//! | `header.rs` | what is known of a task without its type; the token to run it once, and what it asks of its scheduler |
//! | `harness.rs` | its memory, and what happens to it, for each type of future and scheduler |
//! | `waker.rs` | its wakers |
//! | `join_handle.rs`, `error.rs` | what others have of it |
//! | `owned.rs` | the tasks of a runtime |

#[cfg(all(test, not(loom)))]
mod changes;
mod error;
mod harness;
mod header;
mod join_handle;
#[cfg(not(loom))]
mod mutant;
#[cfg(loom)]
pub mod mutant;
mod owned;
mod state;
#[cfg(all(test, not(loom)))]
mod tests;
mod waker;

pub use error::JoinError;
pub use header::{Header, Id, ListId, Notified, Ran, Schedule};
pub use join_handle::{AbortHandle, JoinHandle};
pub use owned::{OwnedTasks, unowned};
pub(crate) use waker::task_of;

/// Futures above this size go into a box of their own before they become tasks: they
/// are passed by value through some functions, which costs stack, most where the
/// compiler does not optimise.
pub(crate) const BOX_ABOVE: usize = if cfg!(debug_assertions) { 2048 } else { 16384 };

/// For the models.
#[cfg(loom)]
pub mod model {
    pub use super::{Header, ListId, Notified, OwnedTasks, Ran, Schedule, mutant, unowned};

    /// A number for a task.
    pub fn id() -> super::Id {
        super::Id::next()
    }

    /// What a task does before it returns `Pending`, to be polled again after the others.
    pub fn yield_now(context: &std::task::Context<'_>) {
        assert!(super::task_of(context.waker()).is_some_and(crate::context::step_back));
    }
}
