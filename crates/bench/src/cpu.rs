//! The processor time of this process.

use std::time::Duration;

/// Returns the processor time of all threads of the process so far, or `None` where the
/// system does not report it.
pub fn of_process() -> Option<Duration> {
    #[cfg(unix)]
    return clock(libc::CLOCK_PROCESS_CPUTIME_ID);
    #[cfg(not(unix))]
    return None;
}

/// Returns the processor time of this thread so far, or `None` where the system does not
/// report it.
pub fn of_thread() -> Option<Duration> {
    #[cfg(unix)]
    return clock(libc::CLOCK_THREAD_CPUTIME_ID);
    #[cfg(not(unix))]
    return None;
}

#[cfg(unix)]
fn clock(id: libc::clockid_t) -> Option<Duration> {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is valid.
    let result = unsafe { libc::clock_gettime(id, &mut time) };
    (result == 0).then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
}

/// Runs `body` on this thread, and returns the time that the *other* threads of the process
/// have used during it: a server's share, if `body` is its client.
pub fn of_others<T>(body: impl FnOnce() -> T) -> (T, Option<Duration>) {
    let others = || of_process()?.checked_sub(of_thread()?);
    let before = others();
    let value = body();
    (value, since(before, others()))
}

/// Returns the time between two readings of a clock, if the system has that clock.
pub(crate) fn since(before: Option<Duration>, now: Option<Duration>) -> Option<Duration> {
    Some(now?.saturating_sub(before?))
}
