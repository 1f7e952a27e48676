//! `alarm`, `setitimer` and `pause`: a signal to the process at a simulated time.
//!
//! The thread that has the baton gets the signal when it returns from a point, or while it looks for the next
//! thread because none can run. The kernel could choose any thread, too. If the thread waits, its handler runs
//! during the wait. Then a sleep and a `pause` end with `EINTR`. Another wait returns as after a spurious
//! wake-up, or continues if it has a queue.

use core::ffi::{c_int, c_uint};

use crate::baton::{self, has_deadline};
use crate::c::{EINTR, EINVAL, Raw, Timeval, nr, result};
use crate::end;
use crate::progress;
use crate::real::real;
use crate::state::{Class, NEVER, State, active, sim};
use crate::sys;

const SIGALRM: u32 = 14;
const SECOND: u64 = 1_000_000_000;

/// The timer of the process.
pub struct Alarm {
    /// The time at which it rings next.
    pub at: u64,
    /// Time between two rings; zero: it rings once.
    interval: u64,
    /// It has rung, and no thread has got the signal yet.
    pub is_due: bool,
}

impl Alarm {
    /// A timer that does not ring.
    pub const NONE: Alarm = Alarm {
        at: NEVER,
        interval: 0,
        is_due: false,
    };

    /// Rings if it is time.
    pub fn expire(&mut self, now: u64) {
        if self.at > now {
            return;
        }
        self.is_due = true;
        self.at = match self.interval {
            0 => NEVER,
            // Rings that a busy process has missed are one.
            interval => now + interval - (now - self.at) % interval,
        };
    }
}

/// Delivers a due signal to the running thread. It is at a point, or looks for the next thread.
pub unsafe fn deliver() {
    let s = sim();
    if !core::mem::take(&mut s.alarm.is_due) {
        return;
    }
    let me = s.me();
    let is_waiting = me.state == State::Blocked;
    if blocks_signal() {
        pass_on(is_waiting);
        return;
    }
    progress::wake();
    let wait = (me.key, me.deadline, me.timed_out, me.retries, me.call);
    let set = core::mem::take(&mut me.set);
    me.state = State::Ready;
    // The handler may reach points, and wait.
    let arguments = [sys::getpid() as usize, sys::gettid() as usize];
    sys::call(
        nr::TGKILL,
        [arguments[0], arguments[1], SIGALRM as usize, 0, 0, 0],
    );
    let s = sim();
    let current = s.current;
    let me = s.me();
    (me.key, me.deadline, me.timed_out, me.retries, me.call) = wait;
    me.set = set;
    me.interrupted = true;
    let queue = s.queues.get(&wait.0);
    if is_waiting && queue.is_some_and(|queue| queue.contains(&current)) {
        s.me().state = State::Blocked;
        has_deadline(wait.1);
    }
}

/// The running thread blocks the signal: a thread that sleeps gets it, or one that reaches a point.
unsafe fn pass_on(is_waiting: bool) {
    let s = sim();
    s.alarm.is_due = true;
    let takes = |id: &&u32| {
        let thread = &s.threads[**id as usize];
        let sleeps = thread.state == State::Blocked && thread.key.0 == Class::Sleep;
        sleeps && !thread.blocks_alarm
    };
    match s.live.iter().find(takes) {
        Some(id) => baton::make_ready(*id),
        None if is_waiting => end::escaped("SIGALRM, which all waiting threads may block", 0),
        None => {}
    }
}

/// Returns `true` if the calling thread blocks the signal.
pub unsafe fn blocks_signal() -> bool {
    const RT_SIGPROCMASK: usize = 14;
    let mut mask = 0u64;
    sys::call(
        RT_SIGPROCMASK,
        [0, 0, &raw mut mask as usize, size_of::<u64>(), 0, 0],
    );
    mask & 1 << (SIGALRM - 1) != 0
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

/// Time until the next ring, which is zero for none, and the interval.
unsafe fn left() -> [u64; 2] {
    let s = sim();
    let left = match s.alarm.at {
        NEVER => 0,
        at => at.saturating_sub(s.now).max(1_000),
    };
    [left, s.alarm.interval]
}

unsafe fn set(first: u64, interval: u64) {
    let s = sim();
    let at = match first {
        0 => NEVER,
        _ => s.now.saturating_add(first),
    };
    s.alarm = Alarm {
        at,
        interval,
        ..Alarm::NONE
    };
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
