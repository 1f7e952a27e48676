//! Deadlines for systems that take them as an absolute time.

use std::time::{Duration, Instant};

/// A deadline as seconds and nanoseconds of `CLOCK_MONOTONIC`. `None` if the
/// seconds are more than 64 bits can count.
pub(super) fn at(deadline: Instant) -> Option<(i64, i64)> {
    // This order makes the result late by the time between the two readings,
    // rather than early.
    let left = deadline.saturating_duration_since(Instant::now());
    let time = now().checked_add(left)?;
    Some((time.as_secs().try_into().ok()?, time.subsec_nanos().into()))
}

/// The time since some moment in the past. It is not negative and the
/// nanoseconds are below a second: the system says so.
#[allow(
    clippy::unnecessary_cast,
    reason = "the fields are 32 bits wide on some systems"
)]
fn now() -> Duration {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `now` can be written. The call can not fail: the clock exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}
