//! One-time initialisation, on a futex word. The protocol is `blitz_io_sync::once_word`'s.

use std::ffi::{c_int, c_void};
use std::sync::atomic::AtomicU32;

use blitz_io::futex::Scope;
use blitz_io_sync::once_word;

use crate::args::check;
use crate::error::{BLITZ_EINVAL, Outcome, entry};
use crate::fiber;
use crate::futex::{wait_on, wake};
use crate::wait::Limit;

/// Runs a function once, by value. Initialise it with `BLITZ_ONCE_INIT`, or with zeros. It needs
/// no destruction. Do not copy or move it after its first use. Threads and fibers may use one
/// together.
#[repr(C)]
pub struct blitz_once {
    state: u32,
    config: u32,
    space: [u64; 9],
}

/// Calls `function(argument)` in the calling thread or fiber, if no call has done so yet. If
/// another call is doing it, suspends the calling fiber, or blocks the calling thread, until that
/// has ended. What the function did is visible after this call. The function may wait. A function
/// that calls this with the same `once` waits for ever.
///
/// Returns `BLITZ_OK`, or `BLITZ_EINVAL` if `once` or `function` is NULL.
#[unsafe(no_mangle)]
pub extern "C" fn blitz_once_call(
    once: *mut blitz_once,
    function: Option<extern "C" fn(argument: *mut c_void)>,
    argument: *mut c_void,
) -> c_int {
    entry(|| {
        let word = word(once)?;
        let function = function.ok_or(BLITZ_EINVAL)?;
        once_word::call(
            word,
            || function(argument),
            wait_for_end,
            |word| {
                // Every system has a futex for one process.
                let _woken = wake(word.cast(), usize::MAX, Scope::Private);
            },
        );
        Ok(())
    })
}

/// The word of a once.
#[inline]
fn word<'a>(once: *const blitz_once) -> Outcome<&'a AtomicU32> {
    check(once)?;
    // SAFETY: rule 1. `state` is the first field, and this crate uses it atomically only.
    Ok(unsafe { AtomicU32::from_ptr(once.cast_mut().cast()) })
}

/// Waits for the end of another call, also in a fiber that is cancelled.
fn wait_for_end(word: &AtomicU32, running: u32) {
    let wait = || {
        // Whether it was woken or the word changed, the caller looks again.
        let _ended = wait_on(word, running, Scope::Private, Limit::Never);
    };
    fiber::with_current(|fiber| match fiber {
        Some(fiber) => {
            fiber.mask(true);
            wait();
            fiber.mask(false);
        }
        None => wait(),
    });
}

/// Returns whether the function has run. Its effects are visible if so. False if `once` is NULL.
/// Does not wait.
#[unsafe(no_mangle)]
pub extern "C" fn blitz_once_is_done(once: *mut blitz_once) -> bool {
    crate::error::entry_or(false, || word(once).is_ok_and(once_word::is_done))
}
