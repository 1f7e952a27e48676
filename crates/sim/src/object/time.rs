//! Clocks and sleeps. All clocks show the simulated time; the one of the calendar starts at a fixed
//! date, and a fault makes it jump. Reading a clock moves it, so a loop that waits for a time ends.

use core::ffi::c_int;

use crate::baton::{self, block, fault_of, point_alone};
use crate::c::{EINTR, EINVAL, Raw, Timespec, Timeval};
use crate::progress;
use crate::shared::region::fault;
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
/// If it does so again and again without another call, it works until a time comes. Each turn then takes twice
/// as much time as the one before, up to a tenth of a millisecond. Otherwise it would work for longer than its
/// deadline means: work itself takes no simulated time.
const LONGEST_SPIN: u32 = 11;
/// The call of such a turn.
pub const SPINNING: &str = "reading a clock";

/// Jumps of the calendar's clock, in nanoseconds: a server of time or a person sets it.
const JUMPS: [i64; 4] = [
    SECOND as i64,
    -(SECOND as i64),
    3_600 * SECOND as i64,
    -3_600 * (SECOND as i64),
];

/// Returns `true` for the clocks that can be set: the calendar, its coarse form, the alarm clock,
/// international atomic time.
fn is_calendar(clock: c_int) -> bool {
    matches!(clock, 0 | 5 | 8 | 11)
}

/// Returns `true` if there is no such clock.
pub unsafe fn is_unknown(clock: c_int) -> bool {
    offset(clock).is_none()
}

/// Returns what the calendar shows at the start of the run, as far as it has not jumped.
unsafe fn start_of_calendar() -> u64 {
    EPOCH.saturating_add_signed(sim().jumped)
}

unsafe fn offset(clock: c_int) -> Option<u64> {
    match clock {
        _ if is_calendar(clock) => Some(start_of_calendar()),
        // Monotonic, raw, coarse, boot time and its alarm clock.
        1 | 4 | 6 | 7 | 9 => Some(UPTIME),
        // Processor time of the process and of the thread: a simulated processor is always busy.
        2 | 3 => Some(0),
        _ => None,
    }
}

/// Returns the calendar's nanoseconds at a simulated time.
pub unsafe fn calendar(now: u64) -> u64 {
    now + start_of_calendar()
}

/// Returns the nanoseconds of a duration.
pub fn nanoseconds(time: &Timespec) -> u64 {
    (time.sec.max(0) as u64)
        .saturating_mul(SECOND)
        .saturating_add(time.nsec.max(0) as u64)
}

/// Returns the simulated time at which `clock` shows `until`.
pub unsafe fn deadline(clock: c_int, until: &Timespec) -> u64 {
    let offset = offset(clock).unwrap_or_else(|| start_of_calendar());
    nanoseconds(until).saturating_sub(offset)
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
    if is_calendar(clock) {
        if let Some(jump) = fault_of(fault::CLOCK, JUMPS.len()).checked_sub(1) {
            sim().jumped += JUMPS[jump];
        }
    }
    let offset = offset(clock)?;
    let s = sim();
    s.clock_reads += 1;
    if s.clock_reads >= SPIN {
        let me = s.me();
        me.clock_spins = (me.clock_spins + 1).min(LONGEST_SPIN);
        let work = READING << me.clock_spins;
        baton::advance(work);
        baton::yield_now(SPINNING);
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

/// Sleeps until the simulated time is `deadline`. Fails with `EINTR` if a signal ends it.
pub unsafe fn sleep_until(call: &'static str, deadline: u64) -> Raw {
    point_alone(call);
    sim().me().interrupted = false;
    block((Class::Sleep, 0), deadline);
    progress::wake();
    let s = sim();
    let is_early = s.now < deadline;
    if core::mem::take(&mut s.me().interrupted) && is_early {
        return -(EINTR as Raw);
    }
    0
}

/// `clock_nanosleep`.
pub unsafe fn clock_nanosleep(
    clock: c_int,
    flags: c_int,
    request: *const Timespec,
    remaining: *mut Timespec,
) -> Raw {
    let request = &*request;
    if !(0..SECOND as i64).contains(&request.nsec) || request.sec < 0 || offset(clock).is_none() {
        return -(EINVAL as Raw);
    }
    let is_absolute = flags & 1 != 0;
    let until = if is_absolute {
        deadline(clock, request)
    } else {
        sim().now.saturating_add(nanoseconds(request))
    };
    let result = sleep_until("nanosleep", until);
    if result < 0 && !is_absolute && !remaining.is_null() {
        *remaining = timespec(until - sim().now);
    }
    result
}
