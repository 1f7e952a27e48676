//! The model checker: both sides fence for themselves.

use blitz_futex::atomic::{AtomicU8, Ordering, fence};

use crate::mutant::{Mutant, active};

/// Stores `value`, with a fence before any later load.
pub(crate) fn publish(byte: &AtomicU8, value: u8) {
    byte.store(value, Ordering::Release);
    if !active(Mutant::NoLightFence) {
        fence(Ordering::SeqCst);
    }
}

/// Orders everything before it before everything after it.
pub(crate) fn heavy() {
    if !active(Mutant::NoHeavyFence) {
        fence(Ordering::SeqCst);
    }
}

/// How the fence is paid for.
pub(crate) fn way() -> &'static str {
    "loom's fences"
}
