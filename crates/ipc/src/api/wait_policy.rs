//! When a waiter looks for dead participants, and whether it spins before a sleep.

use std::time::{Duration, Instant};

use blitz_io_core::Spin;

use crate::api::sys;
use crate::kernel::event_count::EventCount;

/// The interval between a waiter's looks for dead participants. It bounds the delay after
/// the death of a participant. Twenty looks a second cost next to nothing.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The policy of a participant. It outlives a single wait: a participant whose waits are
/// short must look for dead ones, too.
pub(crate) struct WaitPolicy {
    next_look: Instant,
    /// The time of the next look of polls, by the clock of `sys::coarse_time`.
    next_look_of_polls: Duration,
    /// `true` if spinning would have saved the last sleep.
    spins: bool,
}

impl WaitPolicy {
    pub(crate) fn new() -> Self {
        Self {
            next_look: Instant::now() + LOOK_EVERY,
            next_look_of_polls: sys::coarse_time() + LOOK_EVERY,
            spins: true,
        }
    }

    /// Pauses before another attempt. Returns `false` when the thread should sleep. It
    /// returns `false` at once if the last sleep was longer than all attempts: spinning
    /// would most likely fail again, and the scheduler delays the wake-up of a thread that
    /// has spun.
    pub(crate) fn spin(&self, spin: &mut Spin) -> bool {
        self.spins && spin.turn()
    }

    /// Sleeps until `deadline`, or until it is time for a look.
    pub(crate) fn sleep(&mut self, events: EventCount<'_>, key: u32, deadline: Option<Instant>) {
        let began = Instant::now();
        let until = deadline.map_or(self.next_look, |deadline| deadline.min(self.next_look));
        events.sleep(key, Some(until));
        self.spins = began.elapsed() < Spin::LIMIT;
    }

    /// Returns `true` if it is time for a look, which the caller then takes.
    pub(crate) fn is_look_due(&mut self) -> bool {
        let now = Instant::now();
        let due = now >= self.next_look;
        if due {
            self.next_look = now + LOOK_EVERY;
        }
        due
    }

    /// Does what [`is_look_due`](Self::is_look_due) does, for a participant that polls, maybe
    /// without a pause: reads a clock that costs less and is less exact.
    pub(crate) fn is_look_of_polls_due(&mut self) -> bool {
        let now = sys::coarse_time();
        let due = now >= self.next_look_of_polls;
        if due {
            self.next_look_of_polls = now + LOOK_EVERY;
        }
        due
    }
}
