//! Signals that the program sends to itself, by `kill` or by timers, and the calls that wait for them.
//!
//! A signal to the process goes to a thread that does not block it. The kernel could choose any such thread.
//! Here it is the one with the baton, when it returns from a point, or looks for the next thread because none
//! can run. If that one blocks the signal, it is a thread that sleeps.
//!
//! If the thread waits, its handler runs during the wait. Then a sleep and `pause` end with `EINTR`. A wait that has
//! a queue continues. Any other one ends as if a wake-up had come without a reason.
//!
//! If all threads block a signal, the kernel keeps it for the process. There, `signalfd` and the relatives of
//! `sigwait` find it. The kernel never gets a signal for the process that a thread does not block: it could run
//! the handler in a thread without the baton.

use core::ffi::c_int;

use crate::baton::{self, has_deadline};
use crate::c::{EAGAIN, EINVAL, ESRCH, O_NONBLOCK, Raw, Timespec, nr, pthread_self, result};
use crate::descriptors::Kind;
use crate::end;
use crate::identity::PROCESS;
use crate::progress;
use crate::readiness;
use crate::real::real;
use crate::state::{Class, NEVER, State, active, sim};
use crate::sys;

/// The numbers of signals are below this one.
const COUNT: u32 = 65;
/// Bytes of a set of signals.
const SET: usize = size_of::<u64>();

/// A signal to the process, and what a handler learns about it.
#[derive(Clone, Copy)]
pub struct Signal {
    pub number: u32,
    /// The timer, the number of its expirations that had no signal, and its value.
    pub timer: Option<(i32, i32, usize)>,
}

impl Signal {
    fn bit(self) -> u64 {
        1 << (self.number - 1)
    }

    /// Returns the kernel's description (`siginfo_t`).
    unsafe fn info(self) -> [u64; 16] {
        const BY_TIMER: i32 = -2;
        let mut info = [0u64; 16];
        let words = info.as_mut_ptr().cast::<i32>();
        *words = self.number as i32;
        match self.timer {
            Some((timer, missed, value)) => {
                *words.add(2) = BY_TIMER;
                *words.add(4) = timer;
                *words.add(5) = missed;
                info[3] = value as u64;
            }
            // As by `kill`: the sender's process.
            None => *words.add(4) = PROCESS as i32,
        }
        info
    }

    /// Gives the signal to the kernel, for the running thread.
    unsafe fn give_to_me(self) {
        const QUEUE_TO_THREAD: usize = 297;
        if let Some((timer, missed, _)) = self.timer {
            sim().alarms.delivered(timer, missed, true);
        }
        let info = self.info();
        let (process, thread) = (sys::getpid() as usize, sys::gettid() as usize);
        let info = info.as_ptr() as usize;
        let arguments = [process, thread, self.number as usize, info, 0, 0];
        sys::call(QUEUE_TO_THREAD, arguments);
    }

    /// Gives the signal to the kernel, for the process. All threads block it. If the kernel has one already, a timer
    /// has missed this one.
    unsafe fn give_to_process(self) {
        const QUEUE: usize = 129;
        let is_first = pending() & self.bit() == 0;
        if let Some((timer, missed, _)) = self.timer {
            sim().alarms.delivered(timer, missed, is_first);
        }
        if !is_first {
            return;
        }
        let (process, number) = (sys::getpid() as usize, self.number as usize);
        if self.timer.is_some() {
            let info = self.info();
            sys::call(QUEUE, [process, number, info.as_ptr() as usize, 0, 0, 0]);
        } else {
            // Only the first thread may say that the signal comes from `kill`.
            sys::call(nr::KILL, [process, number, 0, 0, 0, 0]);
        }
        baton::release((Class::Signal, 0));
        baton::descriptors_changed();
    }
}

