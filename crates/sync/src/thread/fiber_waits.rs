//! Waits of a fiber for a call that another fiber of the same thread has begun.
//!
//! The other fiber waits, and continues only on this thread. So the fiber must not block it: it suspends,
//! and the call's end wakes it. All of that happens on one thread, so that there are no races. Another
//! thread may begin the next call before the fiber continues, and wakes no fiber of this thread: a
//! wait is over as soon as no fiber of this thread is in the call.

use std::cell::Cell;
use std::ptr;
use std::task::{Poll, Waker};

use blitz_io_core::{OnDrop, fibers};

thread_local! {
    /// The waits of this thread's fibers.
    static WAITS: Cell<*const FiberWait> = const { Cell::new(ptr::null()) };
}

/// A wait, on the stack of its fiber, which is not freed before the wait has left the list.
struct FiberWait {
    key: *const (),
    waker: Cell<Option<Waker>>,
    next: Cell<*const FiberWait>,
}

/// Suspends the fiber until `is_over` returns true, which it may do after a call of [`ended`] with the
/// same key. Returns `false` at once if the caller is in no fiber, or in one that would block the thread.
pub(super) fn wait<K>(key: *const K, is_over: impl Fn() -> bool) -> bool {
    let wait = FiberWait {
        key: key.cast(),
        waker: Cell::new(None),
        next: Cell::new(WAITS.get()),
    };
    WAITS.set(&wait);
    let _leave = OnDrop(|| leave(&wait));
    fibers::wait(&mut |context| {
        if is_over() {
            return Poll::Ready(());
        }
        wait.waker.set(Some(context.waker().clone()));
        Poll::Pending
    })
}

/// Takes a wait out of the list.
fn leave(wait: &FiberWait) {
    let next = wait.next.get();
    // SAFETY: see `FiberWait`.
    let before = unsafe { waits() }.find(|other| ptr::eq(other.next.get(), wait));
    match before {
        Some(before) => before.next.set(next),
        None => WAITS.set(next),
    }
}

/// Returns the waits of this thread's fibers.
///
/// # Safety
///
/// None leaves the list before the last use.
unsafe fn waits<'a>() -> impl Iterator<Item = &'a FiberWait> {
    // SAFETY: see `FiberWait`.
    let wait = |wait: *const FiberWait| unsafe { wait.as_ref() };
    std::iter::successors(wait(WAITS.get()), move |here| wait(here.next.get()))
}

/// Wakes the fibers that wait for the call with this key, which has ended.
#[inline]
pub(super) fn ended<K>(key: *const K) {
    if !WAITS.get().is_null() {
        wake(key.cast());
    }
}

#[cold]
fn wake(key: *const ()) {
    // SAFETY: no waker is called while the list is in use.
    let next =
        || unsafe { waits() }.find_map(|wait| (wait.key == key).then(|| wait.waker.take())?);
    while let Some(waker) = next() {
        waker.wake();
    }
}
