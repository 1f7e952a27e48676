//! `Link`: how a simulated network carries packets from one host to another.

use std::time::Duration;

use blitz_io_observe::decisions;

/// The number of different latencies that a packet may have.
const STEPS: u32 = 8;

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
        let range = self.most.saturating_sub(self.least);
        if range.is_zero() {
            return self.least;
        }
        self.least + range / (STEPS - 1) * draw(STEPS)
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

impl Default for Link {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns the number of which one has this probability; 0 if there is none.
fn one_in(probability: f64) -> u32 {
    if probability > 0.0 {
        // The conversion of a float saturates.
        ((1.0 / probability).round() as u32).max(2)
    } else {
        0
    }
}

/// Lets the simulation decide about a fault that happens one time in a number. Alternative 1 is the fault, so that a
/// shorter trace has no smaller choice to try.
fn happens(one_in: u32) -> bool {
    one_in != 0 && draw(one_in) == 1
}

/// Returns a number below `below` that the simulation decides.
pub(super) fn draw(below: u32) -> u32 {
    decisions::random(below).unwrap_or(0)
}
