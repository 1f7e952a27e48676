//! Converts between moments and ticks.
//!
//! A tick is a millisecond since the runtime began. Moments are first expressed in
//! nanoseconds since the anchor, a moment of the process, so that a wheel's origin is one
//! number, which a timer can read without a lock.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

const NANOS_PER_TICK: u64 = 1_000_000;

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

/// The last tick. Later moments are treated as this tick.
const LAST: u64 = 1 << 62;

/// Nanoseconds since the anchor, saturating for moments before it or centuries after it.
#[inline]
pub(crate) fn nanos(time: Instant) -> u64 {
    let since = time.saturating_duration_since(anchor());
    (since.as_secs())
        .saturating_mul(1_000_000_000)
        .saturating_add(since.subsec_nanos().into())
}

/// Returns the first tick that is not before a deadline.
#[inline]
pub(crate) fn of_deadline(deadline: Instant, origin: u64) -> u64 {
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

/// Returns the moment at which a tick begins; `None` if it is too far away.
pub(crate) fn begin(tick: u64, origin: u64) -> Option<Instant> {
    let nanos = tick.checked_mul(NANOS_PER_TICK)?.checked_add(origin)?;
    anchor().checked_add(Duration::from_nanos(nanos))
}
