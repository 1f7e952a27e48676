//! A condition variable, built on a `Notify`.
//!
//! No notification is lost. A waiter is in the queue of the `Notify` before it unlocks the mutex. So
//! a thread that changes the condition under the mutex, and notifies afterwards, finds the waiter
//! there. `notify_one` without a waiter stores a notification. A waiter takes a stored notification
//! out before it joins the queue, or it returns early, which the contract allows.

use std::ffi::c_int;
use std::pin::pin;

use blitz_io::sync::Notify;

use crate::error::{Outcome, entry};
use crate::mutex::{blitz_mutex, take_masked, unlock};
use crate::storage::Storage;
use crate::wait::{self, Limit};

/// A condition variable, by value, for `blitz_mutex`. Initialise it with `BLITZ_CONDVAR_INIT`, or
/// with zeros. It needs no destruction. Do not copy or move it after its first use. Threads and
/// fibers may use one together. Free it when all calls with it have returned. (One that notifies while it
/// has the mutex has returned when a waiter gets the mutex.)
#[repr(C)]
pub struct blitz_condvar {
    state: u32,
    config: u32,
    space: [u64; 9],
}

// SAFETY: the fields are as required.
unsafe impl Storage for blitz_condvar {
    type Primitive = Notify;

    fn new(_: u32) -> Notify {
        Notify::const_new()
    }
}

fn wait_until(condvar: *mut blitz_condvar, mutex: *mut blitz_mutex, deadline_ns: u64) -> Outcome {
    let condvar = blitz_condvar::of(condvar)?;
    let mutex = blitz_mutex::of(mutex)?;
    let mut notified = pin!(condvar.notified());
    // A stored notification, which no waiter took, is not for this waiter.
    if notified.as_mut().enable() {
        notified.set(condvar.notified());
        let _early = notified.as_mut().enable();
    }
    unlock(mutex)?;
    let waited = wait::on(notified, Limit::at(deadline_ns));
    take_masked(mutex, 1, Limit::Never)?;
    waited
}

/// Unlocks the mutex, waits for a notification, and locks the mutex again, also if this fails
/// (except for `BLITZ_EINVAL`). It may return without a notification: check the condition in a
/// loop.
///
/// Returns `BLITZ_OK`; `BLITZ_ECANCELED` in a fiber that is cancelled; `BLITZ_EINVAL` if an
/// argument is NULL or the mutex is not locked.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_condvar_wait(
    condvar: *mut blitz_condvar,
    mutex: *mut blitz_mutex,
) -> c_int {
    entry(|| wait_until(condvar, mutex, crate::time::BLITZ_NEVER))
}

/// Waits as `blitz_condvar_wait` does, but until `deadline_ns` at most (nanoseconds of
/// `blitz_now_ns`). The mutex is locked afterwards also if the deadline has passed.
///
/// Returns what `blitz_condvar_wait` returns, or `BLITZ_ETIMEDOUT`.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_condvar_wait_until(
    condvar: *mut blitz_condvar,
    mutex: *mut blitz_mutex,
    deadline_ns: u64,
) -> c_int {
    entry(|| wait_until(condvar, mutex, deadline_ns))
}

/// Wakes one thread or fiber that waits, the first that came. Does not wait.
///
/// Returns `BLITZ_OK`, or `BLITZ_EINVAL` if `condvar` is NULL.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_condvar_notify_one(condvar: *mut blitz_condvar) -> c_int {
    entry(|| {
        blitz_condvar::of(condvar)?.notify_one();
        Ok(())
    })
}

/// Wakes all threads and fibers that wait. Does not wait.
///
/// Returns `BLITZ_OK`, or `BLITZ_EINVAL` if `condvar` is NULL.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_condvar_notify_all(condvar: *mut blitz_condvar) -> c_int {
    entry(|| {
        blitz_condvar::of(condvar)?.notify_waiters();
        Ok(())
    })
}
