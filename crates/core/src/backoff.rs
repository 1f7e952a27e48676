//! Backing off: a thread that never sleeps, because another thread that is running, or was
//! preempted, ends the wait within a few instructions and wakes nothing.
//!
//! **Contended atomics.** A thread that has the word in its cache changes it quickly; each move to
//! another processor costs both sides far more than that. So the loser of a race leaves the word
//! alone: first for a short pause, then for twice as long each time, up to a limit. From the second
//! time on it also yields: with more threads than processors, the winner's work may be waiting for
//! one of those (a channel's receiver, a preempted owner).
//! [`is_completed`](Backoff::is_completed) says when it is time to wait in another way.
//!
//! **Short steps.** A thread needs the result of a step that another thread has begun: a slot that
//! it has claimed is filled, an object is written. The step runs no foreign code, so it ends soon,
//! unless its thread was preempted. A thread looks [`LOOKS`] times and then yields between two
//! looks ([`wait_for_step`]). A task's poll looks and yields once ([`step_is_done`]), and then
//! returns: its scheduler lets other tasks run before the next poll.
//!
//! **Rounds.** A thread waits for others that never sleep either ([`relax`]).

use std::hint;

use crate::pause::{look, pause};
use crate::processors::processors;
use crate::spin::{yield_now, yield_to_peers};

/// Number of races that this thread has lost in a row; see the module documentation.
#[derive(Default)]
pub struct Backoff(u32);

/// The first pause, in `spin_loop` hints, whose length differs between processors.
const SHORTEST: u32 = 16;
/// The longest, as a power of two, times the first.
const LONGEST: u32 = 4;
/// After this many steps a thread should wait in another way.
const STEPS: u32 = 16;

/// Number of looks for the end of a short step before the first yield. One under the model checker,
/// which tries the orders in which a later one would have succeeded.
const LOOKS: u32 = if cfg!(loom) { 1 } else { 100 };

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
        pause(SHORTEST << self.0.min(LONGEST));
        self.0 += 1;
    }

    /// Returns `true` if backing off has not helped for long enough.
    pub const fn is_completed(&self) -> bool {
        self.0 >= STEPS
    }
}

/// Waits until `is_done` returns `true`, which another thread's step, already begun, brings about.
pub fn wait_for_step(is_done: impl Fn() -> bool) {
    let mut looks = LOOKS;
    while !look(looks, &is_done) {
        yield_now();
        looks = 1;
    }
}

/// Looks whether another thread's step, already begun, is done; for a poll, which must not wait. Before
/// this returns `false`, other threads of this processor have had a chance to run. (Under the model
/// checker that ends the step, so there is no look after it.)
pub fn step_is_done(is_done: impl Fn() -> bool) -> bool {
    if look(LOOKS, &is_done) {
        return true;
    }
    if cfg!(loom) {
        yield_now();
        return false;
    }
    yield_to_peers();
    is_done()
}

/// Lets a moment pass for a thread that never sleeps, in a wait that takes this many
/// threads to end.
pub fn relax(threads: usize) {
    if threads <= processors() && !cfg!(loom) {
        hint::spin_loop();
    } else {
        yield_now();
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::{Backoff, LOOKS, STEPS, step_is_done, wait_for_step};

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

    #[test]
    fn a_poll_looks_for_a_step_a_bounded_number_of_times() {
        let looks = Cell::new(0);
        assert!(!step_is_done(|| {
            looks.set(looks.get() + 1);
            false
        }));
        assert_eq!(looks.get(), LOOKS + 1);
    }

    #[test]
    fn a_thread_looks_for_a_step_until_it_is_done() {
        let looks = Cell::new(0);
        wait_for_step(|| {
            looks.set(looks.get() + 1);
            looks.get() == 3 * LOOKS
        });
        assert_eq!(looks.get(), 3 * LOOKS);
    }
}
