//! Which task this thread polls or drops at the moment, and whether it has asked for its
//! place at the end of the queue. Both are in one pointer, of which that is the lowest bit.

use std::ptr::{self, NonNull};

use super::header::Header;
use super::id::Id;
use crate::context;

/// In the pointer: the task asks for its place at the end of the queue.
const MARK: usize = 1;
const _: () = assert!(align_of::<Header>() > MARK);

/// The pointer to a task, as it is in the context.
fn plain(task: NonNull<Header>) -> *const () {
    task.as_ptr().cast_const().cast()
}

/// The same with the mark.
fn marked(task: NonNull<Header>) -> *const () {
    plain(task).wrapping_byte_add(MARK)
}

/// Takes back what [`enter`] did.
#[must_use]
pub(crate) struct Entered {
    task: *const (),
}

/// The task is the current one until the guard is dropped.
#[inline]
pub(crate) fn enter(header: NonNull<Header>) -> Entered {
    context::with(|context| Entered {
        task: context.task.replace(plain(header)),
    })
}

impl Drop for Entered {
    #[inline]
    fn drop(&mut self) {
        context::with(|context| context.task.set(self.task));
    }
}

/// The current task's id.
pub(crate) fn id() -> Option<Id> {
    context::with(|context| {
        let task = context.task.get().map_addr(|address| address & !MARK);
        let header = NonNull::new(task.cast_mut().cast::<Header>())?;
        // SAFETY: the one that made it the current one keeps it alive meanwhile.
        Some(unsafe { header.as_ref() }.id())
    })
}

/// The task asks for its place at the end of the queue. `false` if it is not the one that
/// this thread polls.
#[inline]
pub(crate) fn step_back(task: NonNull<Header>) -> bool {
    context::with(|context| {
        let current = context.task.get();
        if ptr::eq(current, plain(task)) {
            context.task.set(marked(task));
            return true;
        }
        ptr::eq(current, marked(task))
    })
}

/// Whether the task, which is the current one, has asked for that.
#[inline]
pub(crate) fn has_stepped_back(task: NonNull<Header>) -> bool {
    context::with(|context| !ptr::eq(context.task.get(), plain(task)))
}
