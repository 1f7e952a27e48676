//! The time at which a poll began, without a clock: reading one takes longer than many a poll.
//!
//! A thread writes the time into `RECENT` four times a second. It is started when the records of
//! this process are first read, or a socket or handler is installed that may read them.

use std::sync::Once;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
use std::time::Instant;

use crate::PerProcess;

/// The time between two updates.
const STEP: Duration = Duration::from_millis(250);
/// If the last update is older than this, in milliseconds, the thread does not run.
const LOST: u64 = 1_000;

static RECENT: AtomicU64 = AtomicU64::new(0);
static STARTED: PerProcess<Once> = PerProcess::new(Once::new);

#[cfg(not(any(target_os = "linux", target_os = "android")))]
static START: OnceLock<Instant> = OnceLock::new();

/// Returns the milliseconds of the monotonic clock, which may be a few too low.
#[must_use]
pub fn now() -> u64 {
    coarse() / 1_000_000
}

/// Returns the nanoseconds of the monotonic clock, which may be a few milliseconds too low.
#[inline]
pub(super) fn coarse() -> u64 {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        nanos_of(libc::CLOCK_MONOTONIC_COARSE)
    }
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    {
        nanos()
    }
}

/// Returns the nanoseconds of the monotonic clock.
pub(super) fn nanos() -> u64 {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        nanos_of(libc::CLOCK_MONOTONIC)
    }
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    {
        // At least a millisecond, as 0 means an unknown time, or "has not slept".
        START.get_or_init(Instant::now).elapsed().as_nanos() as u64 + 1_000_000
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn nanos_of(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is to a value that the call may write.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Returns the milliseconds of the monotonic clock, up to a quarter of a second too low; 0 if the
/// thread has not been started.
#[inline]
pub(super) fn recent() -> u64 {
    RECENT.load(Ordering::Relaxed)
}

/// Whether the times that polls have noted are right.
pub(super) fn is_kept() -> bool {
    let recent = recent();
    recent != 0 && now().saturating_sub(recent) < LOST
}

/// Starts the thread of this process, if it has not been started. Without it, no poll is known to
/// be long.
pub fn keep_time() {
    STARTED.call_once(|| {
        RECENT.store(now(), Ordering::Relaxed);
        let thread = thread::Builder::new().name("blitz-clock".into());
        // A system without a thread left has other troubles than long polls.
        _ = thread.spawn(run);
    });
}

fn run() {
    loop {
        thread::sleep(STEP);
        RECENT.store(now(), Ordering::Relaxed);
    }
}
