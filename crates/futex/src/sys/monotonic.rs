//! Deadlines for systems that take an absolute time.

use std::time::{Duration, Instant};

/// Returns a deadline as seconds and nanoseconds of `CLOCK_MONOTONIC`, or `None` if the
/// seconds need more than 64 bits.
pub(super) fn at(deadline: Instant) -> Option<(i64, i64)> {
    // In this order, the time between the two readings makes the result late rather than
    // early.
    let left = deadline.saturating_duration_since(Instant::now());
    let time = now().checked_add(left)?;
    Some((time.as_secs().try_into().ok()?, time.subsec_nanos().into()))
}

/// Returns the time since some moment in the past. The system guarantees that it is not
/// negative and that the nanoseconds are below a second.
#[allow(
    clippy::unnecessary_cast,
    reason = "the fields are 32 bits wide on some systems"
)]
fn now() -> Duration {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `now` can be written. The call cannot fail: the clock exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}
