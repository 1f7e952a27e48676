//! Exponential backoff for a contended atomic.
//!
//! A thread that has the word in its cache changes it quickly; each move to another processor
//! costs both sides far more than that. So the loser of a race leaves the word alone: first for a
//! short pause, then for twice as long each time, up to a limit. From the second time on it also
//! yields: with more threads than processors, the winner's work may be waiting for one of those
//! (a channel's receiver, a preempted owner). [`is_completed`](Backoff::is_completed) says when
//! it is time to wait in another way.

use crate::spin::yield_to_peers;

/// Number of races that this thread has lost in a row; see the module documentation.
#[derive(Default)]
pub struct Backoff(u32);

/// The first pause, in `spin_loop` hints, whose length differs between processors.
const SHORTEST: u32 = 16;
/// The longest, as a power of two, times the first.
const LONGEST: u32 = 4;
/// After this many steps a thread should wait in another way.
const STEPS: u32 = 16;

impl Backoff {
    /// Creates a backoff for a thread that has lost no race so far.
    pub const fn new() -> Self {
        Self(0)
    }

    /// Backs off after another lost race. Returns at once under the model checker.
    #[cold]
    pub fn snooze(&mut self) {
        if cfg!(loom) {
            return;
        }
        // Where yields go to strangers, only pauses are left.
        if self.0 != 0 {
            yield_to_peers();
        }
        for _ in 0..SHORTEST << self.0.min(LONGEST) {
            std::hint::spin_loop();
        }
        self.0 += 1;
    }

    /// Returns `true` if backing off has not helped for long enough.
    pub const fn is_completed(&self) -> bool {
        self.0 >= STEPS
    }
}

#[cfg(test)]
mod tests {
    use super::{Backoff, STEPS};

    #[test]
    fn it_completes_and_can_go_on() {
        let mut backoff = Backoff::new();
        for _ in 0..STEPS {
            assert!(!backoff.is_completed());
            backoff.snooze();
        }
        assert!(backoff.is_completed());
        backoff.snooze();
        assert!(backoff.is_completed());
    }
}
