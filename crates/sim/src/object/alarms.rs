//! Timers that send a signal to the process at a simulated time (`alarm`, `setitimer`, `timer_create`), and `pause`.
//!
//! `signals` delivers what they send. A timer that expires again before its signal is delivered sends no other one.

use core::ffi::{c_int, c_uint, c_void};
use std::collections::BTreeMap;

use crate::baton::{self, has_deadline};
use crate::c::{EINTR, EINVAL, Itimerspec, Raw, Timeval, result};
use crate::end;
use crate::real::real;
use crate::signals::Signal;
use crate::state::{Class, NEVER, active, sim};
use crate::time;

const SIGALRM: u32 = 14;
const SECOND: u64 = 1_000_000_000;

/// A timer of the process.
struct Alarm {
    /// When it rings next.
    at: u64,
    /// Time between two rings; zero: it rings once.
    interval: u64,
    /// The signal that it sends; zero: none.
    signal: u32,
    clock: c_int,
    /// The program's value for the handler.
    value: usize,
    /// Rings that belong to the last signal, beside its own.
    missed: i32,
}

impl Alarm {
    /// Rings if it is time. Returns the number of rings.
    fn expire(&mut self, now: u64) -> u64 {
        if self.at > now {
            return 0;
        }
        let late = now - self.at;
        let rings = 1 + late.checked_div(self.interval).unwrap_or(0);
        self.at = match self.interval {
            0 => NEVER,
            interval => self.at + rings * interval,
        };
        rings
    }

    /// Returns the time until the next ring, which is zero for none, and the interval.
    fn left(&self, now: u64) -> [u64; 2] {
        let left = match self.at {
            NEVER => 0,
            at => at.saturating_sub(now).max(1_000),
        };
        [left, self.interval]
    }
}

/// The timers of the process, by number.
#[derive(Default)]
pub struct Alarms {
    all: BTreeMap<i32, Alarm>,
    next: i32,
}

/// The number of the timer of `alarm` and `setitimer`.
const OF_PROCESS: i32 = -1;

impl Alarms {
    /// Returns the time of the next ring.
    pub fn next(&self) -> u64 {
        self.all
            .values()
            .map(|alarm| alarm.at)
            .min()
            .unwrap_or(NEVER)
    }

    /// Notes that the signal of a timer is delivered, with this number of rings that have none. If the signal
    /// before was not taken yet, they and this one are rings without a signal, too.
    pub fn delivered(&mut self, id: i32, missed: i32, is_first: bool) {
        if let Some(alarm) = self.all.get_mut(&id) {
            let before = if is_first { 0 } else { alarm.missed + 1 };
            alarm.missed = missed.saturating_add(before);
        }
    }

    /// Adds the signals of timers that ring to those that are due.
    pub fn expire(&mut self, now: u64, due: &mut Vec<Signal>) {
        for (id, alarm) in &mut self.all {
            let rings = alarm.expire(now);
            if rings == 0 || alarm.signal == 0 {
                continue;
            }
            let is_mine = |signal: &&mut Signal| {
                let timer = signal.timer.map_or(OF_PROCESS, |(timer, ..)| timer);
                (signal.number, timer) == (alarm.signal, *id)
            };
            let missed = rings.min(i32::MAX as u64) as i32;
            if let Some(waiting) = due.iter_mut().find(is_mine) {
                if let Some((_, waiting, _)) = &mut waiting.timer {
                    *waiting = waiting.saturating_add(missed);
                }
                continue;
            }
            let timer = (*id != OF_PROCESS).then_some((*id, missed - 1, alarm.value));
            due.push(Signal {
                number: alarm.signal,
                timer,
            });
        }
    }
}

fn nanoseconds(time: &Timeval) -> u64 {
    (time.sec.max(0) as u64)
        .saturating_mul(SECOND)
        .saturating_add(time.usec.max(0) as u64 * 1_000)
}

fn timeval(nanoseconds: u64) -> Timeval {
    Timeval {
        sec: (nanoseconds / SECOND) as i64,
        usec: (nanoseconds % SECOND / 1_000) as i64,
    }
}

/// Time until the next ring of the process's timer, which is zero for none, and the interval.
unsafe fn left() -> [u64; 2] {
    let s = sim();
    let alarm = s.alarms.all.get(&OF_PROCESS);
    alarm.map_or([0; 2], |alarm| alarm.left(s.now))
}

