//! The wheel and the clock of the thread's current runtime.

use std::ptr;
use std::sync::Arc;

use blitz_io_observe::decisions;

use crate::api::errors::NO_RUNTIME;
use crate::api::scheduler::{self, multi_thread};
use crate::api::timers::{Clock, Wheels, attached};
use crate::kernel::context;
use crate::kernel::wheel::Wheel;

const DISABLED: &str = "A Tokio 1.x context was found, but timers are disabled. Call \
     `enable_time` on the runtime builder to enable timers.";

/// Returns the wheel of the worker that this thread is, to start a timer in it.
#[inline]
pub(super) fn own_wheel() -> Option<&'static Wheel> {
    let wheel = context::with(attached);
    if wheel.is_some() {
        multi_thread::timer_expected();
    }
    wheel
}

/// Returns a wheel of the current runtime.
///
/// # Panics
///
/// If there is no current runtime, or it has no timers.
#[inline]
#[track_caller]
pub(super) fn wheel() -> &'static Wheel {
    let own = context::with(|context| {
        let is_current = ptr::eq(context.worker_of.get().shared, context.current.get().shared);
        if is_current { attached(context) } else { None }
    });
    match own {
        Some(wheel) => wheel,
        None => wheel_elsewhere(),
    }
}

#[cold]
#[track_caller]
fn wheel_elsewhere() -> &'static Wheel {
    let wheel =
        scheduler::with_current(|current| current.common().time.as_ref().map(|t| t.some_wheel()));
    match wheel {
        Ok(Some(wheel)) => wheel,
        Ok(None) => panic!("{DISABLED}"),
        Err(_) => panic!("{NO_RUNTIME}"),
    }
}

/// Returns the clock of the current runtime, if there is one.
pub(super) fn clock() -> Option<Arc<Clock>> {
    scheduler::with_current(|current| current.common().clock.clone()).ok()
}

/// Announces that the clock of the current runtime has moved. The thread that runs the tasks sees that when
/// the caller's task yields; if it is another thread than this one, it may be asleep.
pub(super) fn notice_advance() {
    // A simulation looks at the timers only when it moves the clock itself.
    if context::with(attached).is_none() || decisions::is_on() {
        let turn = |wheels: &Wheels| wheels.turn_if_due(0);
        _ = scheduler::with_current(|current| current.common().time.as_ref().map(turn));
    }
}