/// Delivers due signals to the running thread, as far as it does not block them. It is at a point, or looks for the
/// next thread.
pub unsafe fn deliver() {
    if sim().due.is_empty() {
        return;
    }
    // A handler may send others.
    for signal in core::mem::take(&mut sim().due) {
        if blocked_here() & signal.bit() == 0 {
            progress::wake();
            run_handler(signal);
        } else {
            pass_on(signal);
        }
    }
}

/// Lets the kernel run the handler of a signal in the running thread.
unsafe fn run_handler(signal: Signal) {
    let me = sim().me();
    let is_waiting = me.state == State::Blocked;
    let wait = (me.key, me.deadline, me.timed_out, me.retries, me.call);
    let set = core::mem::take(&mut me.set);
    me.state = State::Ready;
    // The handler may reach points, and wait.
    signal.give_to_me();
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

/// The running thread blocks the signal: a thread that sleeps gets it, or one that reaches a point, or the kernel
/// keeps it.
unsafe fn pass_on(signal: Signal) {
    let s = sim();
    let is_waiting = s.me().state == State::Blocked;
    let takes = |id: &&u32| blocked_by(s.threads[**id as usize].tid) & signal.bit() == 0;
    let takers: Vec<u32> = s.live.iter().filter(takes).copied().collect();
    if takers.is_empty() {
        signal.give_to_process();
        return;
    }
    s.due.push(signal);
    let sleeps = |id: &&u32| {
        let thread = &s.threads[**id as usize];
        thread.state == State::Blocked && thread.key.0 == Class::Sleep
    };
    let is_ready = |id: &u32| s.threads[*id as usize].state == State::Ready;
    match takers.iter().find(sleeps) {
        Some(id) => baton::make_ready(*id),
        None if is_waiting && !takers.iter().any(is_ready) => {
            let number = signal.number;
            end::escaped(&format!("signal {number} to a thread that waits"), 0);
        }
        None => {}
    }
}

/// Returns the signals that the calling thread blocks.
unsafe fn blocked_here() -> u64 {
    const RT_SIGPROCMASK: usize = 14;
    let mut mask = 0u64;
    let to = &raw mut mask as usize;
    sys::call(RT_SIGPROCMASK, [0, 0, to, SET, 0, 0]);
    mask
}

/// Returns the signals that the kernel has for the process or the calling thread.
unsafe fn pending() -> u64 {
    const RT_SIGPENDING: usize = 127;
    let mut set = 0u64;
    sys::call(RT_SIGPENDING, [&raw mut set as usize, SET, 0, 0, 0, 0]);
    set
}

/// Returns the signals that a thread blocks, by the kernel's number of it. A thread that has not had the baton has
/// none, and counts as one that blocks all.
unsafe fn blocked_by(tid: i32) -> u64 {
    const FOLDER: usize = -100isize as usize;
    let path = format!("/proc/self/task/{tid}/status\0");
    let fd = sys::call(nr::OPENAT, [FOLDER, path.as_ptr() as usize, 0, 0, 0, 0]);
    if fd < 0 {
        return u64::MAX;
    }
    let mut text = [0u8; 4096];
    let to = text.as_mut_ptr() as usize;
    let length = sys::call(nr::READ, [fd as usize, to, text.len(), 0, 0, 0]);
    sys::call(nr::CLOSE, [fd as usize, 0, 0, 0, 0, 0]);
    let text = String::from_utf8_lossy(&text[..length.max(0) as usize]);
    let digits = text.lines().find_map(|line| line.strip_prefix("SigBlk:"));
    let mask = digits.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok());
    mask.unwrap_or(u64::MAX)
}

/// `kill`, `tkill` and `tgkill`: to this process or the running thread.
pub unsafe fn send(number: usize, a: [usize; 6], from: usize) -> Raw {
    let (target, signal) = match number {
        nr::KILL | nr::TKILL => (a[0] as i32 as Raw, a[1]),
        _ => (a[1] as i32 as Raw, a[2]),
    };
    if signal >= COUNT as usize {
        return -(EINVAL as Raw);
    }
    let is_to_process = number == nr::KILL && (target == PROCESS || target == 0);
    if !is_to_process && number == nr::KILL {
        end::escaped("a signal to another process", from);
    }
    if is_to_process {
        baton::point("kill", 0);
        if signal != 0 {
            let (number, timer) = (signal as u32, None);
            sim().due.push(Signal { number, timer });
            deliver();
        }
        return 0;
    }
    let thread = usize::try_from(target - PROCESS).ok();
    send_to(thread, signal, from)
}

