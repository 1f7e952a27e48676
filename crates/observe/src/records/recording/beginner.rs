//! `Beginner`: the task that begins an operation, which another task carries out.

use std::cell::Cell;

use super::caller::{Caller, Calls};
use super::waiter::Waiter;

thread_local! {
    /// The task or child of whose operation this thread carries out a part.
    static BEGINNER: Cell<Option<Waiter>> = const { Cell::new(None) };
}

/// The task or child that begins an operation, and the line of the program that does. Nothing without the feature `inspect`.
#[derive(Clone, Copy, Debug)]
pub struct Beginner {
    waiter: Waiter,
    caller: Caller,
}

impl Beginner {
    /// Returns the current task, and the location at which it has called the method that is polled.
    #[must_use]
    pub fn current() -> Self {
        Self {
            waiter: Waiter::current(),
            caller: Caller::of_call(),
        }
    }

    /// While the result lives, notes about the current task are about this one.
    #[must_use]
    pub fn acts(self) -> Acting {
        Acting {
            outer: BEGINNER.replace(Some(self.waiter)),
            _calls: self.caller.calls(),
        }
    }

    /// Returns the task that this thread acts for.
    pub(super) fn of_thread() -> Option<Waiter> {
        BEGINNER.get()
    }
}

/// See [`Beginner::acts`].
pub struct Acting {
    outer: Option<Waiter>,
    _calls: Calls,
}

impl Drop for Acting {
    fn drop(&mut self) {
        BEGINNER.set(self.outer);
    }
}
