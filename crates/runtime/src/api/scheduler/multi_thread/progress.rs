//! Whether a worker is *stalled*, as another one sees it: it makes no poll for a time. Its thread has
//! lost its processor, or is blocked, or its task takes long.
//!
//! * A worker without tasks looks when it searches, and takes the claimed tasks of one that is
//!   stalled for [`STALLED`] (`search.rs`).
//! * The monitor looks every few milliseconds, and gets up to work if one is stalled for [`BLOCKED`], or
//!   if none polls (`monitor.rs`).

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::api::metrics::Counters;

/// A worker that makes no poll for this long has lost its processor, or its task takes long:
/// others take its claimed tasks. A short poll ends well before that.
pub(super) const STALLED: Duration = Duration::from_micros(50);
/// A worker that makes no poll for this long, while others do, has not only lost its processor
/// for a time slice or two.
pub(super) const BLOCKED: Duration = Duration::from_millis(5);

/// Number of polls that a worker had made, and the time since when that is so.
pub(super) struct Progress {
    polls: Cell<u64>,
    since: Cell<Instant>,
}

impl Progress {
    /// Creates one for each of the workers.
    pub(super) fn of_all(workers: usize) -> Box<[Self]> {
        let new = |_| Self {
            polls: Cell::new(u64::MAX),
            since: Cell::new(Instant::now()),
        };
        (0..workers).map(new).collect()
    }

    /// Returns how long the worker with these counters has made no poll, as far as this one has seen. Zero if it
    /// has made one since the last call.
    pub(super) fn stands_for(&self, counters: &Counters) -> Duration {
        let now = Instant::now();
        let polls = counters.polls.get();
        if self.polls.replace(polls) != polls {
            self.since.set(now);
        }
        now - self.since.get()
    }
}
