//! Direct system calls: random numbers, and waits of futexes.
//!
//! Locks and `park_timeout` wait by futexes until a moment of the monotonic clock, which in a run is a simulated one: the kernel
//! knows nothing of it. Another thread may end such a wait, so it is a real one, for the time that is left by the simulated
//! clock. If nothing ends it, the simulated clock moves by that time. A wait of one futex without a limit is watched
//! (`blocked.rs`).

use std::ffi::{c_int, c_long, c_void};
use std::ptr;
use std::time::Duration;

use super::blocked::{self, Word};
use super::{Real, Run, clocks, duration, entropy, fail, timespec, with};

type Syscall = unsafe extern "C" fn(c_long, ...) -> c_long;

static REAL: Real<Syscall> = Real::new(c"syscall");

/// Finds the C library's function.
pub(super) fn find() {
    let _ = REAL.get();
}

/// A wait until a moment of a clock, or for a time.
struct Limit {
    /// The clock of the moment; `None` for a time.
    clock: Option<libc::clockid_t>,
    time: Duration,
}

/// Calls the system. `arguments` are as many as a call may have: those that the caller has not passed are ignored.
///
/// # Safety
///
/// As of the system's function.
pub(super) unsafe extern "C" fn syscall(
    number: c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> c_long {
    let Some(real) = REAL.get() else {
        return c_long::from(fail(libc::ENOSYS));
    };
    // SAFETY: the caller's promise, also for each branch.
    unsafe {
        match number {
            libc::SYS_getrandom if entropy::fill(a as *mut c_void, b) => b as c_long,
            libc::SYS_futex => {
                let wait_for = |time| {
                    let operation = b & !(libc::FUTEX_CLOCK_REALTIME as usize);
                    let until = if is_bitset(b) { end(time) } else { time };
                    let until = timespec(until);
                    real(number, a, operation, c, ptr::from_ref(&until), e, f)
                };
                match with(|run| limit_of_futex(b, d).map(|limit| limit.left(run))) {
                    Some(left) => wait(left, wait_for),
                    None if is_wait(b) && d == 0 => {
                        let word = Word {
                            address: a,
                            value: c as u32,
                            is_private: b as c_int & libc::FUTEX_PRIVATE_FLAG != 0,
                        };
                        blocked::wait(&word, |limit| match limit {
                            Some(time) => wait_for(time),
                            None => real(number, a, b, c, d, e, f),
                        })
                    }
                    None => real(number, a, b, c, d, e, f),
                }
            }
            libc::SYS_futex_waitv => {
                match with(|run| limit_of_waitv(d, e).map(|limit| limit.left(run))) {
                    Some(left) => wait(left, |time| {
                        let until = timespec(end(time));
                        let clock = libc::CLOCK_MONOTONIC as usize;
                        real(number, a, b, c, ptr::from_ref(&until), clock, f)
                    }),
                    None => real(number, a, b, c, d, e, f),
                }
            }
            _ => real(number, a, b, c, d, e, f),
        }
    }
}

fn command(operation: usize) -> c_int {
    operation as c_int & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME)
}

/// Returns `true` if the call waits.
fn is_wait(operation: usize) -> bool {
    is_bitset(operation) || command(operation) == libc::FUTEX_WAIT
}

/// Returns `true` if the wait ends at a moment.
fn is_bitset(operation: usize) -> bool {
    command(operation) == libc::FUTEX_WAIT_BITSET
}

/// Returns the limit of a call of `futex`; `None` if it is no wait with a limit.
///
/// # Safety
///
/// As of the system's function.
unsafe fn limit_of_futex(operation: usize, time: usize) -> Option<Limit> {
    let clock = match command(operation) {
        libc::FUTEX_WAIT => None,
        libc::FUTEX_WAIT_BITSET if operation as c_int & libc::FUTEX_CLOCK_REALTIME != 0 => {
            Some(libc::CLOCK_REALTIME)
        }
        libc::FUTEX_WAIT_BITSET => Some(libc::CLOCK_MONOTONIC),
        _ => return None,
    };
    // SAFETY: a wait has null or the address of a time.
    let time = unsafe { (time as *const libc::timespec).as_ref() };
    let time = time.and_then(duration)?;
    Some(Limit { clock, time })
}

/// Returns the limit of a call of `futex_waitv`, if it has one.
///
/// # Safety
///
/// As of the system's function.
unsafe fn limit_of_waitv(time: usize, clock: usize) -> Option<Limit> {
    // SAFETY: the call has null or the address of a time.
    let time = unsafe { (time as *const libc::timespec).as_ref() };
    let time = time.and_then(duration)?;
    let clock = Some(clock as libc::clockid_t);
    Some(Limit { clock, time })
}

impl Limit {
    /// Returns the time that is left by the clocks of a run.
    fn left(&self, _: &Run) -> Duration {
        match self.clock {
            Some(clock) => self
                .time
                .saturating_sub(clocks::now(clock).unwrap_or_default()),
            None => self.time,
        }
    }
}

/// Returns the moment of the system's monotonic clock at the end of this time.
fn end(time: Duration) -> Duration {
    let now = clocks::real(libc::CLOCK_MONOTONIC).unwrap_or_default();
    now.saturating_add(time)
}

/// Waits for this time at most, and moves the simulated clock if nothing has ended the wait.
fn wait(time: Duration, wait: impl FnOnce(Duration) -> c_long) -> c_long {
    let result = wait(time);
    // SAFETY: the address of this thread's `errno` is valid.
    let error = unsafe { *libc::__errno_location() };
    if result == -1 && error == libc::ETIMEDOUT {
        with(|run| run.sleep(time).then_some(()));
        fail(error);
    }
    result
}
