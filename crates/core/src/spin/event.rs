//! Waiting for something that another thread will do.

use std::time::{Duration, Instant};

use super::{pause, yield_to_peers};
use crate::processors::processors;

/// The sum of the pauses, in `spin_loop` hints: about a microsecond.
const PAUSES: u32 = 32;

/// The attempts of a thread that waits for an event, before it sleeps.
///
/// ```text
/// let mut spin = EventSpin::new();
/// while spin.turn() {
///     if it_has_happened() { return; }
/// }
/// // Announce that this thread sleeps, look again, and sleep.
/// ```
pub struct EventSpin {
    /// How long to pause next.
    pause: u32,
    /// When the first yield began.
    began: Option<Instant>,
}

impl Default for EventSpin {
    fn default() -> Self {
        Self::new()
    }
}

impl EventSpin {
    /// How long a thread yields before it sleeps: a few times the cost of a sleep and a wake-up.
    pub const YIELD_FOR: Duration = Duration::from_micros(60);

    /// Creates the attempts for an event that one other thread can bring about.
    #[inline]
    pub fn new() -> Self {
        Self::among(2)
    }

    /// Creates the attempts for an event that takes this many threads to happen, the one
    /// that waits included. With fewer processors than that it yields from the beginning.
    #[inline]
    pub fn among(threads: usize) -> Self {
        Self {
            pause: if threads <= processors() { 1 } else { PAUSES },
            began: None,
        }
    }

    /// Lets a moment pass. `false` when it is time to sleep.
    #[inline]
    pub fn turn(&mut self) -> bool {
        if cfg!(loom) {
            return std::mem::replace(&mut self.pause, 0) != 0;
        }
        if self.pause < PAUSES {
            pause(self.pause);
            self.pause *= 2;
            return true;
        }
        let now = Instant::now();
        now - *self.began.get_or_insert(now) < Self::YIELD_FOR && yield_to_peers()
    }
}
