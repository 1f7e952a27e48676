//! The waiters to be woken after a step.

use blitz_io_core::{Panics, Wake};

/// Maximum number of waiters to wake after one step.
const MOST: usize = 8;
/// Maximum number when a round of `serve_waiters` begins, which adds up to two.
const ENOUGH: usize = MOST - 2;

/// The wake-up after a step with one effect.
pub(super) enum Call {
    /// One waiter, or none.
    One(Wake),
    /// The streams: there is something for them.
    Streams,
}

/// The few waiters that one step of a selection may have chosen. They have yet to
/// be woken.
pub(super) struct Woken {
    wakes: [Wake; MOST],
    len: usize,
    /// There is something for the streams, too.
    pub(super) tells_streams: bool,
}

impl Woken {
    pub(super) fn new() -> Self {
        Self {
            wakes: [const { Wake::Nobody }; MOST],
            len: 0,
            tells_streams: false,
        }
    }

    /// Adds one, unless it need not be woken.
    pub(super) fn add(&mut self, wake: Wake) {
        if !matches!(wake, Wake::Nobody) {
            self.wakes[self.len] = wake;
            self.len += 1;
        }
    }

    /// Returns `true` if it is time to release the lock and wake.
    pub(super) fn is_enough(&self) -> bool {
        self.len >= ENOUGH
    }

    /// Wakes them, also after one whose waker panics.
    pub(super) fn wake(self, panics: &mut Panics) {
        for wake in self.wakes {
            panics.put_off(|| wake.wake());
        }
    }
}
