//! One-time initialisation, on a futex word.
//!
//! # Protocol
//!
//! `state` is the word.
//!
//! 1. The call that changes the word from [`NEW`] to [`RUNNING`] runs the function.
//! 2. Another call that finds `RUNNING` changes it to [`AWAITED`], and sleeps while the word is that.
//! 3. When the function has ended, its call exchanges the word for [`DONE`]. If the word was `AWAITED`
//!    before, it wakes all sleepers.
//!
//! **No wake-up is lost.** A call sleeps only on the value `AWAITED`. The exchange of step 3 either
//! finds that value, and wakes; or it came before step 2, which then fails and finds `DONE`. A sleeper
//! that the wake misses has not compared the word yet, and finds it changed (`futex`,
//! `fibers_on_words`).
//!
//! The exchange of step 3 is the last use of the word: another call may see `DONE` and free it. A wake
//! uses the address only.
//!
//! `DONE` is stored with release ordering and read with acquire ordering, so what the function did is
//! visible to all calls that return.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU32, Ordering};

use blitz_io::futex::Scope;

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

/// No call has been made.
const NEW: u32 = 0;
/// A call runs the function.
const RUNNING: u32 = 1;
/// A call runs the function, and others may sleep on the word.
const AWAITED: u32 = 2;
/// The function has ended.
const DONE: u32 = 3;

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
        // A load costs little; a failed compare-exchange costs as much as one that succeeds.
        if word.load(Ordering::Acquire) == DONE {
            return Ok(());
        }
        if exchange(word, NEW, RUNNING).is_err() {
            wait_for_end(word);
            return Ok(());
        }
        function(argument);
        let address = word.as_ptr();
        if word.swap(DONE, Ordering::Release) == AWAITED {
            // Every system has a futex for one process.
            let _woken = wake(address, usize::MAX, Scope::Private);
        }
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

#[inline]
fn exchange(word: &AtomicU32, from: u32, to: u32) -> Result<u32, u32> {
    word.compare_exchange(from, to, Ordering::Acquire, Ordering::Acquire)
}

/// Waits for the end of another call, also in a fiber that is cancelled.
#[cold]
fn wait_for_end(word: &AtomicU32) {
    let wait = || {
        while !matches!(exchange(word, RUNNING, AWAITED), Err(DONE)) {
            // Whether it was woken or the word changed, the loop looks again.
            let _ended = wait_on(word, AWAITED, Scope::Private, Limit::Never);
        }
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
    crate::error::entry_or(false, || {
        word(once).is_ok_and(|word| word.load(Ordering::Acquire) == DONE)
    })
}
