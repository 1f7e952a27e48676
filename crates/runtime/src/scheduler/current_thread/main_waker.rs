//! The waker of the future that `block_on` was given.
//!
//! It counts references to the scheduler, but the one that each poll gets does not.

use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::task::{RawWaker, RawWakerVTable, Waker};

use super::core::Core;
use super::shared::Shared;
use crate::context;

static VTABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, release);

/// A waker that counts nothing, for as long as `shared` is borrowed.
pub(super) fn borrowed(shared: &Arc<Shared>) -> ManuallyDrop<Waker> {
    // SAFETY: the functions of the table do what they should. The caller's `Arc` takes
    // the place of the waker's reference, as that is not dropped.
    ManuallyDrop::new(unsafe { Waker::new(Arc::as_ptr(shared).cast(), &VTABLE) })
}

/// # Safety
///
/// The pointer is a waker's.
unsafe fn shared(waker: *const ()) -> ManuallyDrop<Arc<Shared>> {
    // SAFETY: the pointer is from an `Arc`, and the waker's reference keeps that.
    ManuallyDrop::new(unsafe { Arc::from_raw(waker.cast()) })
}

unsafe fn clone(waker: *const ()) -> RawWaker {
    // SAFETY: the pointer is the waker's.
    let shared = unsafe { shared(waker) };
    std::mem::forget(Arc::clone(&shared));
    RawWaker::new(waker, &VTABLE)
}

unsafe fn wake(waker: *const ()) {
    // SAFETY: the pointer is the waker's, and it is given up with this call.
    unsafe {
        wake_by_ref(waker);
        release(waker);
    }
}

unsafe fn wake_by_ref(waker: *const ()) {
    let core = context::with(|context| context.worker_for(waker));
    // SAFETY: for a scheduler of this kind the worker is a `Core` (`turns.rs`), which
    // stays where it is as long as it is in the context.
    match unsafe { core.cast::<Core>().as_ref() } {
        Some(core) => core.wake_main(),
        // SAFETY: the pointer is the waker's.
        None => unsafe { shared(waker) }.wake_main(),
    }
}

unsafe fn release(waker: *const ()) {
    // SAFETY: the pointer is the waker's, whose reference this is.
    drop(ManuallyDrop::into_inner(unsafe { shared(waker) }));
}
