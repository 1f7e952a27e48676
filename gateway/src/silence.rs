//! The time without a sign of life from a peer.
//!
//! Time counts only while this gateway watches. A watcher adds up the intervals after each of
//! which it has looked for a sign of life, and never the difference of two clock readings. The clock
//! also runs while the process is stopped, the machine is suspended, or other processes
//! have all processors. Frames that the peer sent in that time are still unread, so such time is no
//! evidence that the peer has died.
//!
//! A watcher must therefore not make up for missed intervals: see [`ticks`].

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

    /// Notes that an interval of this nominal length has passed, after which the watcher found no sign
    /// of life.
    pub fn lasts(&mut self, interval: Duration) {
        self.0 = self.0.saturating_add(interval);
    }

    /// Returns `true` if the silence has lasted for `limit`.
    pub fn reaches(self, limit: Duration) -> bool {
        self.0 >= limit
    }
}

/// Returns an interval with at least `every` between two ticks. After a pause of the process it has
/// one tick, and not one for each tick that was missed.
pub fn ticks(every: Duration) -> Interval {
    let mut interval = time::interval(every);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    interval
}
