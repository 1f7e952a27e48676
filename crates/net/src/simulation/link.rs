//! `Link`: how a simulated network carries packets from one host to another.

use std::fmt;
use std::time::Duration;

use blitz_io_observe::decisions::{happens, one_in, time_between};

/// The settings of a link: its latency, and the packets that it loses or delays.
///
/// Probabilities are rounded to one in a whole number, and are at most one half: to lose everything, cut the link.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use blitz_io::sim::Link;
///
/// let slow = Link::new()
///     .latency(Duration::from_millis(40), Duration::from_millis(300))
///     .loss(0.02);
/// assert_ne!(slow, Link::new());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "a link does nothing until it is given to a simulation"]
pub struct Link {
    least: Duration,
    most: Duration,
    loss: u32,
    duplication: u32,
    resets: u32,
    splits: u32,
}

impl Link {
    /// Creates the settings that links have by default: a latency from 1 to 10 milliseconds, and no faults.
    pub const fn new() -> Self {
        Self {
            least: Duration::from_millis(1),
            most: Duration::from_millis(10),
            loss: 0,
            duplication: 0,
            resets: 0,
            splits: 0,
        }
    }

    /// Sets the shortest and the longest latency. Datagrams with different latencies overtake each other; the bytes of
    /// a connection do not.
    pub const fn latency(mut self, least: Duration, most: Duration) -> Self {
        self.least = least;
        self.most = most;
        self
    }

    /// Sets the probability with which a packet is lost. Of a connection it is sent again, 200 milliseconds later.
    pub fn loss(mut self, probability: f64) -> Self {
        self.loss = one_in(probability);
        self
    }

    /// Sets the probability with which a datagram arrives twice.
    pub fn duplication(mut self, probability: f64) -> Self {
        self.duplication = one_in(probability);
        self
    }

    /// Sets the probability with which a write resets its connection.
    pub fn resets(mut self, probability: f64) -> Self {
        self.resets = one_in(probability);
        self
    }

    /// Sets the probability with which the bytes of a write arrive in two parts, so that a read returns only the first.
    pub fn splits(mut self, probability: f64) -> Self {
        self.splits = one_in(probability);
        self
    }

    /// Draws the latency of a packet. Alternative 0 is the shortest one.
    pub(super) fn draw_latency(&self) -> Duration {
        time_between(self.least, self.most)
    }

    pub(super) fn loses(&self) -> bool {
        happens(self.loss)
    }

    pub(super) fn duplicates(&self) -> bool {
        happens(self.duplication)
    }

    pub(super) fn is_reset(&self) -> bool {
        happens(self.resets)
    }

    pub(super) fn is_split(&self) -> bool {
        happens(self.splits)
    }
}

/// Writes the settings in the words of a report, such as `a latency of 1ms to 10ms, 1 of 50 packets lost`.
impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a latency of {:?} to {:?}", self.least, self.most)?;
        let faults = [
            (self.loss, "packets lost"),
            (self.duplication, "datagrams sent twice"),
            (self.resets, "writes reset"),
            (self.splits, "writes split"),
        ];
        for (one_in, what) in faults.iter().filter(|(one_in, _)| *one_in != 0) {
            write!(f, ", 1 of {one_in} {what}")?;
        }
        Ok(())
    }
}

impl Default for Link {
    fn default() -> Self {
        Self::new()
    }
}