/// Sends a signal to the running thread, or asks whether a thread lives.
unsafe fn send_to(thread: Option<usize>, signal: usize, from: usize) -> Raw {
    let s = sim();
    let target = thread.and_then(|thread| s.threads.get(thread));
    let Some(target) = target.filter(|target| target.state != State::Done) else {
        return -(ESRCH as Raw);
    };
    if signal != 0 && target.id != s.current {
        end::escaped("a signal to another thread", from);
    }
    baton::point("kill", 0);
    let arguments = [sys::getpid() as usize, sys::gettid() as usize, signal];
    let [process, thread, signal] = arguments;
    sys::call(nr::TGKILL, [process, thread, signal, 0, 0, 0])
}

/// `rt_sigtimedwait`: waits for a signal that all threads block.
pub unsafe fn wait_for(set: *const u64, info: usize, deadline: u64) -> Raw {
    static NOW: Timespec = Timespec { sec: 0, nsec: 0 };
    baton::point_alone("sigwait");
    loop {
        let now = &raw const NOW as usize;
        let arguments = [set as usize, info, now, SET, 0, 0];
        let found = sys::call(nr::RT_SIGTIMEDWAIT, arguments);
        if found != -(EAGAIN as Raw) || baton::block((Class::Signal, 0), deadline) {
            return found;
        }
    }
}

/// `signalfd4`. The kernel's descriptor, which never blocks.
pub unsafe fn descriptor(fd: usize, set: usize, flags: usize) -> Raw {
    let arguments = [fd, set, SET, flags | O_NONBLOCK, 0, 0];
    let new = sys::call(nr::SIGNALFD4, arguments);
    if new >= 0 && new != fd as i32 as Raw {
        let nonblocking = flags & O_NONBLOCK != 0;
        sim()
            .descriptors
            .add(new as usize, Kind::Event, nonblocking);
    }
    new
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_kill(thread: usize, signal: c_int) -> c_int {
    if !active() {
        return real!("pthread_kill", fn(usize, c_int) -> c_int)(thread, signal);
    }
    if !(0..COUNT as c_int).contains(&signal) {
        return EINVAL;
    }
    let s = sim();
    let found = if thread == pthread_self() {
        Some(s.current as usize)
    } else {
        // Its number may have been an earlier thread's.
        s.threads
            .iter()
            .rposition(|record| record.pthread == thread)
    };
    let from = pthread_kill as *const () as usize;
    -(send_to(found, signal as usize, from) as c_int)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sigwaitinfo(set: *const u64, info: usize) -> c_int {
    sigtimedwait(set, info, core::ptr::null())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sigtimedwait(set: *const u64, info: usize, limit: *const Timespec) -> c_int {
    if !active() {
        let wait = real!(
            "sigtimedwait",
            fn(*const u64, usize, *const Timespec) -> c_int
        );
        return wait(set, info, limit);
    }
    result(wait_for(set, info, readiness::after(limit))) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sigwait(set: *const u64, signal: *mut c_int) -> c_int {
    if !active() {
        return real!("sigwait", fn(*const u64, *mut c_int) -> c_int)(set, signal);
    }
    match wait_for(set, 0, NEVER) {
        found if found < 0 => -found as c_int,
        found => {
            *signal = found as c_int;
            0
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn signalfd(fd: c_int, set: usize, flags: c_int) -> c_int {
    if !active() {
        return real!("signalfd", fn(c_int, usize, c_int) -> c_int)(fd, set, flags);
    }
    result(descriptor(fd as usize, set, flags as usize)) as c_int
}
