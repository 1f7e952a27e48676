//! Clocks. Those that count the processor's time are the system's also in a run.

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::time::Duration;

use super::{Real, duration, fail, timespec, with};

type ClockGettime = unsafe extern "C" fn(libc::clockid_t, *mut libc::timespec) -> c_int;

static REAL: Real<ClockGettime> = Real::new(c"clock_gettime");

/// Returns what a clock shows in the run of this thread; `None` if there is none, or the clock is the system's.
#[inline]
fn shown(clock: libc::clockid_t) -> Option<Duration> {
    with(|run| match clock {
        libc::CLOCK_MONOTONIC
        | libc::CLOCK_MONOTONIC_RAW
        | libc::CLOCK_MONOTONIC_COARSE
        | libc::CLOCK_BOOTTIME => run.monotonic(),
        libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE | libc::CLOCK_TAI => run.time_of_day(),
        _ => None,
    })
}

/// Returns what a clock of the system shows.
pub(super) fn real(clock: libc::clockid_t) -> Option<Duration> {
    let mut time = MaybeUninit::uninit();
    // SAFETY: the function writes the time, if it returns 0.
    let time = unsafe {
        if REAL.get()?(clock, time.as_mut_ptr()) != 0 {
            return None;
        }
        time.assume_init()
    };
    duration(&time)
}

/// Returns what a clock shows to the calling code.
pub(super) fn now(clock: libc::clockid_t) -> Option<Duration> {
    shown(clock).or_else(|| real(clock))
}

/// # Safety
///
/// As of the system's function.
pub(super) unsafe extern "C" fn clock_gettime(
    clock: libc::clockid_t,
    time: *mut libc::timespec,
) -> c_int {
    if let Some(shown) = shown(clock) {
        // SAFETY: the caller passes the address of a time.
        unsafe { time.write(timespec(shown)) };
        return 0;
    }
    match REAL.get() {
        // SAFETY: the caller's promise.
        Some(clock_gettime) => unsafe { clock_gettime(clock, time) },
        None => fail(libc::ENOSYS),
    }
}

/// # Safety
///
/// As of the system's function.
pub(super) unsafe extern "C" fn gettimeofday(time: *mut libc::timeval, zone: *mut c_void) -> c_int {
    type GetTimeOfDay = unsafe extern "C" fn(*mut libc::timeval, *mut c_void) -> c_int;
    static REAL: Real<GetTimeOfDay> = Real::new(c"gettimeofday");
    match shown(libc::CLOCK_REALTIME) {
        Some(shown) if !time.is_null() => {
            let shown = timespec(shown);
            // SAFETY: the caller passes the address of a time.
            unsafe {
                time.write(libc::timeval {
                    tv_sec: shown.tv_sec,
                    tv_usec: shown.tv_nsec / 1_000,
                });
            }
            0
        }
        _ => match REAL.get() {
            // SAFETY: the caller's promise.
            Some(gettimeofday) => unsafe { gettimeofday(time, zone) },
            None => fail(libc::ENOSYS),
        },
    }
}

/// # Safety
///
/// As of the system's function.
pub(super) unsafe extern "C" fn time(result: *mut libc::time_t) -> libc::time_t {
    let now = now(libc::CLOCK_REALTIME).map_or(-1, |now| timespec(now).tv_sec);
    if !result.is_null() {
        // SAFETY: the caller passes null or the address of a time.
        unsafe { result.write(now) };
    }
    now
}
