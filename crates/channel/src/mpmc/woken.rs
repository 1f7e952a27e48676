//! The waiters to be woken after a step.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use blitz_sync::internals::{Panics, Wake};

/// How many there may be.
const MOST: usize = 8;
/// As many as there may be when a round of `serve_waiters` begins, which adds up to two.
const ENOUGH: usize = MOST - 2;

/// After a step with one effect.
pub(super) enum Call {
    /// This waiter, which has been chosen.
    One(Wake),
    /// The streams: there is something for them.
    Streams,
}

/// The few waiters that one step of a selection may have chosen. They have yet to
/// be woken.
#[derive(Default)]
pub(super) struct Woken {
    wakes: [Option<Wake>; MOST],
    len: usize,
    /// There is something for the streams, too.
    pub(super) tells_streams: bool,
}

/// Calls somebody else's code. What it says when it panics.
pub(super) fn caught(call: impl FnOnce()) -> thread::Result<()> {
    catch_unwind(AssertUnwindSafe(call))
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

    /// Wakes them, also after one whose waker panics.
    pub(super) fn wake(self, panics: &mut Panics) {
        for wake in self.wakes.into_iter().flatten() {
            panics.put_off(|| wake.wake());
        }
    }
}
