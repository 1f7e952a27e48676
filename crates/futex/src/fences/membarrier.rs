//! Linux on x86: `membarrier(2)`, so that the frequent side needs no locked instruction.
//!
//! The first use in the process registers it with the kernel, and finds out whether the kernel
//! has it (Linux 4.14) and no sandbox forbids it. Until then, for ever where it is missing, and
//! from then on where it comes late, the frequent side fences for itself (`switch.rs`).
//!
//! A sandbox may forbid the call after the registration. The rare side then replaces the barrier
//! by a change of memory protection (`page.rs`), and the process leaves the light mechanism as it
//! does after a late barrier. If the replacement is not possible either, the process ends with a
//! message: to continue would be to lose wake-ups, and to let two threads into a biased lock.

use std::sync::atomic::{AtomicU8, Ordering, compiler_fence, fence};
use std::time::Duration;

use libc::{c_int, c_long};

use super::page;
use super::switch::{self, LIGHT, REGISTERING, UNKNOWN};
use crate::system_clock::nanos_of;

/// A barrier that takes more time of its processor is late. It is half of the time for which a fence may
/// stall an operation of a lock, and several times as long as barriers take that interrupt a processor.
const LATE: Duration = Duration::from_micros(100);
/// Number of late barriers in a row that count as late. A hypervisor also delays one of ten thousand where
/// it delivers all others at once.
const LATE_IN_A_ROW: usize = 3;

/// Stores `value`, then looks at `look`.
#[inline]
pub fn publish(byte: &AtomicU8, value: u8, look: &AtomicU8) -> u8 {
    byte.store(value, Ordering::Release);
    light();
    look.load(Ordering::SeqCst)
}

/// Fences between a store of any kind and a load of the frequent side; see [`heavy`].
#[inline(always)]
pub fn light() {
    compiler_fence(Ordering::SeqCst);
    if !switch::is_light() {
        follow_strongly();
    }
}

#[cold]
fn follow_strongly() {
    register_once();
    fence(Ordering::SeqCst);
}

/// Makes every thread of the process pass a full fence.
#[cold]
pub fn heavy() {
    fence(Ordering::SeqCst);
    register_once();
    switch::pass(barrier_in_time);
    fence(Ordering::SeqCst);
}

fn register_once() {
    if switch::state() == UNKNOWN {
        switch::register(|| membarrier(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED));
    }
}

/// Makes every thread pass a full fence. Returns `true` if the system did that, and in time.
fn barrier_in_time() -> bool {
    for _ in 0..LATE_IN_A_ROW {
        let began = thread_time();
        if !membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED) {
            if !page::take_away() {
                end();
            }
            return false;
        }
        if thread_time().saturating_sub(began) <= LATE {
            return true;
        }
    }
    false
}

/// Returns the time that this thread has spent on processors. The kernel waits for a late processor without
/// leaving its own, so that wait counts, and the time in which another thread runs does not.
fn thread_time() -> Duration {
    Duration::from_nanos(nanos_of(libc::CLOCK_THREAD_CPUTIME_ID))
}

fn end() -> ! {
    eprintln!(
        "blitz-io: the system has begun to refuse membarrier to this process, which relies on it, \
         and mprotect cannot replace it here. Allow membarrier in the sandbox, or enter the \
         sandbox before the first use of a lock or a channel."
    );
    std::process::abort();
}

fn membarrier(command: c_int) -> bool {
    // SAFETY: the call reads and writes no memory of ours; it takes two numbers
    // and a processor, which these commands ignore.
    let result: c_long = unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) };
    result == 0
}

/// Names how stores and loads are kept in order.
pub fn mechanism() -> &'static str {
    register_once();
    while switch::state() == REGISTERING {
        crate::source::yield_now();
    }
    if switch::state() == LIGHT {
        "membarrier"
    } else {
        "fence"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_barrier_can_be_asked_for_again_and_again() {
        for _ in 0..100 {
            heavy();
        }
        let byte = AtomicU8::new(1);
        let seen = publish(&byte, 7, &AtomicU8::new(3));
        assert_eq!((byte.into_inner(), seen), (7, 3));
    }
}
