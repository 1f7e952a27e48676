//! A task's wakers: a reference each.

use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::task::{RawWaker, RawWakerVTable, Waker};

use super::header;
use super::header::Header;

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
    if std::ptr::eq(waker.vtable(), &VTABLE) {
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
