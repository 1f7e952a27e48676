//! How long a peer gives no sign of life.
//!
//! Time counts only while this gateway watches. A watcher adds up the intervals after each of
//! which it has looked for a sign of life, and never the difference of two clock readings. The clock
//! also runs while the process is stopped, the machine is suspended, or other processes
//! have all processors. What the peer sent in that time waits to be read, so such time is no evidence
//! that the peer is gone.
//!
//! An interval must therefore not be made up for: see [`ticks`].

use std::time::Duration;

use blitz_io::time::{self, Interval, MissedTickBehavior};

/// The silence of one peer, in time that was watched.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Silence(Duration);

impl Silence {
    /// Notes a sign of life.
    pub fn broken(&mut self) {
        self.0 = Duration::ZERO;
    }

    /// Notes that an interval of this nominal length has passed, after which no sign of life was
    /// there.
    pub fn lasts(&mut self, interval: Duration) {
        self.0 = self.0.saturating_add(interval);
    }

    /// Returns whether it lasts as long as `limit`.
    pub fn reaches(self, limit: Duration) -> bool {
        self.0 >= limit
    }
}

/// Returns an interval of which each tick comes at least `every` after the one before: after a
/// pause of the process there is one tick, and not one for each that was missed.
pub fn ticks(every: Duration) -> Interval {
    let mut interval = time::interval(every);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    interval
}
