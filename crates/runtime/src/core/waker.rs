//! A task's wakers, a reference each; and which task this thread polls or drops at the
//! moment, and whether it has asked for its place at the end of the queue. Both are in one
//! pointer, of which that is the lowest bit.

use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};
use std::task::{RawWaker, RawWakerVTable, Waker};

use super::header;
use super::header::Header;
use super::id::Id;
use crate::context;

static VTABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, drop_waker);

/// A waker for the duration of a poll, which takes no reference of its own.
#[inline]
pub(super) fn borrowed(task: NonNull<Header>) -> ManuallyDrop<Waker> {
    // SAFETY: the functions of the table do what wakers' do. The caller's reference
    // takes the place of the waker's, which is not dropped.
    ManuallyDrop::new(unsafe { Waker::new(task.as_ptr().cast(), &VTABLE) })
}

/// The task that a waker wakes, if it is one of ours.
#[inline]
#[allow(dead_code, reason = "for yield_now")]
pub(crate) fn task_of(waker: &Waker) -> Option<NonNull<Header>> {
    if ptr::eq(waker.vtable(), &VTABLE) {
        NonNull::new(waker.data().cast_mut().cast())
    } else {
        None
    }
}

/// # Safety
///
/// The pointer is a waker's.
unsafe fn header<'a>(task: *const ()) -> (NonNull<Header>, &'a Header) {
    // SAFETY: a waker's pointer is to a header, and its reference keeps the task.
    unsafe {
        let task = NonNull::new_unchecked(task.cast_mut().cast::<Header>());
        (task, task.as_ref())
    }
}

unsafe fn clone(task: *const ()) -> RawWaker {
    // SAFETY: the pointer is the waker's.
    unsafe { header(task) }.1.state.acquire();
    RawWaker::new(task, &VTABLE)
}

unsafe fn wake(task: *const ()) {
    // SAFETY: the pointer is the waker's.
    let (task, header) = unsafe { header(task) };
    // SAFETY: the waker's reference is given up with this call.
    unsafe { (header.vtable.wake_by_value)(task) }
}

unsafe fn wake_by_ref(task: *const ()) {
    // SAFETY: the pointer is the waker's.
    let (task, header) = unsafe { header(task) };
    if header.state.wake() {
        // SAFETY: `wake` made a token, which is for this call; the waker has a reference.
        unsafe { (header.vtable.schedule)(task) }
    }
}

unsafe fn drop_waker(task: *const ()) {
    // SAFETY: the pointer is the waker's, whose reference this is.
    unsafe { header::release(header(task).0) }
}

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
pub(crate) fn current_id() -> Option<Id> {
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
