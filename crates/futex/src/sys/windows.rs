//! Windows: `WaitOnAddress` and its wakes.
//!
//! They are calls of the process's own libraries, so a word cannot be shared with another
//! process, and a wake does not report how many threads it woke. The comparison happens
//! inside `WaitOnAddress`, which does not report that it found another value. Timeouts are
//! milliseconds: they are rounded up, and long ones are slept in parts.

use std::time::{Duration, Instant};

use windows_sys::Win32::System::Threading::{
    INFINITE, WaitOnAddress, WakeByAddressAll, WakeByAddressSingle,
};

use crate::atomic::AtomicU32;
use crate::word::Word;
use crate::{Scope, WaitAny, WaitResult};

#[path = "any.rs"]
mod any;
#[path = "groupless.rs"]
mod groupless;
#[path = "relative.rs"]
mod relative;

pub(crate) use groupless::{wait_in_group, wake_group};

pub(crate) const COUNTS_WAKES: bool = false;

/// A wake of at least this many threads wakes all: no process has as many threads.
const ALL: usize = 1 << 20;

pub(crate) fn name() -> &'static str {
    "WaitOnAddress"
}

pub(crate) fn supports_shared() -> bool {
    false
}

pub(crate) fn has_wait_any() -> bool {
    false
}

pub(crate) fn wait_any(
    words: &[(&AtomicU32, u32)],
    deadline: Option<Instant>,
    scope: Scope,
) -> WaitAny {
    any::wait_any(words, deadline, scope)
}

pub(crate) fn wait<W: Word>(
    word: &W,
    expected: u32,
    deadline: Option<Instant>,
    _scope: Scope,
) -> WaitResult {
    let address = word.address();
    relative::wait(word, expected, deadline, |left| {
        let timeout = left.map_or(INFINITE, milliseconds);
        // SAFETY: `word` is borrowed, so its four bytes can be read during the
        // call, and so can those of `expected`.
        let returned = unsafe {
            WaitOnAddress(
                address.cast(),
                (&raw const expected).cast(),
                size_of::<u32>(),
                timeout,
            )
        };
        // It fails only when the timeout passes.
        returned != 0
    })
}

pub(crate) fn wake(address: *const (), n: usize, scope: Scope) -> usize {
    any::wake_before(address, n, scope, |n| {
        if n >= ALL {
            // SAFETY: a wake uses nothing but the address.
            unsafe { WakeByAddressAll(address.cast()) };
        } else {
            for _ in 0..n {
                // SAFETY: a wake uses nothing but the address.
                unsafe { WakeByAddressSingle(address.cast()) };
            }
        }
        0 // known to have been woken
    })
}

/// Returns the timeout in milliseconds, rounded up, and never `INFINITE`.
fn milliseconds(timeout: Duration) -> u32 {
    let millis = timeout.as_nanos().div_ceil(1_000_000);
    u32::try_from(millis).unwrap_or(INFINITE).min(INFINITE - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_are_rounded_up_and_stay_finite() {
        assert_eq!(milliseconds(Duration::from_nanos(1)), 1);
        assert_eq!(milliseconds(Duration::from_millis(7)), 7);
        assert_eq!(milliseconds(Duration::from_micros(7001)), 8);
        assert_eq!(milliseconds(Duration::MAX), INFINITE - 1);
    }
}