unsafe fn set(first: u64, interval: u64) {
    let s = sim();
    let at = match first {
        0 => NEVER,
        _ => s.now.saturating_add(first),
    };
    let alarm = Alarm {
        at,
        interval,
        signal: SIGALRM,
        clock: time::MONOTONIC,
        value: 0,
        missed: 0,
    };
    s.alarms.all.insert(OF_PROCESS, alarm);
    has_deadline(at);
}

/// `getitimer`. Only the timer of real time is simulated.
pub unsafe fn get(which: usize, to: *mut [Timeval; 2], from: usize) -> Raw {
    if which != 0 {
        end::escaped("getitimer of processor time", from);
    }
    let [left, interval] = left().map(timeval);
    *to = [interval, left];
    0
}

/// `setitimer`.
pub unsafe fn set_timer(
    which: usize,
    new: *const [Timeval; 2],
    old: *mut [Timeval; 2],
    from: usize,
) -> Raw {
    if which != 0 {
        end::escaped("setitimer of processor time", from);
    }
    if new.is_null() {
        return -(EINVAL as Raw);
    }
    baton::point_alone("setitimer");
    // The interval comes first.
    let [left, interval] = left().map(timeval);
    let [new_interval, first] = &*new;
    set(nanoseconds(first), nanoseconds(new_interval));
    if !old.is_null() {
        *old = [interval, left];
    }
    0
}

/// `alarm`. Returns the seconds that were left.
pub unsafe fn set_alarm(seconds: usize) -> Raw {
    baton::point_alone("alarm");
    let [left, _] = left();
    set(seconds as u32 as u64 * SECOND, 0);
    left.div_ceil(SECOND) as Raw
}

/// `pause`.
pub unsafe fn pause_thread() -> Raw {
    baton::point_alone("pause");
    sim().me().interrupted = false;
    while !core::mem::take(&mut sim().me().interrupted) {
        baton::block((Class::Sleep, 0), NEVER);
    }
    -(EINTR as Raw)
}

/// The argument of `timer_create`: a value, a signal, and the way in which the program learns of a ring.
#[repr(C)]
pub struct Event {
    value: usize,
    signal: c_int,
    how: c_int,
}

/// `timer_create`. Writes the number of the timer.
pub unsafe fn create(clock: c_int, event: *const Event, to: *mut i32, from: usize) -> Raw {
    const BY_SIGNAL: c_int = 0;
    const NOT: c_int = 1;
    baton::point_alone("timer_create");
    if matches!(clock, 2 | 3) {
        end::escaped("timer_create of processor time", from);
    }
    if time::is_unknown(clock) {
        return -(EINVAL as Raw);
    }
    let s = sim();
    let id = s.alarms.next;
    let (signal, value) = match event.as_ref() {
        None => (SIGALRM, id as usize),
        Some(event) => match event.how {
            BY_SIGNAL if !(1..65).contains(&event.signal) => return -(EINVAL as Raw),
            BY_SIGNAL => (event.signal as u32, event.value),
            NOT => (0, event.value),
            _ => end::escaped("timer_create with a thread (SIGEV_THREAD)", from),
        },
    };
    let alarm = Alarm {
        at: NEVER,
        interval: 0,
        signal,
        clock,
        value,
        missed: 0,
    };
    s.alarms.all.insert(id, alarm);
    s.alarms.next += 1;
    *to = id;
    0
}

/// Returns a timer that `timer_create` made.
unsafe fn find(id: i32) -> Option<&'static mut Alarm> {
    sim().alarms.all.get_mut(&id).filter(|_| id >= 0)
}

fn setting(alarm: &Alarm, now: u64) -> Itimerspec {
    let [value, interval] = alarm.left(now).map(time::timespec);
    Itimerspec { interval, value }
}

