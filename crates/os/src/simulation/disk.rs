//! `Disk`: how fast a simulated disk is, and how it fails.

use std::time::Duration;

use blitz_io_observe::decisions::{happens, meaning, one_in, time_between};

/// The settings of a simulated host's disk: how long its operations take, and how often they fail.
///
/// Probabilities are rounded to one in a whole number, and are at most one half.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use blitz_io::sim::Disk;
///
/// let worn = Disk::new()
///     .sync_latency(Duration::from_millis(5), Duration::from_millis(200))
///     .errors(0.01);
/// assert_ne!(worn, Disk::new());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "a disk does nothing until it is given to a simulation"]
pub struct Disk {
    latency: (Duration, Duration),
    sync_latency: (Duration, Duration),
    errors: u32,
    full: u32,
}

impl Disk {
    /// Creates the settings that disks have by default: a sync takes from 1 to 5 milliseconds and all else no time, and
    /// there are no faults.
    pub const fn new() -> Self {
        Self {
            latency: (Duration::ZERO, Duration::ZERO),
            sync_latency: (Duration::from_millis(1), Duration::from_millis(5)),
            errors: 0,
            full: 0,
        }
    }

    /// Sets the shortest and the longest time of an operation that is no sync.
    pub const fn latency(mut self, least: Duration, most: Duration) -> Self {
        self.latency = (least, most);
        self
    }

    /// Sets the shortest and the longest time of a sync.
    pub const fn sync_latency(mut self, least: Duration, most: Duration) -> Self {
        self.sync_latency = (least, most);
        self
    }

    /// Sets the probability with which a read, a write or a sync fails (`EIO`). After a sync that has failed, what it
    /// was to write is never written: the next sync succeeds without it, as on Linux.
    pub fn errors(mut self, probability: f64) -> Self {
        self.errors = one_in(probability);
        self
    }

    /// Sets the probability with which there is no room (`ENOSPC`) for a write or a new name. Of a write, a half may
    /// find room.
    pub fn full(mut self, probability: f64) -> Self {
        self.full = one_in(probability);
        self
    }

    /// Draws the time of an operation.
    pub(super) fn draw_time(&self, is_sync: bool) -> Duration {
        let (least, most) = if is_sync {
            self.sync_latency
        } else {
            self.latency
        };
        time_between(least, most)
    }

    pub(super) fn fails(&self) -> bool {
        meaning(
            || happens(self.errors),
            |_| "an operation of a disk fails".to_owned(),
        )
    }

    pub(super) fn is_full(&self) -> bool {
        meaning(
            || happens(self.full),
            |_| "a write finds the disk full".to_owned(),
        )
    }

    /// Returns the settings of a disk that is in trouble.
    pub(super) fn with_trouble(mut self, troubles: &[Trouble]) -> Self {
        for trouble in troubles {
            match trouble {
                Trouble::Slow => {
                    self.latency = (Duration::ZERO, Duration::from_millis(200));
                    self.sync_latency = (Duration::from_millis(5), Duration::from_millis(1500));
                }
                Trouble::Errors => self.errors = 10,
                Trouble::Full => self.full = 4,
            }
        }
        self
    }
}

impl Default for Disk {
    fn default() -> Self {
        Self::new()
    }
}

/// A fault that lasts for some time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trouble {
    /// Operations take long.
    Slow,
    /// Operations fail.
    Errors,
    /// There is often no room.
    Full,
}
