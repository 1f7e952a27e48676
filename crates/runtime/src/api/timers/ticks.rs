//! Converts between moments and ticks.
//!
//! Ticks count from the moment at which the runtime began. Moments are first expressed in
//! nanoseconds since the anchor, a moment of the process, so that a wheel's origin is one
//! number, which a timer can read without a lock.
//!
//! # Whole milliseconds
//!
//! Tests that move the clock expect Tokio's resolution, a millisecond: timers of one millisecond
//! fire in the order in which they began, and each zero timeout of a loop takes a millisecond. So
//! once a clock of the process has been paused, a deadline is the first tick of a whole
//! millisecond. Such a tick is due when its millisecond has come, so all that compares or counts
//! ticks stays as it is.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use super::clock::is_any_altered;

/// Number of ticks in a millisecond.
///
/// A longer tick fires more timers at once, and a shorter one comes closer to the deadline. Linux
/// lets a thread sleep up to 50 microseconds too long, to which a tick adds little. A tick divides a
/// millisecond, so that the clock of a test shows the moments that the test expects.
///
/// With Tokio's names, timers have Tokio's resolution: libraries wait with timeouts of zero in loops.
const PER_MILLI: u64 = if cfg!(feature = "_tokio_names") {
    1
} else {
    100
};

const NANOS_PER_TICK: u64 = 1_000_000 / PER_MILLI;
const _: () = assert!(NANOS_PER_TICK * PER_MILLI == 1_000_000);

static ANCHOR: OnceLock<Instant> = OnceLock::new();

#[inline]
fn anchor() -> Instant {
    match ANCHOR.get() {
        Some(anchor) => *anchor,
        None => first_anchor(),
    }
}

#[cold]
fn first_anchor() -> Instant {
    // A second earlier, before any runtime can begin.
    let now = Instant::now();
    *ANCHOR.get_or_init(|| now.checked_sub(Duration::from_secs(1)).unwrap_or(now))
}

/// The last tick, of a whole millisecond. Later moments are treated as this tick.
const LAST: u64 = (1 << 62) / PER_MILLI * PER_MILLI;

/// Nanoseconds since the anchor, saturating for moments before it or centuries after it.
#[inline]
pub(crate) fn nanos(time: Instant) -> u64 {
    let since = time.saturating_duration_since(anchor());
    (since.as_secs())
        .saturating_mul(1_000_000_000)
        .saturating_add(since.subsec_nanos().into())
}

/// Returns the first tick that is not before a deadline and that timers may have.
#[inline]
pub(crate) fn of_deadline(deadline: Instant, origin: u64) -> u64 {
    let tick = not_before(deadline, origin);
    if is_any_altered() {
        return whole_millis(tick);
    }
    tick
}

/// Returns the first tick of a whole millisecond that is not before a tick.
#[cold]
fn whole_millis(tick: u64) -> u64 {
    tick.next_multiple_of(PER_MILLI)
}

/// Returns the first tick that is not before a deadline.
#[inline]
fn not_before(deadline: Instant, origin: u64) -> u64 {
    match nanos(deadline) {
        u64::MAX => far(deadline, origin, NANOS_PER_TICK - 1),
        nanos => nanos.saturating_sub(origin).div_ceil(NANOS_PER_TICK),
    }
}

/// Returns the tick that has come at a moment.
#[inline]
pub(crate) fn at(now: Instant, origin: u64) -> u64 {
    match nanos(now) {
        u64::MAX => far(now, origin, 0),
        nanos => nanos.saturating_sub(origin) / NANOS_PER_TICK,
    }
}

/// Returns the tick of a moment that is centuries away: tests may advance their clock that far.
#[cold]
fn far(time: Instant, origin: u64, round_up: u64) -> u64 {
    let since = time.saturating_duration_since(anchor()).as_nanos();
    let tick = (since - u128::from(origin) + u128::from(round_up)) / u128::from(NANOS_PER_TICK);
    tick.try_into().unwrap_or(LAST).min(LAST)
}

/// Returns a number of whole milliseconds that last at least as long as these ticks.
pub(crate) fn to_millis(ticks: u64) -> u64 {
    ticks.div_ceil(PER_MILLI)
}

/// Returns the moment at which a tick begins; `None` if it is too far away.
pub(crate) fn begin(tick: u64, origin: u64) -> Option<Instant> {
    let nanos = tick.checked_mul(NANOS_PER_TICK)?.checked_add(origin)?;
    anchor().checked_add(Duration::from_nanos(nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Timers rounded up to milliseconds.
    #[test]
    #[cfg(not(feature = "_tokio_names"))]
    fn a_worker_sleeps_as_long_as_a_short_timer_asks_for() {
        let start = Instant::now();
        for origin in [nanos(start), nanos(start) - 777_777] {
            for micros in [0, 1, 31, 32, 100, 999, 1_000, 1_001, 86_400_000_001] {
                let deadline = start + Duration::from_micros(micros);
                let fires = begin(not_before(deadline, origin), origin).unwrap();
                let late = fires.checked_duration_since(deadline).unwrap();
                assert!(late < Duration::from_micros(10), "{micros}: {late:?}");
            }
        }
    }

    #[test]
    fn a_tick_that_has_come_is_not_before_its_deadline() {
        let start = Instant::now();
        let origin = nanos(start);
        for nanos in (0..3_000_000).step_by(10_007) {
            let deadline = start + Duration::from_nanos(nanos);
            let tick = not_before(deadline, origin);
            assert!(at(begin(tick, origin).unwrap(), origin) == tick);
            assert!(tick == 0 || begin(tick - 1, origin).unwrap() < deadline);
        }
    }

    #[test]
    fn a_clock_that_tests_move_shows_whole_milliseconds() {
        let clock = super::super::Clock::new(true, true);
        let start = clock.now();
        let origin = nanos(start);
        let of = |micros| of_deadline(start + Duration::from_micros(micros), origin);
        assert_eq!((of(0), of(1)), (0, of(1_000)));
        assert_eq!((of(999), of(1_001)), (of(1_000), of(2_000)));
        let later = at(start + Duration::from_micros(700), origin);
        assert_eq!(to_millis(of(2_000) - later), 2);
        assert_eq!(to_millis(of(1_000)), 1);
        assert_eq!(whole_millis(LAST), LAST, "it comes");
    }
}
