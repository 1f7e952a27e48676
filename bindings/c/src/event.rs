//! An event: a flag that threads and fibers wait for.
//!
//! # No event is lost
//!
//! 1. A setter stores the flag, then notifies.
//! 2. A waiter joins the queue of the `Notify`, then reads the flag, then sleeps.
//! 3. Notifying and joining take the lock of the queue, or exchange the state of the `Notify`. If
//!    the waiter joined first, the notification finds it. If the notification came first, joining
//!    reads from it, so the waiter sees the flag. With a manual reset the call of `notify_waiters`
//!    has no effect without waiters; then the sequentially consistent flag decides: either the
//!    waiter reads it, or the setter stored it after the waiter had joined, and finds the waiter.
//! 4. A waiter that was chosen and leaves passes its notification on (`Notify`). One that finds
//!    the flag of an automatic event taken waits again: another waiter went on in its place.

use std::ffi::c_int;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering, fence};

use blitz_io::sync::Notify;

use crate::error::{BLITZ_EAGAIN, Outcome, entry};
use crate::storage::Storage;
use crate::time::BLITZ_NEVER;
use crate::wait::{self, Limit};

/// An event stays set until it is reset, and lets all waiters go.
pub const BLITZ_EVENT_MANUAL: u32 = 0;
/// An event is reset by the one waiter that it lets go.
pub const BLITZ_EVENT_AUTO: u32 = 1;

/// An event, by value. Initialise it with `BLITZ_EVENT_INIT(BLITZ_EVENT_MANUAL)` or
/// `BLITZ_EVENT_INIT(BLITZ_EVENT_AUTO)`; zeros, and another mode, are a manual event. It begins
/// unset. It needs no destruction. Do not copy or move it after its first use. Threads and fibers
/// may use one event together.
#[repr(C)]
pub struct blitz_event {
    state: u32,
    config: u32,
    space: [u64; 9],
}

pub(crate) struct Event {
    is_set: AtomicBool,
    is_auto: bool,
    set: Notify,
}

// SAFETY: the fields are as required.
unsafe impl Storage for blitz_event {
    type Primitive = Event;

    fn new(mode: u32) -> Event {
        Event {
            is_set: AtomicBool::new(false),
            is_auto: mode == BLITZ_EVENT_AUTO,
            set: Notify::const_new(),
        }
    }
}

impl Event {
    fn take(&self) -> bool {
        if self.is_auto {
            self.is_set.load(Ordering::Relaxed) && self.is_set.swap(false, Ordering::SeqCst)
        } else {
            self.is_set.load(Ordering::SeqCst)
        }
    }

    fn set(&self) {
        self.is_set.store(true, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        if self.is_auto {
            self.set.notify_one();
        } else {
            self.set.notify_waiters();
        }
    }

    #[cold]
    fn wait(&self, limit: Limit) -> Outcome {
        loop {
            let mut notified = pin!(self.set.notified());
            let _is_notified = notified.as_mut().enable();
            fence(Ordering::SeqCst);
            if self.take() {
                return Ok(());
            }
            wait::on(notified, limit)?;
            if self.take() {
                return Ok(());
            }
        }
    }
}

fn wait_until(event: *mut blitz_event, deadline_ns: u64) -> Outcome {
    let event = blitz_event::of(event)?;
    if event.take() {
        Ok(())
    } else {
        event.wait(Limit::at(deadline_ns))
    }
}

/// Sets an event. Lets all waiters go if its reset is manual, else one, or the next that comes.
/// Does not wait.
///
/// Returns `BLITZ_OK`, or `BLITZ_EINVAL` if `event` is NULL.
#[unsafe(no_mangle)]
pub extern "C" fn blitz_event_set(event: *mut blitz_event) -> c_int {
    entry(|| {
        blitz_event::of(event)?.set();
        Ok(())
    })
}

/// Resets an event. Does not wait.
///
/// Returns `BLITZ_OK`, or `BLITZ_EINVAL` if `event` is NULL.
#[unsafe(no_mangle)]
pub extern "C" fn blitz_event_reset(event: *mut blitz_event) -> c_int {
    entry(|| {
        blitz_event::of(event)?
            .is_set
            .store(false, Ordering::SeqCst);
        Ok(())
    })
}

/// Waits until an event is set. Suspends the calling fiber, or blocks the calling thread.
///
/// Returns `BLITZ_OK`; `BLITZ_ECANCELED` in a fiber that is cancelled; or `BLITZ_EINVAL` if
/// `event` is NULL.
#[unsafe(no_mangle)]
pub extern "C" fn blitz_event_wait(event: *mut blitz_event) -> c_int {
    entry(|| wait_until(event, BLITZ_NEVER))
}

/// Waits until an event is set, or `deadline_ns` at most (nanoseconds of `blitz_now_ns`).
///
/// Returns what `blitz_event_wait` returns, or `BLITZ_ETIMEDOUT`.
#[unsafe(no_mangle)]
pub extern "C" fn blitz_event_wait_until(event: *mut blitz_event, deadline_ns: u64) -> c_int {
    entry(|| wait_until(event, deadline_ns))
}

/// Returns `BLITZ_OK` if an event is set, and resets it if its reset is automatic; `BLITZ_EAGAIN`
/// if it is not set; `BLITZ_EINVAL` if `event` is NULL. Does not wait.
#[unsafe(no_mangle)]
pub extern "C" fn blitz_event_try_wait(event: *mut blitz_event) -> c_int {
    entry(|| {
        if blitz_event::of(event)?.take() {
            Ok(())
        } else {
            Err(BLITZ_EAGAIN)
        }
    })
}
