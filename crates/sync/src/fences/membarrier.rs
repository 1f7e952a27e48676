//! Linux on x86: `membarrier(2)`, so that the frequent side needs no locked
//! instruction.
//!
//! The first use in the process registers it with the kernel, and finds out
//! whether the kernel has it (Linux 4.14) and no sandbox forbids it. Until
//! then, and for ever where it is missing, the frequent side makes a
//! sequentially consistent store instead (but for [`publish_plainly`], where
//! the rare side waits instead): [`UNKNOWN`] and [`STRONG`] differ only in
//! whether it is worth asking. A thread may read an old `UNKNOWN` and fence
//! while others are light already; that is never wrong, only slower. The rare
//! side never trusts the variable to say that the barrier is not needed: it
//! asks the kernel for the barrier each time.

use std::sync::atomic::{AtomicU8, Ordering, compiler_fence, fence};
use std::time::Duration;

use libc::{c_int, c_long};

const UNKNOWN: u8 = 0;
/// Plain stores on the frequent side, `membarrier` on the rare one.
const LIGHT: u8 = 1;
/// A full fence on both sides.
const STRONG: u8 = 2;
/// The system has begun to refuse the barrier. New stores are strong; light ones
/// may still be on their way.
const FADING: u8 = 3;

/// Long enough for a store to leave any processor's buffer.
const STORES_ARE_OUT: Duration = Duration::from_millis(1);

static WAY: AtomicU8 = AtomicU8::new(UNKNOWN);

/// Stores `value`, then looks at `look`.
#[inline]
pub fn publish(byte: &AtomicU8, value: u8, look: &AtomicU8) -> u8 {
    byte.store(value, Ordering::Release);
    compiler_fence(Ordering::SeqCst);
    // After the store: who still reads `LIGHT` here has stored before the light
    // way was given up.
    if WAY.load(Ordering::Relaxed) != LIGHT {
        follow_strongly();
    }
    look.load(Ordering::SeqCst)
}

/// The same for a rare side that uses [`heavy_or_wait`]: a plain store, whatever the system
/// has.
#[inline]
pub fn publish_plainly(byte: &AtomicU8, value: u8, look: &AtomicU8) -> u8 {
    byte.store(value, Ordering::Release);
    compiler_fence(Ordering::SeqCst);
    look.load(Ordering::SeqCst)
}

#[cold]
fn follow_strongly() {
    if WAY.load(Ordering::Relaxed) == UNKNOWN {
        register();
    }
    fence(Ordering::SeqCst);
}

/// Makes every thread of the process pass a full fence.
#[cold]
pub fn heavy() {
    fence(Ordering::SeqCst);
    if WAY.load(Ordering::Relaxed) == UNKNOWN {
        register();
    }
    let light = WAY.load(Ordering::SeqCst) == LIGHT;
    if light && membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0 {
        WAY.store(FADING, Ordering::SeqCst);
    }
    if WAY.load(Ordering::SeqCst) == FADING {
        fade();
    }
    fence(Ordering::SeqCst);
}

/// What [`heavy`] is to [`publish`], for [`publish_plainly`]: where there is no barrier, it
/// takes a millisecond.
#[cold]
pub fn heavy_or_wait() {
    heavy();
    if WAY.load(Ordering::SeqCst) != LIGHT {
        std::thread::sleep(STORES_ARE_OUT);
        fence(Ordering::SeqCst);
    }
}

/// A sandbox that was entered after the registration forbids the call. From now
/// on everybody fences for himself; a store that some thread has made lightly a
/// moment ago only needs the time to leave the processor's buffer, and everybody
/// waits for that who comes before it is over.
#[cold]
fn fade() {
    std::thread::sleep(STORES_ARE_OUT);
    WAY.store(STRONG, Ordering::SeqCst);
}

#[cold]
fn register() {
    let way = match membarrier(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) {
        0 => LIGHT,
        _ => STRONG,
    };
    // Only from UNKNOWN: another thread may know better by now.
    let _ = WAY.compare_exchange(UNKNOWN, way, Ordering::SeqCst, Ordering::SeqCst);
}

fn membarrier(command: c_int) -> c_long {
    // SAFETY: the call reads and writes no memory of ours; it takes two numbers
    // and a processor, which these commands ignore.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) }
}

/// How the fence is paid for.
pub fn way() -> &'static str {
    if WAY.load(Ordering::Relaxed) == UNKNOWN {
        register();
    }
    match WAY.load(Ordering::Relaxed) {
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
        heavy_or_wait();
        let byte = AtomicU8::new(1);
        let seen = publish_plainly(&byte, 8, &AtomicU8::new(4));
        assert_eq!((byte.into_inner(), seen), (8, 4));
    }
}
