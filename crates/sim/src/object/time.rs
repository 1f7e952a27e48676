//! Clocks and sleeps. All clocks show the simulated time; the one of the calendar starts at a fixed
//! date. Reading a clock moves it, so a loop that waits for a time ends.

use core::ffi::c_int;

use crate::baton::{self, block, point_alone};
use crate::c::{EINVAL, Raw, Timespec, Timeval};
use crate::progress;
use crate::state::{Class, sim};

/// The clock of the calendar.
pub const REALTIME: c_int = 0;
/// The clock that never jumps.
pub const MONOTONIC: c_int = 1;
/// Simulated calendar time of the start: 2030-01-01.
const EPOCH: u64 = 1_893_456_000_000_000_000;
/// The monotonic clock of a machine that has run for a while: some programs subtract from it.
const UPTIME: u64 = 100_000_000_000_000;
const SECOND: u64 = 1_000_000_000;
/// Nanoseconds that one reading takes.
const READING: u64 = 50;
/// After this many readings in a row, a thread lets others run: it may wait for what one of them does.
const SPIN: u32 = 64;

fn offset(clock: c_int) -> Option<u64> {
    match clock {
        // The calendar, its coarse form, the alarm clock, international atomic time.
        0 | 5 | 8 | 11 => Some(EPOCH),
        // Monotonic, raw, coarse, boot time and its alarm clock.
        1 | 4 | 6 | 7 | 9 => Some(UPTIME),
        // Processor time of the process and of the thread: a simulated processor is always busy.
        2 | 3 => Some(0),
        _ => None,
    }
}

/// Returns the calendar's nanoseconds at a simulated time.
pub fn calendar(now: u64) -> u64 {
    now + EPOCH
}

/// Returns the nanoseconds of a duration.
pub fn nanoseconds(time: &Timespec) -> u64 {
    (time.sec.max(0) as u64)
        .saturating_mul(SECOND)
        .saturating_add(time.nsec.max(0) as u64)
}

/// Returns the simulated time at which `clock` shows `until`.
pub fn deadline(clock: c_int, until: &Timespec) -> u64 {
    nanoseconds(until).saturating_sub(offset(clock).unwrap_or(EPOCH))
}

/// Splits nanoseconds.
pub fn timespec(nanoseconds: u64) -> Timespec {
    Timespec {
        sec: (nanoseconds / SECOND) as i64,
        nsec: (nanoseconds % SECOND) as i64,
    }
}

/// Reads a clock.
pub unsafe fn read(clock: c_int) -> Option<u64> {
    let offset = offset(clock)?;
    let s = sim();
    s.clock_reads += 1;
    if s.clock_reads >= SPIN {
        baton::yield_now("reading a clock");
    } else {
        baton::advance(READING);
    }
    Some(sim().now + offset)
}

/// `clock_gettime`.
pub unsafe fn clock_gettime(clock: c_int, to: *mut Timespec) -> Raw {
    let Some(now) = read(clock) else {
        return -(EINVAL as Raw);
    };
    *to = timespec(now);
    0
}

/// `gettimeofday`.
pub unsafe fn gettimeofday(to: *mut Timeval) -> Raw {
    if let (Some(now), false) = (read(REALTIME), to.is_null()) {
        *to = Timeval {
            sec: (now / SECOND) as i64,
            usec: (now % SECOND / 1_000) as i64,
        };
    }
    0
}

/// `time`.
pub unsafe fn time(to: *mut i64) -> Raw {
    let seconds = read(REALTIME).unwrap_or(0) / SECOND;
    if !to.is_null() {
        *to = seconds as i64;
    }
    seconds as Raw
}

/// Sleeps until the simulated time is `deadline`.
pub unsafe fn sleep_until(call: &'static str, deadline: u64) -> Raw {
    point_alone(call);
    block((Class::Sleep, 0), deadline);
    progress::wake();
    0
}

/// `clock_nanosleep`. The remaining time is never asked for: no signal ends a sleep.
pub unsafe fn clock_nanosleep(clock: c_int, flags: c_int, request: *const Timespec) -> Raw {
    let request = &*request;
    if !(0..SECOND as i64).contains(&request.nsec) || request.sec < 0 || offset(clock).is_none() {
        return -(EINVAL as Raw);
    }
    let until = if flags & 1 != 0 {
        deadline(clock, request)
    } else {
        sim().now.saturating_add(nanoseconds(request))
    };
    sleep_until("nanosleep", until)
}
