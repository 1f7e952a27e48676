//! The id of the running task.

use crate::kernel::context::{self, Context};
use crate::kernel::task::{Header, Id};

/// Returns the id of the task that runs on this thread.
///
/// # Panics
///
/// If there is none. The future of `block_on` is not a task.
///
/// # Examples
///
/// ```
/// let runtime = blitz_io::runtime::Runtime::new()?;
/// runtime.block_on(async {
///     use blitz_io::task;
///
///     let handle = task::spawn(async { task::id() });
///     let id = handle.id();
///     assert_eq!(handle.await.unwrap(), id);
/// });
/// # Ok::<(), std::io::Error>(())
/// ```
#[track_caller]
#[must_use]
pub fn id() -> Id {
    try_id().expect("Can't get a task id when not inside a task")
}

/// Returns the id of the task that runs on this thread, if there is one.
///
/// The future of `block_on` is not a task.
///
/// # Examples
///
/// ```
/// assert!(blitz_io::task::try_id().is_none());
/// ```
#[must_use]
pub fn try_id() -> Option<Id> {
    Id::current()
}

impl Id {
    /// Returns the current task's number.
    pub(crate) fn current() -> Option<Self> {
        let task = context::with(Context::task).cast_mut().cast::<Header>();
        // SAFETY: the code that made the task the current one keeps it alive until it
        // undoes that.
        unsafe { task.as_ref() }.map(Header::id)
    }
}
