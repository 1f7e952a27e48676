//! Histograms of how long polls took: which ranges there are, and a count for each.

use std::error::Error;
use std::fmt;
use std::ops::Range;
use std::time::Duration;

use blitz_futex::atomic::{AtomicU64, Ordering};

use super::log_histogram::{LogHistogram, nanos};

/// The ranges of a histogram of the time that polls took.
///
/// For
/// [`Builder::metrics_poll_time_histogram_configuration`](crate::runtime::Builder::metrics_poll_time_histogram_configuration).
#[derive(Debug, Clone)]
pub struct HistogramConfiguration {
    ranges: Ranges,
}

impl HistogramConfiguration {
    /// Creates `num_buckets` ranges of the same width; the last one has no upper end.
    ///
    /// ```
    /// use blitz_io::runtime::HistogramConfiguration;
    /// use std::time::Duration;
    ///
    /// let twenty = HistogramConfiguration::linear(Duration::from_micros(50), 20);
    /// # let _ = twenty;
    /// ```
    #[must_use]
    pub fn linear(bucket_width: Duration, num_buckets: usize) -> Self {
        let width = nanos(bucket_width);
        Self {
            ranges: Ranges::Linear { width, num_buckets },
        }
    }

    /// Ranges that get wider as the time does, so that each is about as exact for its
    /// size.
    ///
    /// ```
    /// use blitz_io::runtime::{HistogramConfiguration, LogHistogram};
    /// use std::time::Duration;
    ///
    /// let builder = LogHistogram::builder().max_value(Duration::from_secs(1));
    /// let ranges = HistogramConfiguration::log(builder);
    /// # let _ = ranges;
    /// ```
    #[must_use]
    pub fn log(configuration: impl Into<LogHistogram>) -> Self {
        Self {
            ranges: Ranges::Log(configuration.into()),
        }
    }

    pub(crate) fn build(&self) -> Histogram {
        Histogram::new(self.ranges)
    }
}

/// Ten ranges of 100 µs.
impl Default for HistogramConfiguration {
    fn default() -> Self {
        Self::linear(Duration::from_micros(100), 10)
    }
}

/// Which value falls into which bucket.
#[derive(Debug, Clone, Copy)]
enum Ranges {
    Linear { width: u64, num_buckets: usize },
    Log(LogHistogram),
}

impl Ranges {
    fn num_buckets(self) -> usize {
        match self {
            Self::Linear { num_buckets, .. } => num_buckets,
            Self::Log(log) => log.num_buckets(),
        }
    }

    #[inline]
    fn bucket(self, value: u64) -> usize {
        let bucket = match self {
            Self::Linear { width, .. } => usize::try_from(value / width).unwrap_or(usize::MAX),
            Self::Log(log) => log.bucket(value),
        };
        bucket.min(self.num_buckets() - 1)
    }

    fn range(self, bucket: usize) -> Range<u64> {
        let start = self.start(bucket);
        if bucket + 1 == self.num_buckets() {
            start..u64::MAX
        } else {
            start..self.start(bucket + 1)
        }
    }

    fn start(self, bucket: usize) -> u64 {
        match self {
            Self::Linear { width, .. } => width * bucket as u64,
            Self::Log(log) => log.start(bucket),
        }
    }
}

/// How often a worker's polls took how long. The worker writes, anybody reads.
#[derive(Debug)]
pub(crate) struct Histogram {
    ranges: Ranges,
    counts: Box<[AtomicU64]>,
}

impl Histogram {
    fn new(ranges: Ranges) -> Self {
        let counts = (0..ranges.num_buckets()).map(|_| AtomicU64::new(0));
        Self {
            ranges,
            counts: counts.collect(),
        }
    }

    /// Counts one poll that took `time`. Only the owner calls it.
    #[inline]
    pub(crate) fn count(&self, time: Duration) {
        let count = &self.counts[self.ranges.bucket(nanos(time))];
        let before = count.load(Ordering::Relaxed);
        count.store(before + 1, Ordering::Relaxed);
    }

    pub(crate) fn num_buckets(&self) -> usize {
        self.counts.len()
    }

    #[track_caller]
    pub(crate) fn get(&self, bucket: usize) -> u64 {
        self.counts[bucket].load(Ordering::Relaxed)
    }

    #[track_caller]
    pub(crate) fn range(&self, bucket: usize) -> Range<Duration> {
        let Range { start, end } = self.ranges.range(bucket);
        Duration::from_nanos(start)..Duration::from_nanos(end)
    }
}

/// The ranges that were asked for cannot be had.
#[derive(Debug)]
pub enum InvalidHistogramConfiguration {
    /// They would need more buckets than allowed.
    TooManyBuckets {
        /// How many they would need.
        required_bucket_count: usize,
    },
}

impl fmt::Display for InvalidHistogramConfiguration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::TooManyBuckets {
            required_bucket_count,
        } = self;
        write!(
            f,
            "The configuration for this histogram would have required {required_bucket_count} \
             buckets"
        )
    }
}

impl Error for InvalidHistogramConfiguration {}
