//! One-time initialisation, on a futex word. It has the protocol of `protocol/once_word.rs`.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::protocol::once_word;
use blitz_io::futex::Scope;

use crate::args::{check, null};
use crate::error::{BLITZ_EAGAIN, BLITZ_ETIMEDOUT, Outcome, entry, invalid};
use crate::fiber;
use crate::futex::{wait_on, wake};
use crate::pool::blitz_job;
use crate::time::BLITZ_NEVER;
use crate::wait::Limit;

/// The `state` of a `blitz_once` whose function runs, while no other call waits.
pub const BLITZ_ONCE_RUNNING: u32 = 1;
/// The `state` of a `blitz_once` whose function has run.
pub const BLITZ_ONCE_DONE: u32 = 3;

/// Runs a function once, by value. Initialise it with `BLITZ_ONCE_INIT`, or with zeros. It needs
/// no destruction. Do not copy or move it after its first use. Threads and fibers may use one
/// together. A thread or fiber whose call has returned, or that has seen that the function has run, may
/// free it if no other waits for it. The call that has run the function does not use it any more, even
/// if that call has not returned.
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
    // SAFETY: `once` lives, and no other thread uses it.
    let called = unsafe { blitz_once_call(once, Some(is_running), once.cast()) };
    assert_eq!(called, 0);
    // SAFETY: `once` lives, and no other thread uses it.
    assert_eq!(unsafe { (*once).state }, BLITZ_ONCE_DONE);
    // SAFETY: `once` lives, and no other thread uses it.
    assert!(unsafe { blitz_once_is_done(once) });
}

/// Calls `function(argument)` in the calling thread or fiber, if no call has done so yet. If
/// another call is doing it, suspends the calling fiber, or blocks the calling thread, until that
/// has ended. The effects of the function are visible after this call. The function may wait. A function
/// that calls this with the same `once` waits for ever.
///
/// Returns `BLITZ_OK`, or `BLITZ_EINVAL` if `once` or `function` is NULL.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_once_call(
    once: *mut blitz_once,
    function: blitz_job,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: by this function's contract.
    unsafe { blitz_once_call_until(once, function, argument, BLITZ_NEVER) }
}

/// Calls `function(argument)` as `blitz_once_call` does. If another call is doing it, waits until
/// `deadline_ns` at most (nanoseconds of `blitz_now_ns`).
///
/// Returns what `blitz_once_call` returns, or `BLITZ_ETIMEDOUT` if the other call has not ended.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_once_call_until(
    once: *mut blitz_once,
    function: blitz_job,
    argument: *mut c_void,
    deadline_ns: u64,
) -> c_int {
    entry(|| {
        let mut limit = None;
        let wait = |word: &AtomicU32, running| {
            let limit = *limit.get_or_insert_with(|| Limit::at(deadline_ns));
            wait_for_end(word, running, limit)
        };
        call(once, function, argument, wait, BLITZ_ETIMEDOUT)
    })
}

/// Calls `function(argument)` as `blitz_once_call` does, unless another call is doing it. Does not
/// wait, but the function may.
///
/// Returns what `blitz_once_call` returns, or `BLITZ_EAGAIN` if another call is doing it.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_once_try_call(
    once: *mut blitz_once,
    function: blitz_job,
    argument: *mut c_void,
) -> c_int {
    entry(|| call(once, function, argument, |_, _| false, BLITZ_EAGAIN))
}

/// Returns `given_up` if `wait` ends the wait for another call.
#[inline]
fn call(
    once: *mut blitz_once,
    function: blitz_job,
    argument: *mut c_void,
    wait: impl FnMut(&AtomicU32, u32) -> bool,
    given_up: c_int,
) -> Outcome {
    let word = word(once)?;
    let function = function.ok_or_else(null)?;
    let wake = |word: *const AtomicU32| {
        // Every system has a futex for one process.
        let _woken = wake(word.cast(), usize::MAX, Scope::Private);
    };
    if once_word::call(word, || function(argument), wait, wake) {
        Ok(())
    } else {
        Err(given_up)
    }
}

/// The word of a once. Memory that is none of them is `BLITZ_EINVAL`.
#[inline]
fn word<'a>(once: *const blitz_once) -> Outcome<&'a AtomicU32> {
    check(once)?;
    // SAFETY: rule 1. `state` is the first field, and this crate uses it atomically only.
    let word: &AtomicU32 = unsafe { AtomicU32::from_ptr(once.cast_mut().cast()) };
    if word.load(Ordering::Relaxed) <= once_word::DONE {
        Ok(word)
    } else {
        Err(invalid("the object was never initialised"))
    }
}

/// Waits for the end of another call, also in a fiber that is cancelled. Returns false at the limit.
fn wait_for_end(word: &AtomicU32, running: u32, limit: Limit) -> bool {
    // After a wake-up or a change of the word, the caller reads the word again.
    let wait = || wait_on(word, running, Scope::Private, limit) != Err(BLITZ_ETIMEDOUT);
    fiber::with_current(|fiber| match fiber {
        Some(fiber) => {
            fiber.mask(true);
            let goes_on = wait();
            fiber.mask(false);
            goes_on
        }
        None => wait(),
    })
}

/// Returns true if the function has run. Its effects are then visible. False if `once` is NULL.
/// Does not wait.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_once_is_done(once: *const blitz_once) -> bool {
    crate::error::entry_or(false, || word(once).is_ok_and(once_word::is_done))
}
