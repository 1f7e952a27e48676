//! How long each single operation waited.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::stats::median;

/// The longest wait that is distinguished from longer ones.
const LONGEST: Duration = Duration::from_secs(60);

/// A histogram of waits, three significant digits, up to one minute. Each
/// thread records into its own; they are merged after the clock has stopped.
#[derive(Clone, Debug)]
pub struct Waits {
    histogram: Histogram<u64>,
    turns: Option<Turns>,
}

/// How evenly the turns of a lock fall: shares of all turns, from 0 to 1, at the moment at which
/// the first thread has had all of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Turns {
    /// The share of the thread that had the fewest.
    pub least: f64,
    /// The share of the thread that had the most.
    pub most: f64,
}

impl Turns {
    /// Computes the shares of threads that have had this many turns each.
    ///
    /// ```
    /// let turns = blitz_io_bench::Turns::of(&[10, 20, 50, 20]);
    /// assert_eq!((turns.least, turns.most), (0.1, 0.5));
    /// assert_eq!(turns.text(), "10 to 50 %");
    /// ```
    pub fn of(counts: &[u64]) -> Turns {
        let all = counts.iter().sum::<u64>().max(1) as f64;
        let shares = counts.iter().map(|&count| count as f64 / all);
        Turns {
            least: shares.clone().fold(1.0, f64::min),
            most: shares.fold(0.0, f64::max),
        }
    }

    /// Formats both shares.
    pub fn text(self) -> String {
        format!("{:.0} to {:.0} %", self.least * 100.0, self.most * 100.0)
    }
}

/// Percentiles of the wait, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Half of all waits were no longer than this.
    pub p50_ns: f64,
    /// Nine of ten waits were no longer than this. Older documents lack it, and get zero.
    #[serde(default)]
    pub p90_ns: f64,
    /// 99 of 100 waits were no longer than this.
    pub p99_ns: f64,
    /// 999 of 1000 waits were no longer than this.
    pub p99_9_ns: f64,
    /// The longest wait of all: the figure that shows starvation.
    pub max_ns: f64,
    /// How evenly the turns fell, where the scenario counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<Turns>,
}

/// A figure of a [`Latency`]: its name in reports, and its value.
type Figure = (&'static str, fn(&Latency) -> f64);

impl Latency {
    /// All percentiles, and the longest wait.
    pub(crate) const FIGURES: [Figure; 5] = [
        ("p50", |latency| latency.p50_ns),
        ("p90", |latency| latency.p90_ns),
        ("p99", |latency| latency.p99_ns),
        ("p99.9", |latency| latency.p99_9_ns),
        ("longest", |latency| latency.max_ns),
    ];

    /// Returns the median of each figure. The turns count if all have them.
    ///
    /// # Panics
    ///
    /// Panics if `all` is empty.
    pub(crate) fn median_of(all: &[Latency]) -> Latency {
        let turns: Option<Vec<Turns>> = all.iter().map(|latency| latency.turns).collect();
        Latency {
            p50_ns: middle(all, |latency| latency.p50_ns),
            p90_ns: middle(all, |latency| latency.p90_ns),
            p99_ns: middle(all, |latency| latency.p99_ns),
            p99_9_ns: middle(all, |latency| latency.p99_9_ns),
            max_ns: middle(all, |latency| latency.max_ns),
            turns: turns.map(|turns| Turns {
                least: middle(&turns, |turns| turns.least),
                most: middle(&turns, |turns| turns.most),
            }),
        }
    }
}

fn middle<T>(all: &[T], figure: fn(&T) -> f64) -> f64 {
    median(&all.iter().map(figure).collect::<Vec<_>>())
}

impl Waits {
    /// Creates an empty histogram with all its memory allocated, so that recording
    /// never allocates.
    pub fn new() -> Waits {
        let longest = LONGEST.as_nanos() as u64;
        Waits {
            histogram: Histogram::new_with_bounds(1, longest, 3).expect("the bounds are valid"),
            turns: None,
        }
    }

    /// Records one wait.
    #[inline]
    pub fn record(&mut self, wait: Duration) {
        self.histogram.saturating_record(wait.as_nanos() as u64);
    }

    /// Adds another thread's waits.
    pub fn merge(&mut self, other: &Waits) {
        (self.histogram.add(&other.histogram)).expect("all histograms are alike");
    }

    /// Returns the same waits with the turns that the threads had.
    pub fn with_turns(self, turns: Turns) -> Waits {
        Waits {
            turns: Some(turns),
            ..self
        }
    }

    /// Returns how many waits were recorded.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// Returns the percentiles, never below one nanosecond.
    ///
    /// ```
    /// use std::time::Duration;
    /// let mut waits = blitz_io_bench::Waits::new();
    /// for ns in 1..=1000 {
    ///     waits.record(Duration::from_nanos(ns));
    /// }
    /// let latency = waits.latency();
    /// assert_eq!((latency.p50_ns, latency.p99_ns, latency.max_ns), (500.0, 990.0, 1000.0));
    /// ```
    pub fn latency(&self) -> Latency {
        let at = |quantile| self.histogram.value_at_quantile(quantile).max(1) as f64;
        Latency {
            p50_ns: at(0.5),
            p90_ns: at(0.9),
            p99_ns: at(0.99),
            p99_9_ns: at(0.999),
            max_ns: self.histogram.max().max(1) as f64,
            turns: self.turns,
        }
    }
}

impl Default for Waits {
    fn default() -> Waits {
        Waits::new()
    }
}
