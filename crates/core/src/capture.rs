//! A capture: the caller's function for each operation that a poll reaches.
//!
//! `coop.rs` polls within a capture, and calls [`reached`] for each operation instead of doing its
//! work. The wakers of these operations are woken when the capture ends, so each of them is polled
//! again, also by a combinator with a queue of its own.

use std::cell::Cell;
use std::mem;
use std::ptr;
use std::task::Waker;

use crate::scopes;

struct Capture<'a> {
    leaf: &'a mut dyn FnMut(),
    wakers: Vec<Waker>,
}

thread_local! {
    /// The innermost capture of this thread, if no function uses it at the moment.
    static CAPTURE: Cell<*mut Capture<'static>> = const { Cell::new(ptr::null_mut()) };
}

impl Drop for Capture<'_> {
    fn drop(&mut self) {
        for waker in mem::take(&mut self.wakers) {
            waker.wake();
        }
    }
}

/// Runs `poll`, in which [`reached`] calls `leaf`.
pub(crate) fn with<R>(leaf: &mut dyn FnMut(), poll: impl FnOnce() -> R) -> R {
    let mut capture = Capture {
        leaf,
        wakers: Vec::new(),
    };
    let pointer = (&raw mut capture).cast();
    // The scope ends before `capture`.
    // SAFETY: it has no destructor.
    unsafe { scopes::with(CAPTURE.with(ptr::from_ref), pointer, poll) }
}

/// Reports an operation, whose task has this waker. Returns `false` if there is no capture.
pub(crate) fn reached(waker: &Waker) -> bool {
    let capture = CAPTURE.get();
    if capture.is_null() {
        return false;
    }
    let report = || {
        // SAFETY: `with` has the value on its stack, and its scope has not ended: no fiber suspends
        // in this closure. No other reference exists: the pointer is not in `CAPTURE` now.
        let capture = unsafe { &mut *capture };
        capture.wakers.push(waker.clone());
        (capture.leaf)();
    };
    // SAFETY: `CAPTURE` is a variable of this thread, and has no destructor.
    unsafe { scopes::at_once(CAPTURE.with(ptr::from_ref), ptr::null_mut(), report) };
    true
}
