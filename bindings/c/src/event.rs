//! An event: a flag that threads and fibers wait for, on a futex word. It has the protocol of
//! `protocol/event_word.rs`.

use std::ffi::c_int;
use std::sync::atomic::AtomicU32;

use crate::protocol::event_word::{auto, manual, try_take};
use blitz_io::futex::Scope;
use blitz_io_core::{Spin, deadline};

use crate::error::{BLITZ_EAGAIN, Outcome, entry, invalid};
use crate::futex::{sleep_on, wake};
use crate::storage::words;
use crate::time::BLITZ_NEVER;
use crate::wait::{Limit, is_fiber};

/// An event stays set until it is reset, and lets all waiters go.
pub const BLITZ_EVENT_MANUAL: u32 = 0;
/// An event is reset by the one waiter that it lets go.
pub const BLITZ_EVENT_AUTO: u32 = 1;

/// An event, by value. Initialise it with `BLITZ_EVENT_INIT(BLITZ_EVENT_MANUAL)` or
/// `BLITZ_EVENT_INIT(BLITZ_EVENT_AUTO)`; zeros are a manual event, and another mode gives
/// `BLITZ_EINVAL`. It begins unset. It needs no destruction. Do not copy or move it after its first
/// use. Threads and fibers may use one event together.
///
/// A thread or fiber that has seen that the event is set, in `blitz_event_wait` or
/// `blitz_event_try_wait`, may free the event if no other waits for it. The `blitz_event_set` that has
/// set the event does not use it any more, even if this call has not returned.
#[repr(C)]
pub struct blitz_event {
    state: u32,
    config: u32,
    space: [u64; 9],
}

/// Returns the word, and `true` if the reset is automatic.
#[inline]
fn parts<'a>(event: *const blitz_event) -> Outcome<(&'a AtomicU32, bool)> {
    match words(event.cast())? {
        (word, BLITZ_EVENT_MANUAL) => Ok((word, false)),
        (word, BLITZ_EVENT_AUTO) => Ok((word, true)),
        _ => Err(invalid("the event was never initialised")),
    }
}

fn wait_until(event: *mut blitz_event, deadline_ns: u64) -> Outcome {
    let (word, is_auto) = parts(event)?;
    if try_take(word, is_auto) {
        Ok(())
    } else {
        wait(word, is_auto, Limit::at(deadline_ns))
    }
}

#[cold]
fn wait(word: &AtomicU32, is_auto: bool, limit: Limit) -> Outcome {
    let take = || try_take(word, is_auto);
    if !is_fiber() && deadline::spin_until(Spin::EVENT, limit.deadline(), take) {
        return Ok(());
    }
    let sleep = |word: &AtomicU32, state| sleep_on(word, state, limit);
    if is_auto {
        auto::wait(word, sleep)
    } else {
        manual::wait(word, sleep)
    }
}

/// Wakes up to `n` threads and fibers. Every system has a futex for one process.
fn wake_up_to(n: usize) -> impl FnOnce(*const AtomicU32) {
    move |word| _ = wake(word.cast(), n, Scope::Private)
}

/// Sets an event. Lets all waiters go if its reset is manual, even if the event is reset at once;
/// else one, or the next that comes. To set an event that is set already changes nothing. Does not
/// wait. This may still run when a thread or fiber that it has let go has freed the event.
///
/// Returns `BLITZ_OK`, or `BLITZ_EINVAL` if `event` is NULL.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_event_set(event: *mut blitz_event) -> c_int {
    entry(|| {
        match parts(event)? {
            (word, false) => manual::set(word, wake_up_to(usize::MAX)),
            (word, true) => auto::set(word, wake_up_to(1)),
        }
        Ok(())
    })
}

/// Resets an event. Does not wait.
///
/// Returns `BLITZ_OK`, or `BLITZ_EINVAL` if `event` is NULL.
#[doc = safety!()]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_event_reset(event: *mut blitz_event) -> c_int {
    entry(|| {
        match parts(event)? {
            (word, false) => manual::reset(word),
            (word, true) => _ = auto::take(word),
        }
        Ok(())
    })
}

/// Waits until an event is set. Suspends the calling fiber, or blocks the calling thread.
///
/// Returns `BLITZ_OK`; `BLITZ_ECANCELED` in a fiber that is cancelled; or `BLITZ_EINVAL` if
/// `event` is NULL.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_event_wait(event: *mut blitz_event) -> c_int {
    entry(|| wait_until(event, BLITZ_NEVER))
}

/// Waits until an event is set, or `deadline_ns` at most (nanoseconds of `blitz_now_ns`).
///
/// Returns what `blitz_event_wait` returns, or `BLITZ_ETIMEDOUT`.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_event_wait_until(
    event: *mut blitz_event,
    deadline_ns: u64,
) -> c_int {
    entry(|| wait_until(event, deadline_ns))
}

/// Returns `BLITZ_OK` if an event is set, and resets it if its reset is automatic; `BLITZ_EAGAIN`
/// if it is not set; `BLITZ_EINVAL` if `event` is NULL. Does not wait.
#[doc = safety!()]
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blitz_event_try_wait(event: *mut blitz_event) -> c_int {
    entry(|| {
        let (word, is_auto) = parts(event)?;
        if try_take(word, is_auto) {
            Ok(())
        } else {
            Err(BLITZ_EAGAIN)
        }
    })
}
