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

/// The `state` of a `blitz_once` whose function runs, while no other call waits.
pub const BLITZ_ONCE_RUNNING: u32 = 1;
/// The `state` of a `blitz_once` whose function has run.
pub const BLITZ_ONCE_DONE: u32 = 3;

/// Runs a function once, by value. Initialise it with `BLITZ_ONCE_INIT`, or with zeros. It needs
/// no destruction. Do not copy or move it after its first use. Threads and fibers may use one
/// together.
///
/// A program may do without a call, in inline functions. If `state`, read with acquire ordering, is
/// `BLITZ_ONCE_DONE`, the function has run. A compare-exchange from 0 to `BLITZ_ONCE_RUNNING`, with
/// acquire ordering, lets the program do the work itself. After that it exchanges `state` for
/// `BLITZ_ONCE_DONE`, with release ordering; if the former value is not `BLITZ_ONCE_RUNNING`, it wakes
/// all that wait, with `blitz_futex_wake_all(&state, BLITZ_FUTEX_PRIVATE)`. If the
/// compare-exchange fails, `blitz_once_call` waits for the other call.
#[repr(C)]
pub struct blitz_once {
    state: u32,
    config: u32,
    space: [u64; 9],
}

#[test]
fn the_word_of_a_once_is_as_documented() {
    extern "C" fn is_running(state: *mut c_void) {
        let state: *mut u32 = state.cast();
        // SAFETY: the test passes the address of `state`, and no other thread uses it.
        assert_eq!(unsafe { state.read() }, BLITZ_ONCE_RUNNING);
    }
    let mut once = blitz_once {
        state: 0,
        config: 0,
        space: [0; 9],
    };
    let once: *mut blitz_once = &mut once;
    assert_eq!(blitz_once_call(once, Some(is_running), once.cast()), 0);
    // SAFETY: `once` lives, and no other thread uses it.
    assert_eq!(unsafe { (*once).state }, BLITZ_ONCE_DONE);
    assert!(blitz_once_is_done(once));
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
