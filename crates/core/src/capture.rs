//! A capture: the caller's function for each operation that a poll reaches.
//!
//! `coop.rs` polls within a capture, and calls [`reached`] for each operation instead of doing its
//! work. The wakers of these operations are woken when the capture ends, so each of them is polled
//! again, also by a combinator with a queue of its own.

use std::cell::Cell;
use std::mem;
use std::ptr;
use std::task::Waker;

struct Capture<'a> {
    leaf: &'a mut dyn FnMut(),
    wakers: Vec<Waker>,
}

thread_local! {
    /// The innermost capture of this thread, if no function uses it at the moment.
    static CAPTURE: Cell<*mut Capture<'static>> = const { Cell::new(ptr::null_mut()) };
}

/// Restores the value of `CAPTURE`.
struct Restore(*mut Capture<'static>);

impl Drop for Restore {
    fn drop(&mut self) {
        CAPTURE.set(self.0);
    }
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
    // Dropped before the capture, which it takes out of `CAPTURE`.
    let _restore = Restore(CAPTURE.replace((&raw mut capture).cast()));
    poll()
}

/// Reports an operation, whose task has this waker. `false` if there is no capture.
pub(crate) fn reached(waker: &Waker) -> bool {
    let capture = CAPTURE.replace(ptr::null_mut());
    let _restore = Restore(capture);
    // SAFETY: `with` has the value on its stack, and takes the pointer out of `CAPTURE` before it
    // returns. No other reference exists: the pointer is not in `CAPTURE` now.
    let Some(capture) = (unsafe { capture.as_mut() }) else {
        return false;
    };
    capture.wakers.push(waker.clone());
    (capture.leaf)();
    true
}
