//! The current runtime's clock: what it shows, and how tests stop it and move it on.

use std::time::{Duration, Instant as StdInstant};

use super::current;
use crate::timers::{Clock, is_any_altered};

/// What a program is told that asks for a clock where there is none.
const OUTSIDE: &str = "time cannot be frozen from outside the Tokio runtime";

/// Whether the current runtime's clock is the system's.
#[inline]
pub(super) fn is_real() -> bool {
    !is_any_altered() || current::clock().is_none_or(|clock| clock.is_real())
}

/// See [`Instant::now`](super::Instant::now).
#[inline]
pub(super) fn now() -> StdInstant {
    if is_any_altered() {
        return altered_now();
    }
    StdInstant::now()
}

#[cold]
fn altered_now() -> StdInstant {
    current::clock().map_or_else(StdInstant::now, |clock| clock.now())
}

#[track_caller]
fn alter(how: impl FnOnce(&Clock) -> Result<(), &'static str>) {
    let clock = current::clock().ok_or(OUTSIDE);
    if let Err(why) = clock.and_then(|clock| how(&clock)) {
        panic!("{why}");
    }
}

/// Stops the clock of the current runtime, which must be of the current-thread
/// flavour.
///
/// [`Instant::now`](super::Instant::now) does not move from now on. When nothing is left to do but to wait
/// for timers, the clock jumps to the next one, so that a test need not wait. It does
/// not while blocking work goes on (`spawn_blocking`). [`advance`] moves it by hand.
///
/// `Builder::start_paused` begins with a clock that stands.
///
/// # Panics
///
/// If the clock stands already, if this is not a current-thread runtime, or outside
/// of one.
///
/// # Examples
///
/// ```
/// use blitz_io::{runtime::Builder, time::{self, Duration, Instant}};
///
/// let runtime = Builder::new_current_thread().enable_time().build().unwrap();
/// runtime.block_on(async {
///     time::pause();
///     let start = Instant::now();
///     time::sleep(Duration::from_secs(3600)).await;
///     assert!(start.elapsed() >= Duration::from_secs(3600));
/// });
/// ```
#[track_caller]
pub fn pause() {
    alter(Clock::pause);
}

/// Lets the clock of the current runtime run again.
///
/// # Panics
///
/// If it does not stand, or outside of a runtime.
///
/// # Examples
///
/// ```
/// use blitz_io::{runtime::Builder, time};
///
/// let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
/// runtime.block_on(async { time::resume() });
/// ```
#[track_caller]
pub fn resume() {
    alter(Clock::resume);
}

/// Moves the clock of the current runtime on by `duration`, at once, and lets the
/// other tasks run.
///
/// All timers that are due then fire together; their tasks may not have run yet when
/// the future is ready. To let them run one after the other, `sleep` instead.
///
/// # Panics
///
/// If the clock does not stand, outside of a runtime, or if the moment can not be
/// represented.
///
/// # Cancel safety
///
/// The first poll moves the clock, also if the future is dropped after it.
///
/// # Examples
///
/// ```
/// use blitz_io::{runtime::Builder, time::{self, Duration, Instant}};
///
/// let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
/// runtime.block_on(async {
///     let start = Instant::now();
///     time::advance(Duration::from_secs(1)).await;
///     assert_eq!(start.elapsed(), Duration::from_secs(1));
/// });
/// ```
pub async fn advance(duration: Duration) {
    alter(|clock| clock.advance(duration));
    current::turn_all();
    crate::task::yield_now().await;
}
