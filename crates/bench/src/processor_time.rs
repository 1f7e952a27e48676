//! The processor time that this process has used.

use std::time::Duration;

/// Returns the time of all threads, in the program and in the system, or `None` where the
/// system does not tell.
#[cfg(unix)]
pub(crate) fn used() -> Option<Duration> {
    // SAFETY: a `rusage` consists of numbers; all zeroes is a valid value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a live, writable `rusage`.
    if unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) } != 0 {
        return None;
    }
    let time = |time: libc::timeval| {
        Duration::from_secs(time.tv_sec as u64) + Duration::from_micros(time.tv_usec as u64)
    };
    Some(time(usage.ru_utime) + time(usage.ru_stime))
}

#[cfg(not(unix))]
pub(crate) fn used() -> Option<Duration> {
    None
}
