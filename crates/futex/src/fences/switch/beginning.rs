//! The state, and the beginning of the switch.

use super::{LIGHT, STRONG, change};
use crate::atomic::{AtomicU8, Ordering};

pub const UNKNOWN: u8 = 0;
pub const REGISTERING: u8 = 1;

pub static STATE: AtomicU8 = AtomicU8::new(UNKNOWN);

/// Returns the present state.
pub fn state() -> u8 {
    STATE.load(Ordering::Acquire)
}

/// Rows F1 and F2. Leaves `UNKNOWN`: asks the system for its barrier. Only one thread does.
#[cold]
pub fn register(system_agrees: fn() -> bool) {
    if change(UNKNOWN, REGISTERING) {
        let state = if system_agrees() { LIGHT } else { STRONG };
        STATE.store(state, Ordering::SeqCst);
    }
}
