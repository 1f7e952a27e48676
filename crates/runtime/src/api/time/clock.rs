//! The current runtime's clock, and the functions with which tests pause and advance it.

use std::time::{Duration, Instant as StdInstant};

use blitz_io_observe::decisions;

use super::current;
use crate::api::timers::{Clock, is_any_altered};

/// The text of the panic outside of a runtime.
const OUTSIDE: &str = "time cannot be frozen from outside the Tokio runtime";

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
    decisions::to_host(simulated_now())
}

/// Returns the time of the current runtime's clock, also where a simulated host has another one.
#[doc(hidden)]
#[must_use]
pub fn simulated_now() -> StdInstant {
    current::clock().map_or_else(StdInstant::now, |clock| clock.now())
}

/// Moves the clock of the current runtime, as code of a simulation has used up time. With `wakes`, it wakes the tasks whose time has
/// come; otherwise the scheduler does that later. Returns `false` outside of a runtime, and if its clock is not paused.
#[cfg(feature = "sim")]
#[doc(hidden)]
#[must_use]
pub fn advance_simulated(by: Duration, wakes: bool) -> bool {
    let Some(clock) = current::clock() else {
        return false;
    };
    let is_advanced = clock.advance(by).is_ok();
    if is_advanced && wakes {
        current::notice_advance();
    }
    is_advanced
}

#[track_caller]
fn alter(how: impl FnOnce(&Clock) -> Result<(), &'static str>) {
    let clock = current::clock().ok_or(OUTSIDE);
    if let Err(why) = clock.and_then(|clock| how(&clock)) {
        panic!("{why}");
    }
}

/// Pauses the clock of the current runtime, which must be a current-thread one.
///
/// [`Instant::now`](super::Instant::now) does not change from now on. When nothing is left
/// to do but to wait for timers, the clock jumps to the next one, so that a test need not
/// wait. It does not jump while blocking work runs (`spawn_blocking`). [`advance`] moves
/// it explicitly.
///
/// `Builder::start_paused` begins with a paused clock.
///
/// # Panics
///
/// If the clock is paused already, if this is not a current-thread runtime, or outside of a
/// runtime.
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

/// Resumes the paused clock of the current runtime.
///
/// # Panics
///
/// If the clock is not paused, or outside of a runtime.
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

/// Advances the paused clock of the current runtime by `duration`, and lets other tasks
/// run.
///
/// All timers that are due then fire together; their tasks may not have run yet when the
/// future is ready. [`yield_now`](crate::task::yield_now) lets them run. To let them run one
/// after the other, `sleep` instead.
///
/// # Panics
///
/// If the clock is not paused, outside of a runtime, or if the moment cannot be
/// represented.
///
/// # Cancel safety
///
/// The first poll advances the clock, even if the future is dropped after it.
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
    current::notice_advance();
    crate::api::task::yield_now().await;
}
