//! Wakers that have yet to be called.

use std::task::Waker;

use blitz_sync::internals::{Panics, Wake};

/// The wakers that a poll has gathered, so that a scheduler can queue all their tasks
/// and then call other workers once. Keeps its memory from one poll to the next.
///
/// Dropping it wakes those that are left: whoever was taken out of a queue is woken.
#[derive(Default, Debug)]
pub struct Wakers(Vec<Waker>);

impl Wakers {
    /// None.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn extend(&mut self, wakers: impl IntoIterator<Item = Waker>) {
        self.0.extend(wakers);
    }

    pub(crate) fn push_wake(&mut self, wake: Wake) {
        match wake {
            Wake::Task(waker) => self.0.push(waker),
            // Only tasks wait here.
            other => other.wake(),
        }
    }

    /// Wakes all, in the order of their events. No lock may be held. If a waker panics, the
    /// others are woken all the same, and the first panic goes on.
    pub fn wake_all(&mut self) {
        let mut panics = Panics::new();
        for waker in self.0.drain(..) {
            panics.put_off(|| waker.wake());
        }
        panics.go_on();
    }
}

impl Drop for Wakers {
    fn drop(&mut self) {
        if !self.0.is_empty() {
            let mut panics = Panics::new();
            for waker in self.0.drain(..) {
                panics.put_off(|| waker.wake());
            }
        }
    }
}
