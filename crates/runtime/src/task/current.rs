//! Which task this thread polls or drops at the moment.

use std::ptr::NonNull;

use super::header::Header;
use super::id::Id;
use crate::context;

/// Takes back what [`enter`] did.
#[must_use]
pub(super) struct Entered {
    task: *const (),
}

/// The task is the current one until the guard is dropped.
#[inline]
pub(super) fn enter(header: NonNull<Header>) -> Entered {
    context::with(|context| Entered {
        task: context.task.replace(header.as_ptr().cast()),
    })
}

impl Drop for Entered {
    #[inline]
    fn drop(&mut self) {
        context::with(|context| context.task.set(self.task));
    }
}

/// The current task's id.
pub(super) fn id() -> Option<Id> {
    context::with(|context| {
        let header = NonNull::new(context.task.get().cast_mut().cast::<Header>())?;
        // SAFETY: whoever made it the current one keeps it alive meanwhile.
        Some(unsafe { header.as_ref() }.id())
    })
}

/// Runs `poll`, and says also whether the task asked meanwhile for its place at the
/// end of the queue. What an outer task asked for stays as it is.
#[inline]
pub(super) fn with_yielded<R>(poll: impl FnOnce() -> R) -> (R, bool) {
    let outer = context::with(|context| context.yielded.replace(false));
    let result = poll();
    let yielded = context::with(|context| context.yielded.replace(outer));
    (result, yielded)
}
