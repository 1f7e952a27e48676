//! Panics of the user's code, which must not keep the rest from being done.

use std::any::Any;
use std::panic::resume_unwind;

/// Postpones panics until everything has been done. Then the first one is resumed.
#[derive(Default)]
#[must_use = "a panic that was put off goes on with `go_on`"]
pub struct Panics(Option<Box<dyn Any + Send>>);

impl Panics {
    /// Creates a value without a panic.
    pub const fn new() -> Self {
        Self(None)
    }

    /// Does something that may panic. In a model, a panic is the end of the model.
    #[inline]
    pub fn put_off(&mut self, run: impl FnOnce()) {
        use std::panic::{AssertUnwindSafe, catch_unwind};

        if cfg!(loom) {
            return run();
        }
        // The caller continues as if there had been no panic.
        if let Err(payload) = catch_unwind(AssertUnwindSafe(run)) {
            self.0.get_or_insert(payload);
        }
    }

    /// Returns `true` if there has been one.
    #[must_use]
    pub fn any(&self) -> bool {
        self.0.is_some()
    }

    /// Resumes the first panic, after a destructor has done everything, unless the
    /// thread already panics: a second panic would end the process.
    pub fn go_on_in_drop(self) {
        if !std::thread::panicking() {
            self.go_on();
        }
    }

    /// Resumes the first panic after everything has been done.
    #[inline]
    pub fn go_on(self) {
        if let Some(payload) = self.0 {
            resume_unwind(payload);
        }
    }
}
