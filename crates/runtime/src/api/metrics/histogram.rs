//! Histograms of how long polls took, and tasks were ready: which ranges there are, and a count for
//! each.
//!
//! Ranges have the same width, or they grow with the value, each power of two cut into the same
//! number of parts. So the width of a range is at most a fixed part of its values, and the range
//! of a value is found with two shifts. This is the "H2" histogram of Khuong, Yue and
//! Graetz (<https://h2histogram.org>).

use blitz_io_core::error_text;
use std::ops::Range;
use std::time::Duration;

use blitz_io_futex::atomic::{AtomicU64, Ordering};

/// 2 to the power of it is the number of parts of each power of two.
const DEFAULT_PRECISION: u32 = 2;
const MAX_PRECISION: u32 = 10;
const DEFAULT_MIN: Duration = Duration::from_nanos(100);
const DEFAULT_MAX: Duration = Duration::from_secs(60);

/// The ranges of a histogram of the time that polls took, or that tasks were ready before them.
///
/// For
/// [`Builder::metrics_poll_time_histogram_configuration`](crate::runtime::Builder::metrics_poll_time_histogram_configuration)
/// and, with the feature `schedule-latency`, `metrics_schedule_latency_histogram_configuration`.
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
            Self::Log(log) => log.num_buckets,
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

/// Counts a worker's polls by their duration. The worker writes, any thread reads.
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

/// The requested ranges are not possible.
#[derive(Debug)]
pub enum InvalidHistogramConfiguration {
    /// They would need more buckets than allowed.
    TooManyBuckets {
        /// Number of buckets that the settings would need.
        required_bucket_count: usize,
    },
}

error_text! {
    Display for InvalidHistogramConfiguration {
        Self::TooManyBuckets { required_bucket_count } => format_args!(
            "The configuration for this histogram would have required {required_bucket_count} \
             buckets"
        ),
    }
}

/// Ranges of time that get wider as the time does.
///
/// For [`HistogramConfiguration::log`](HistogramConfiguration::log). The default
/// goes from 100 ns to 60 s, with an error of at most 25 %.
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct LogHistogram {
    num_buckets: usize,
    precision: u32,
    /// Number of ranges that are left out at the small end.
    left_out: usize,
}

impl LogHistogram {
    /// Creates a builder with the default's settings.
    #[must_use]
    pub fn builder() -> LogHistogramBuilder {
        LogHistogramBuilder::default()
    }

    /// Returns the number of nanoseconds at which the last range begins, the one
    /// without an upper end.
    #[must_use]
    pub fn max_value(&self) -> u64 {
        self.start(self.num_buckets - 1)
    }

    /// Returns the range that `value` is in, but for the end of the last one.
    #[inline]
    fn bucket(&self, value: u64) -> usize {
        place(value, self.precision).saturating_sub(self.left_out)
    }

    /// Returns the start of a range.
    fn start(&self, bucket: usize) -> u64 {
        if bucket == 0 {
            return 0;
        }
        first_at(bucket + self.left_out, self.precision)
    }
}

impl Default for LogHistogram {
    fn default() -> Self {
        LogHistogramBuilder::default().build()
    }
}

/// Makes a [`LogHistogram`].
///
/// ```
/// use blitz_io::runtime::LogHistogram;
/// use std::time::Duration;
///
/// let ranges = LogHistogram::builder()
///     .max_error(0.1)
///     .min_value(Duration::from_micros(1))
///     .max_value(Duration::from_secs(1))
///     .build();
/// assert!(ranges.max_value() >= 1_000_000_000);
/// ```
#[derive(Default, Debug, Copy, Clone)]
pub struct LogHistogramBuilder {
    max_value: Option<Duration>,
    min_value: Option<Duration>,
    precision: Option<u32>,
}

