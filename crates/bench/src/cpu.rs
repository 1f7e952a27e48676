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
    let used = others().zip(before);
    (
        value,
        used.map(|(after, before)| after.saturating_sub(before)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    fn work() {
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(20) {
            std::hint::spin_loop();
        }
    }

    #[cfg(unix)]
    #[test]
    fn time_is_counted_for_who_uses_it() {
        let before = of_thread().unwrap();
        work();
        let mine = of_thread().unwrap() - before;
        assert!(mine > Duration::ZERO);
        // Other tests run at the same time, so there is no upper limit to check.
        let ((), others) = of_others(|| std::thread::spawn(work).join().unwrap());
        assert!(others.unwrap() > Duration::ZERO);
    }
}
