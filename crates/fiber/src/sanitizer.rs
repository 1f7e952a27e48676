//! The thread sanitizer's view of a fiber.
//!
//! The sanitizer keeps a stack of calls for each thread, and the order of what threads have done. With
//! `--cfg thread_sanitizer` it keeps a stack of calls for each fiber, too.
//!
//! The poll that resumes a fiber announces the fiber before it switches stacks, and its own thread
//! after that. So the calls that the compiler reports between the two are the fiber's: that of
//! `resume` is reported before the switch, and its return after the switch back. The fiber reports a
//! call of `suspend` in between, and the return from that with the next poll. So each fiber gets as
//! many returns as calls, and never more.

/// A fiber, as the thread sanitizer sees it. Nothing in other programs.
pub(crate) struct Sanitized {
    #[cfg(thread_sanitizer)]
    fiber: *mut std::ffi::c_void,
}

#[cfg(not(thread_sanitizer))]
impl Sanitized {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self {}
    }

    /// Runs `resume`, which switches to the stack of the fiber, and back.
    #[inline(always)]
    pub(crate) fn run<R>(&self, resume: impl FnOnce() -> R) -> R {
        resume()
    }
}

#[cfg(thread_sanitizer)]
mod interface {
    use std::ffi::{c_uint, c_void};

    unsafe extern "C" {
        pub(super) fn __tsan_get_current_fiber() -> *mut c_void;
        pub(super) fn __tsan_create_fiber(flags: c_uint) -> *mut c_void;
        pub(super) fn __tsan_destroy_fiber(fiber: *mut c_void);
        pub(super) fn __tsan_switch_to_fiber(fiber: *mut c_void, flags: c_uint);
    }

    /// The work of the thread before the switch comes before its work after it.
    pub(super) const ORDERED: c_uint = 0;
}

#[cfg(thread_sanitizer)]
impl Sanitized {
    pub(crate) fn new() -> Self {
        // SAFETY: no requirements, in a program with the sanitizer.
        let fiber = unsafe { interface::__tsan_create_fiber(0) };
        Self { fiber }
    }

    /// Runs `resume`, which switches to the stack of the fiber, and back.
    pub(crate) fn run<R>(&self, resume: impl FnOnce() -> R) -> R {
        // Not by a guard: its drop would be a call that is reported for the fiber, and its return for
        // the thread.
        // SAFETY: the fiber lives, and the thread's own one as long as the thread.
        let resumed = unsafe {
            let thread = interface::__tsan_get_current_fiber();
            interface::__tsan_switch_to_fiber(self.fiber, interface::ORDERED);
            let resumed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(resume));
            interface::__tsan_switch_to_fiber(thread, interface::ORDERED);
            resumed
        };
        resumed.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

#[cfg(thread_sanitizer)]
impl Drop for Sanitized {
    fn drop(&mut self) {
        // SAFETY: it was created, and does not run.
        unsafe { interface::__tsan_destroy_fiber(self.fiber) };
    }
}
