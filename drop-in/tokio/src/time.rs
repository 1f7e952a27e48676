//! `blitz_io::time`, with Tokio's timeouts of zero.

pub use blitz_io::time::*;

/// As `blitz_io::time::timeout`, but a timeout of zero lasts until the next tick of the timers, as
/// Tokio's does: libraries wait like this in loops, which would spin otherwise.
///
/// With the feature `test-util`, whose clock can stand still, it is over at once.
#[cfg(not(feature = "test-util"))]
#[track_caller]
pub fn timeout<F: IntoFuture>(duration: Duration, future: F) -> Timeout<F::IntoFuture> {
    // Any other duration ends with a tick already.
    let duration = duration.max(Duration::from_nanos(1));
    blitz_io::time::timeout(duration, future)
}
