//! The time at which a poll or a wait began, mostly without a clock: reading one takes longer than many
//! a poll.
//!
//! - A thread writes the time into `RECENT` four times a second. It is started when the records of
//!   this process are first read, or a socket or handler is installed that may read them.
//! - A worker of a runtime writes the time into its own `Local` when it wakes, and every few dozen
//!   polls.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Once, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use super::local::LOCAL;
use super::simulator;
use blitz_io_futex::per_process::PerProcess;
#[cfg(any(target_os = "linux", target_os = "android"))]
use blitz_io_futex::system_clock::nanos_of;

/// The time between two updates.
const STEP: Duration = Duration::from_millis(250);
/// If the last update is older than this, the thread does not run.
const LOST: Duration = Duration::from_secs(1);

/// Nanoseconds.
static RECENT: AtomicU64 = AtomicU64::new(0);
static STARTED: PerProcess<Once> = PerProcess::new(Once::new);
/// The thread runs.
static RUNS: PerProcess<AtomicBool> = PerProcess::new(AtomicBool::default);

#[cfg(not(any(target_os = "linux", target_os = "android")))]
static START: OnceLock<Instant> = OnceLock::new();

/// Returns the milliseconds of the monotonic clock, which may be a few too low.
#[must_use]
pub fn now() -> u64 {
    coarse() / 1_000_000
}

/// Looks at the clock for this thread, a worker. It calls this again every few dozen polls.
#[inline]
pub(super) fn cache_time() {
    let now = coarse();
    LOCAL.with(|local| local.cached_time.set(now));
}

/// Forgets the cached time: this thread is no longer a worker.
#[inline]
pub(super) fn forget_time() {
    LOCAL.with(|local| local.cached_time.set(0));
}

/// Returns the nanoseconds of the monotonic clock when this worker looked at it last, or a quarter of
/// a second ago at most if `RECENT` is kept. In other threads, the same as [`coarse`].
#[inline]
pub(super) fn cached() -> u64 {
    cached_here().unwrap_or_else(coarse)
}

/// Like [`cached`], if this thread is a worker.
#[inline]
pub(super) fn cached_here() -> Option<u64> {
    let cached = LOCAL.with(|local| local.cached_time.get());
    (cached != 0).then(|| cached.max(recent()))
}

/// Returns the nanoseconds of the monotonic clock, which may be a few milliseconds too low.
#[cold]
#[inline(never)]
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

/// Returns the nanoseconds that the monotonic clock has at an instant; the same for equal ones.
pub(super) fn nanos_at(instant: Instant) -> u64 {
    static ANCHOR: OnceLock<(Instant, u64)> = OnceLock::new();
    let &(anchor, at_anchor) = ANCHOR.get_or_init(|| (Instant::now(), nanos()));
    let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    match instant.checked_duration_since(anchor) {
        Some(later) => at_anchor.saturating_add(nanos(later)),
        None => at_anchor.saturating_sub(nanos(anchor - instant)),
    }
}

/// Returns the nanoseconds of the monotonic clock, up to a quarter of a second too low; 0 if the
/// thread has not been started.
#[inline]
pub(super) fn recent() -> u64 {
    RECENT.load(Ordering::Relaxed)
}

/// Returns `true` if the times that polls have noted are right.
pub(super) fn is_kept() -> bool {
    let recent = recent();
    recent != 0 && u128::from(coarse().saturating_sub(recent)) < LOST.as_nanos()
}

/// Starts the thread of this process, if it has not been started. Without it, no poll is known to
/// be long. Under `blitz sim` there is none: with a thread that sleeps again and again, no state is a deadlock.
pub fn keep_time() {
    STARTED.call_once(|| {
        if simulator::is_simulated() {
            return;
        }
        RECENT.store(coarse(), Ordering::Relaxed);
        let thread = thread::Builder::new().name("blitz-clock".into());
        // It is none of a test's. A system without a thread left has other troubles than long polls.
        _ = crate::decisions::with_system(|| thread.spawn(run));
    });
}

/// Returns `true` if that thread runs. It wakes no other one.
pub fn has_clock_thread() -> bool {
    RUNS.load(Ordering::Relaxed)
}

fn run() {
    RUNS.store(true, Ordering::Relaxed);
    loop {
        thread::sleep(STEP);
        RECENT.store(coarse(), Ordering::Relaxed);
    }
}
