//! `Error`: why a pipeline did not run to its end.

use std::fmt;

/// The part of a pipeline in which an item failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Place {
    /// The source with this number, from 0.
    Source(usize),
    /// A stage.
    Stage,
    /// The sink with this number, from 0.
    Sink(usize),
}

/// The error returned when a pipeline did not run to its end.
///
/// Items are numbered from 0, in the order in which they were read. If items are written in
/// order, all items before the item of the error were written.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Error<E> {
    /// A closure failed. If several did, this is the first in the order of the input.
    Failed {
        /// The item at which it failed.
        item: u64,
        /// The place of the failure.
        place: Place,
        /// The error that the closure returned.
        error: E,
    },
    /// One of several sources had no more items while another had.
    Uneven {
        /// The first item that is not complete.
        item: u64,
        /// The source that ended.
        source: usize,
    },
    /// [`Control::cancel`](crate::Control::cancel) was called.
    Cancelled {
        /// Number of items that had been written before that, without a gap.
        written: u64,
    },
}

impl<E> Error<E> {
    /// Returns the error of the closure that failed.
    pub fn into_inner(self) -> Option<E> {
        match self {
            Self::Failed { error, .. } => Some(error),
            _ => None,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source(0) => f.write_str("the source"),
            Self::Source(n) => write!(f, "source {n}"),
            Self::Stage => f.write_str("a stage"),
            Self::Sink(0) => f.write_str("the sink"),
            Self::Sink(n) => write!(f, "sink {n}"),
        }
    }
}

impl<E: fmt::Display> fmt::Display for Error<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed { item, place, error } => write!(f, "item {item}, in {place}: {error}"),
            Self::Uneven { item, source } => {
                write!(
                    f,
                    "source {source} ends before item {item}, and another does not"
                )
            }
            Self::Cancelled { written } => write!(f, "cancelled after {written} items"),
        }
    }
}

/// The text of a failure contains that of the closure's error, so `source` returns the source of that error. A report
/// that prints a chain of errors then has each text once. The error itself is in the field and in
/// [`into_inner`](Error::into_inner).
impl<E: std::error::Error> std::error::Error for Error<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Failed { error, .. } => error.source(),
            _ => None,
        }
    }
}
