//! The few waiters that one step of a selection may have chosen.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use blitz_sync::internals::Wake;

/// How many there may be.
const MOST: usize = 8;
/// As many as there may be when a round of `settle` begins, which adds up to two.
const ENOUGH: usize = MOST - 2;

/// Waiters that have been chosen and are still to be woken.
#[derive(Default)]
pub(super) struct Woken {
    wakes: [Option<Wake>; MOST],
    len: usize,
}

impl Woken {
    /// Adds one, if there is one. A thread that spins need not be woken.
    pub(super) fn add(&mut self, wake: Option<Wake>) {
        if wake.is_some() {
            self.wakes[self.len] = wake;
            self.len += 1;
        }
    }

    /// Whether it is time to release the lock and wake.
    pub(super) fn is_enough(&self) -> bool {
        self.len >= ENOUGH
    }

    /// Wakes them. If a waker panics, the others are woken all the same, and the
    /// panic goes on.
    pub(super) fn wake(self) {
        let mut panic = None;
        for wake in self.wakes.into_iter().flatten() {
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| wake.wake())) {
                panic.get_or_insert(payload);
            }
        }
        if let Some(payload) = panic {
            resume_unwind(payload);
        }
    }
}
