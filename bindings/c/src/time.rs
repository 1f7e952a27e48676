//! Time: deadlines are nanoseconds of the monotonic clock.

use std::time::{Duration, Instant};

/// The deadline that never comes: wait without a limit.
pub const BLITZ_NEVER: u64 = u64::MAX;

/// Returns the time of the monotonic clock in nanoseconds (`CLOCK_MONOTONIC`). All deadlines of
/// this library are times of this clock: `blitz_now_ns() + 1000000` is in a millisecond. A
/// deadline in the past does not wait. `BLITZ_NEVER` waits without a limit.
///
/// Any thread or fiber may call this; it does not wait.
#[unsafe(no_mangle)]
pub extern "C" fn blitz_now_ns() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the clock exists on every system that this is compiled for, and the result is
    // written to a variable.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    (time.tv_sec as u64)
        .saturating_mul(1_000_000_000)
        .saturating_add(time.tv_nsec as u64)
}

/// Returns the instant of a deadline, or `None` if it is so far away that it never comes.
pub(crate) fn instant(deadline_ns: u64) -> Option<Instant> {
    if deadline_ns == BLITZ_NEVER {
        return None;
    }
    // A deadline in the past is as good as now. In this order, the time between the two readings
    // makes the result late rather than early.
    let left = deadline_ns.saturating_sub(blitz_now_ns());
    Instant::now().checked_add(Duration::from_nanos(left))
}
