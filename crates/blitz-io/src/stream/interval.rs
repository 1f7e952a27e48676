//! The ticks of an interval as a stream.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;

use crate::time::{Instant, Interval};

/// A stream of the ticks of an [`Interval`]. It never ends.
///
/// # Examples
///
/// With `StreamExt` of the crate `futures-util`:
///
/// ```
/// use blitz_io::stream::wrappers::IntervalStream; // was: tokio_stream::wrappers
/// use blitz_io::time::{Duration, interval};
/// use futures_util::StreamExt; // the crate futures-util
///
/// # blitz_io::runtime::Runtime::new().unwrap().block_on(async {
/// let ticks = IntervalStream::new(interval(Duration::from_millis(1)));
/// let due: Vec<_> = ticks.take(3).collect().await;
/// assert!(due.is_sorted());
/// # });
/// ```
#[derive(Debug)]
pub struct IntervalStream {
    inner: Interval,
}

impl IntervalStream {
    /// Creates a stream from an interval.
    #[must_use]
    pub fn new(interval: Interval) -> Self {
        Self { inner: interval }
    }

    /// Returns the interval.
    #[must_use]
    pub fn into_inner(self) -> Interval {
        self.inner
    }
}

impl Stream for IntervalStream {
    type Item = Instant;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Instant>> {
        self.inner.poll_tick(context).map(Some)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (usize::MAX, None)
    }
}

impl AsRef<Interval> for IntervalStream {
    fn as_ref(&self) -> &Interval {
        &self.inner
    }
}

impl AsMut<Interval> for IntervalStream {
    fn as_mut(&mut self) -> &mut Interval {
        &mut self.inner
    }
}