/// `timer_settime`.
pub unsafe fn set_time(id: i32, flags: usize, new: *const Itimerspec, old: *mut Itimerspec) -> Raw {
    const ABSOLUTE: usize = 1;
    baton::point_alone("timer_settime");
    let now = sim().now;
    let (Some(alarm), Some(new)) = (find(id), new.as_ref()) else {
        return -(EINVAL as Raw);
    };
    if !old.is_null() {
        *old = setting(alarm, now);
    }
    let value = time::nanoseconds(&new.value);
    alarm.interval = time::nanoseconds(&new.interval);
    alarm.missed = 0;
    alarm.at = match value {
        0 => NEVER,
        _ if flags & ABSOLUTE != 0 => time::deadline(alarm.clock, &new.value),
        _ => now.saturating_add(value),
    };
    let at = alarm.at;
    // A signal of the old setting is void.
    let is_mine = |signal: &Signal| signal.timer.is_some_and(|(timer, ..)| timer == id);
    sim().due.retain(|signal| !is_mine(signal));
    has_deadline(at);
    // It may be over.
    baton::advance(0);
    0
}

/// `timer_gettime`.
pub unsafe fn get_time(id: i32, to: *mut Itimerspec) -> Raw {
    let now = sim().now;
    let Some(alarm) = find(id) else {
        return -(EINVAL as Raw);
    };
    *to = setting(alarm, now);
    0
}

/// `timer_getoverrun`.
pub unsafe fn missed(id: i32) -> Raw {
    find(id).map_or(-(EINVAL as Raw), |alarm| alarm.missed as Raw)
}

/// `timer_delete`.
pub unsafe fn delete(id: i32) -> Raw {
    baton::point_alone("timer_delete");
    if find(id).is_none() {
        return -(EINVAL as Raw);
    }
    sim().alarms.all.remove(&id);
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn alarm(seconds: c_uint) -> c_uint {
    if !active() {
        return real!("alarm", fn(c_uint) -> c_uint)(seconds);
    }
    set_alarm(seconds as usize) as c_uint
}

#[unsafe(no_mangle)]
unsafe extern "C" fn setitimer(
    which: c_int,
    new: *const [Timeval; 2],
    old: *mut [Timeval; 2],
) -> c_int {
    if !active() {
        let real = real!(
            "setitimer",
            fn(c_int, *const [Timeval; 2], *mut [Timeval; 2]) -> c_int
        );
        return real(which, new, old);
    }
    let from = setitimer as *const () as usize;
    result(set_timer(which as usize, new, old, from)) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn getitimer(which: c_int, to: *mut [Timeval; 2]) -> c_int {
    if !active() {
        return real!("getitimer", fn(c_int, *mut [Timeval; 2]) -> c_int)(which, to);
    }
    result(get(which as usize, to, getitimer as *const () as usize)) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pause() -> c_int {
    if !active() {
        return real!("pause", fn() -> c_int)();
    }
    result(pause_thread()) as c_int
}

/// A timer is a pointer for libc, and a number here.
type Id = *mut c_void;

#[unsafe(no_mangle)]
unsafe extern "C" fn timer_create(clock: c_int, event: *const Event, to: *mut Id) -> c_int {
    if !active() {
        let real = real!("timer_create", fn(c_int, *const Event, *mut Id) -> c_int);
        return real(clock, event, to);
    }
    let mut id = 0;
    let from = timer_create as *const () as usize;
    let made = create(clock, event, &mut id, from);
    if made == 0 {
        *to = id as usize as Id;
    }
    result(made) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn timer_settime(
    id: Id,
    flags: c_int,
    new: *const Itimerspec,
    old: *mut Itimerspec,
) -> c_int {
    if !active() {
        let real = real!(
            "timer_settime",
            fn(Id, c_int, *const Itimerspec, *mut Itimerspec) -> c_int
        );
        return real(id, flags, new, old);
    }
    result(set_time(id as usize as i32, flags as usize, new, old)) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn timer_gettime(id: Id, to: *mut Itimerspec) -> c_int {
    if !active() {
        return real!("timer_gettime", fn(Id, *mut Itimerspec) -> c_int)(id, to);
    }
    result(get_time(id as usize as i32, to)) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn timer_getoverrun(id: Id) -> c_int {
    if !active() {
        return real!("timer_getoverrun", fn(Id) -> c_int)(id);
    }
    result(missed(id as usize as i32)) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn timer_delete(id: Id) -> c_int {
    if !active() {
        return real!("timer_delete", fn(Id) -> c_int)(id);
    }
    result(delete(id as usize as i32)) as c_int
}
