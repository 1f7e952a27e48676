//! Sleeps of threads. In a run the simulated clock moves, and the call returns: one thread runs all tasks, so no other task
//! runs during the sleep. Timers that are due wake their tasks, which run when the current one waits or ends.

use std::ffi::{c_int, c_uint};
use std::time::Duration;

use super::{Real, clocks, duration, fail, timespec, with};

/// Sleeps, if this thread is in a run. Returns `false` if it is in none.
fn pass(time: Duration) -> bool {
    with(|run| run.sleep(time).then_some(())).is_some()
}

/// # Safety
///
/// As of the system's function.
pub(super) unsafe extern "C" fn nanosleep(
    time: *const libc::timespec,
    left: *mut libc::timespec,
) -> c_int {
    type Nanosleep = unsafe extern "C" fn(*const libc::timespec, *mut libc::timespec) -> c_int;
    static REAL: Real<Nanosleep> = Real::new(c"nanosleep");
    // SAFETY: the caller passes null or the address of a time.
    let wanted = unsafe { time.as_ref() }.and_then(duration);
    if wanted.is_some_and(pass) {
        return 0;
    }
    match REAL.get() {
        // SAFETY: the caller's promise.
        Some(nanosleep) => unsafe { nanosleep(time, left) },
        None => fail(libc::ENOSYS),
    }
}

/// # Safety
///
/// As of the system's function.
pub(super) unsafe extern "C" fn clock_nanosleep(
    clock: libc::clockid_t,
    flags: c_int,
    time: *const libc::timespec,
    left: *mut libc::timespec,
) -> c_int {
    type ClockNanosleep = unsafe extern "C" fn(
        libc::clockid_t,
        c_int,
        *const libc::timespec,
        *mut libc::timespec,
    ) -> c_int;
    static REAL: Real<ClockNanosleep> = Real::new(c"clock_nanosleep");
    // SAFETY: the caller passes null or the address of a time.
    let wanted = unsafe { time.as_ref() }.and_then(duration);
    let is_absolute = flags & libc::TIMER_ABSTIME != 0;
    let is_of_run = with(|run| {
        let wanted = if is_absolute {
            wanted?.saturating_sub(clocks::now(clock)?)
        } else {
            wanted?
        };
        run.sleep(wanted).then_some(())
    });
    if is_of_run.is_some() {
        return 0;
    }
    match REAL.get() {
        // SAFETY: the caller's promise.
        Some(clock_nanosleep) => unsafe { clock_nanosleep(clock, flags, time, left) },
        None => libc::ENOSYS,
    }
}

/// # Safety
///
/// As of the system's function.
pub(super) unsafe extern "C" fn usleep(micros: c_uint) -> c_int {
    let time = timespec(Duration::from_micros(micros.into()));
    // SAFETY: the time is valid, and nothing is to be written.
    unsafe { nanosleep(&raw const time, std::ptr::null_mut()) }
}

/// # Safety
///
/// As of the system's function.
pub(super) unsafe extern "C" fn sleep(seconds: c_uint) -> c_uint {
    let time = timespec(Duration::from_secs(seconds.into()));
    let mut left = timespec(Duration::ZERO);
    // SAFETY: both times are valid.
    match unsafe { nanosleep(&raw const time, &raw mut left) } {
        0 => 0,
        // A signal has ended it.
        _ => left.tv_sec.try_into().unwrap_or(0),
    }
}
