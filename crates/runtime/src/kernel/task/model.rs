//! For the models of this crate.

use std::task::Context;

use super::task_of;
pub use super::{Header, Id, ListId, Notified, OwnedTasks, Ran, Schedule, unowned};
use crate::kernel::context;

/// Returns a number for a task.
pub fn id() -> Id {
    Id::next()
}

/// Asks for another poll of the current task after the other tasks. The task then returns
/// `Pending`.
pub fn yield_now(cx: &Context<'_>) {
    assert!(task_of(cx.waker()).is_some_and(context::step_back));
}
