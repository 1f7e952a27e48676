//! Futures that are ready at once.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// Polls `future` once, with a waker that does nothing.
///
/// The fast path of an async operation is a future that never waits. Its cost
/// is one poll; a runtime around it would only blur the figure.
///
/// ```
/// use blitz_io_bench::poll_now;
/// assert_eq!(poll_now(async { 1 }), Some(1));
/// assert_eq!(poll_now(std::future::pending::<()>()), None);
/// ```
#[inline]
pub fn poll_now<F: Future>(future: F) -> Option<F::Output> {
    let mut cx = Context::from_waker(Waker::noop());
    match pin!(future).poll(&mut cx) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}
