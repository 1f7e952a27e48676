//! Runtime metrics.

mod counters;
mod histogram;
mod latency;

pub(crate) use counters::{Counters, Stopwatch, Totals};
pub(crate) use histogram::{Histogram, nanos};
pub use histogram::{
    HistogramConfiguration, InvalidHistogramConfiguration, LogHistogram, LogHistogramBuilder,
};
pub(crate) use latency::ReadyClock;
