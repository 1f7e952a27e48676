//! Linux on x86: `membarrier(2)`, so that the frequent side needs no locked
//! instruction.
//!
//! The first use in the process registers it with the kernel, and finds out
//! whether the kernel has it (Linux 4.14) and no sandbox forbids it. Until
//! then, and for ever where it is missing, the frequent side makes a
//! sequentially consistent store instead: [`UNKNOWN`] and [`STRONG`] differ only in
//! whether it is worth asking. A thread may read an old `UNKNOWN` and fence
//! while others are light already; that is never wrong, only slower. The rare
//! side never trusts the variable to say that the barrier is not needed: it
//! asks the kernel for the barrier each time.

use std::sync::atomic::{AtomicU8, Ordering, compiler_fence, fence};

use libc::{c_int, c_long};

const UNKNOWN: u8 = 0;
/// Plain stores on the frequent side, `membarrier` on the rare one.
const LIGHT: u8 = 1;
/// A full fence on both sides.
const STRONG: u8 = 2;
/// The system has begun to refuse the barrier. New stores are strong; light ones
/// may still be on their way.
const REFUSED: u8 = 3;

#[path = "refused.rs"]
mod refused;

static MECHANISM: AtomicU8 = AtomicU8::new(UNKNOWN);

/// Stores `value`, then looks at `look`.
#[inline]
pub fn publish(byte: &AtomicU8, value: u8, look: &AtomicU8) -> u8 {
    byte.store(value, Ordering::Release);
    compiler_fence(Ordering::SeqCst);
    // After the store: a thread that still reads `LIGHT` here has stored before the
    // light mechanism was given up.
    if MECHANISM.load(Ordering::Relaxed) != LIGHT {
        follow_strongly();
    }
    look.load(Ordering::SeqCst)
}

/// The frequent side's fence between a store of any kind and a load; see [`heavy`].
#[inline(always)]
pub fn light() {
    compiler_fence(Ordering::SeqCst);
    if MECHANISM.load(Ordering::Relaxed) != LIGHT {
        follow_strongly();
    }
}

#[cold]
fn follow_strongly() {
    if MECHANISM.load(Ordering::Relaxed) == UNKNOWN {
        register();
    }
    fence(Ordering::SeqCst);
}

/// Makes every thread of the process pass a full fence.
#[cold]
pub fn heavy() {
    fence(Ordering::SeqCst);
    if MECHANISM.load(Ordering::Relaxed) == UNKNOWN {
        register();
    }
    let light = MECHANISM.load(Ordering::SeqCst) == LIGHT;
    if light && membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0 {
        let _ = MECHANISM.compare_exchange(LIGHT, REFUSED, Ordering::SeqCst, Ordering::SeqCst);
    }
    if MECHANISM.load(Ordering::SeqCst) == REFUSED {
        stop_being_light();
    }
    fence(Ordering::SeqCst);
}

/// Makes both sides fence from now on: a sandbox that was entered after the registration forbids
/// the call. A light store of another thread came before that thread could read `REFUSED`, so one
/// more barrier makes that store visible. Until one such barrier has run, each thread that comes
/// here runs its own.
#[cold]
fn stop_being_light() {
    refused::fence_everywhere();
    MECHANISM.store(STRONG, Ordering::SeqCst);
}

#[cold]
fn register() {
    let way = match membarrier(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) {
        0 => LIGHT,
        _ => STRONG,
    };
    // Only from UNKNOWN: another thread may know better by now.
    let _ = MECHANISM.compare_exchange(UNKNOWN, way, Ordering::SeqCst, Ordering::SeqCst);
}

fn membarrier(command: c_int) -> c_long {
    // SAFETY: the call reads and writes no memory of ours; it takes two numbers
    // and a processor, which these commands ignore.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) }
}

/// Names how stores and loads are kept in order.
pub fn mechanism() -> &'static str {
    if MECHANISM.load(Ordering::Relaxed) == UNKNOWN {
        register();
    }
    match MECHANISM.load(Ordering::Relaxed) {
        LIGHT => "membarrier",
        _ => "fence",
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
