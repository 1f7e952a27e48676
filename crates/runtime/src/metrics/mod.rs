//! What a runtime counts of its work.

mod counters;
mod histogram;
mod log_histogram;

pub(crate) use counters::{Counters, Stopwatch, Totals};
pub(crate) use histogram::Histogram;
pub use histogram::{HistogramConfiguration, InvalidHistogramConfiguration};
pub(crate) use log_histogram::nanos;
pub use log_histogram::{LogHistogram, LogHistogramBuilder};
