//! The switch to a stack, and back.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use corosensei::{Coroutine, CoroutineResult};

use crate::running::{Resume, Unwound};
use crate::sanitizer::Sanitized;
use crate::stack::Stack;

/// A stack, and the way to it.
pub(crate) struct Switch<T> {
    coroutine: Coroutine<Resume, (), T, Stack>,
    sanitized: Sanitized,
}

impl<T> Switch<T> {
    #[inline]
    pub(crate) fn new(coroutine: Coroutine<Resume, (), T, Stack>) -> Self {
        Self {
            coroutine,
            sanitized: Sanitized::new(),
        }
    }

    #[inline(always)]
    pub(crate) fn resume(&mut self, with: Resume) -> CoroutineResult<(), T> {
        let Self {
            coroutine,
            sanitized,
        } = self;
        sanitized.run(|| coroutine.resume(with))
    }

    /// Ends the fiber, if it has not ended. A panic of a destructor goes on.
    pub(crate) fn unwind(&mut self) {
        if self.coroutine.done() || !self.coroutine.started() {
            return;
        }
        let unwound = catch_unwind(AssertUnwindSafe(|| drop(self.resume(None))));
        debug_assert!(self.coroutine.done());
        match unwound {
            Ok(()) => {}
            Err(payload) if payload.is::<Unwound>() => {}
            // While this thread panics, a second panic would end the process.
            Err(payload) if std::thread::panicking() => std::mem::forget(payload),
            Err(payload) => resume_unwind(payload),
        }
    }
}
