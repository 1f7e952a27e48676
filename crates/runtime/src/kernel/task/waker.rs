//! A task's wakers, a reference each.

use std::ptr::{self, NonNull};
use std::task::{RawWaker, RawWakerVTable, Waker};

use blitz_io_core::coop;
use blitz_io_observe::{WakerEvent, trace};

use super::header::{self, Header};
use crate::kernel::context;

pub static VTABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, drop_waker);

/// Returns the task that a waker wakes, if it is one of this crate.
#[inline]
pub fn task_of(waker: &Waker) -> Option<NonNull<Header>> {
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
    let header = unsafe { header(task) }.1;
    header.span.emit(WakerEvent::Clone);
    header.state.acquire();
    RawWaker::new(task, &VTABLE)
}

unsafe fn wake(task: *const ()) {
    // SAFETY: the pointer is the waker's.
    let (task, header) = unsafe { header(task) };
    trace::woken(header.id().as_u64());
    header.span.emit(WakerEvent::Wake);
    // SAFETY: the waker's reference is given up with this call.
    unsafe { (header.vtable.wake_by_value)(task) }
}

unsafe fn wake_by_ref(task: *const ()) {
    // SAFETY: the pointer is the waker's.
    let (task, header) = unsafe { header(task) };
    trace::woken(header.id().as_u64());
    header.span.emit(WakerEvent::WakeByRef);
    // A preempted task keeps its token, as one that yields does.
    if coop::is_preempting() && context::step_back(task) {
        return;
    }
    if header.state.wake() {
        // SAFETY: `wake` made a token, which is for this call; the waker has a reference.
        unsafe { (header.vtable.schedule)(task) }
    }
}

unsafe fn drop_waker(task: *const ()) {
    // SAFETY: the pointer is the waker's.
    let (task, header) = unsafe { header(task) };
    header.span.emit(WakerEvent::Drop);
    // SAFETY: the reference is the waker's.
    unsafe { header::release(task) }
}