impl LogHistogramBuilder {
    /// Sets how much a value may differ from its range's bounds, as a part of the value.
    /// A part above 0.25 counts as 0.25, and one below 0.1 % as 0.1 %.
    ///
    /// # Panics
    ///
    /// When it is not between 0 and 1.
    #[must_use]
    pub fn max_error(mut self, max_error: f64) -> Self {
        assert!(max_error > 0.0, "max_error must be greater than 0");
        assert!(max_error < 1.0, "max_error must be less than 1");
        let enough = |precision: &u32| 0.5_f64.powi(*precision as i32) <= max_error;
        let precision = (DEFAULT_PRECISION..MAX_PRECISION).find(enough);
        self.precision = Some(precision.unwrap_or(MAX_PRECISION));
        self
    }

    /// Cuts each power of two into 2<sup>`p`</sup> ranges.
    ///
    /// # Panics
    ///
    /// When `p` is more than 10.
    #[must_use]
    pub fn precision_exact(mut self, p: u32) -> Self {
        assert!(p <= MAX_PRECISION, "precision must be <= {MAX_PRECISION}");
        self.precision = Some(p);
        self
    }

    /// Sets the duration below which values need not be distinguished.
    #[must_use]
    pub fn min_value(mut self, duration: Duration) -> Self {
        self.min_value = Some(duration);
        self
    }

    /// Sets the duration above which values need not be distinguished.
    ///
    /// # Panics
    ///
    /// When it is 0.
    #[must_use]
    pub fn max_value(mut self, duration: Duration) -> Self {
        assert!(!duration.is_zero(), "max value must be greater than 0");
        self.max_value = Some(duration);
        self
    }

    /// Builds the histogram, if it needs no more than `max_buckets` ranges.
    ///
    /// # Errors
    ///
    /// When it needs more.
    pub fn max_buckets(
        &mut self,
        max_buckets: usize,
    ) -> Result<LogHistogram, InvalidHistogramConfiguration> {
        let histogram = self.build();
        if histogram.num_buckets <= max_buckets {
            return Ok(histogram);
        }
        Err(InvalidHistogramConfiguration::TooManyBuckets {
            required_bucket_count: histogram.num_buckets,
        })
    }

    /// Builds the histogram.
    #[must_use]
    pub fn build(&self) -> LogHistogram {
        let precision = self.precision.unwrap_or(DEFAULT_PRECISION);
        let min = nanos(self.min_value.unwrap_or(DEFAULT_MIN));
        let max = nanos(self.max_value.unwrap_or(DEFAULT_MAX));
        // The range below the smallest value takes all that is smaller still, and a
        // range above the greatest all that is greater.
        let left_out = place(min, precision).saturating_sub(1);
        let greatest = place(max - 1, precision).saturating_sub(left_out);
        LogHistogram {
            num_buckets: greatest + 2,
            precision,
            left_out,
        }
    }
}

impl From<LogHistogramBuilder> for LogHistogram {
    fn from(builder: LogHistogramBuilder) -> Self {
        builder.build()
    }
}

/// Returns the number of the range that `value` is in, if none are left out. Values of few digits
/// have ranges of their own. The highest digits of a greater value decide its range.
#[inline]
fn place(value: u64, precision: u32) -> usize {
    let digits = u64::BITS - value.leading_zeros();
    let dropped = digits.saturating_sub(precision + 1);
    ((u64::from(dropped) << precision) + (value >> dropped)) as usize
}

/// Returns the first value of the range with the number `place`.
fn first_at(place: usize, precision: u32) -> u64 {
    let place = place as u64;
    let dropped = (place >> precision).saturating_sub(1);
    (place - (dropped << precision)) << dropped
}

/// Returns a time in nanoseconds, or the largest number that fits.
pub(crate) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_range_begins_where_the_one_before_ends() {
        for precision in 0..=MAX_PRECISION {
            for value in (0..100_000).chain([u64::MAX - 1, u64::MAX]) {
                let at = place(value, precision);
                assert!(first_at(at, precision) <= value);
                assert_eq!(place(first_at(at, precision), precision), at);
                if value > 0 {
                    assert!(place(value - 1, precision) <= at);
                }
            }
        }
    }

    #[test]
    fn the_default_has_the_ranges_of_the_other_runtime() {
        let log = LogHistogram::default();
        assert_eq!(log.num_buckets, 119);
        assert_eq!(log.start(1), 96);
        assert_eq!(log.max_value(), 60_129_542_144);
    }
}
