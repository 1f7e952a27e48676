//! What timers ask about the thread that they are on.

use std::ptr;

use crate::context;
use crate::errors::NO_RUNTIME;
use crate::scheduler::{self, multi_thread};
use crate::timers::wheel::Wheel;
use crate::timers::{Clock, Wheels, attached};

const DISABLED: &str = "A Tokio 1.x context was found, but timers are disabled. Call \
     `enable_time` on the runtime builder to enable timers.";

/// The wheel of the worker that this thread is, for a timer that is started in it.
#[inline]
pub(super) fn own_wheel() -> Option<&'static Wheel> {
    let wheel = context::with(attached);
    if wheel.is_some() {
        multi_thread::event_expected();
    }
    wheel
}

/// A wheel of the current runtime.
///
/// # Panics
///
/// If there is no current runtime, or it has no timers.
#[inline]
#[track_caller]
pub(super) fn wheel() -> &'static Wheel {
    let own = context::with(|context| {
        let is_current = ptr::eq(context.worker_of.get(), context.current.get().shared);
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

/// Gives the clock of the current runtime to `with`, if there is one.
pub(super) fn with_clock<R>(with: impl FnOnce(Option<&Clock>) -> R) -> R {
    let mut with = Some(with);
    let result = scheduler::with_current(|current| {
        let with = with.take()?;
        Some(with(Some(&current.common().clock)))
    });
    match (result, with) {
        (Ok(Some(result)), _) => result,
        (_, Some(with)) => with(None),
        (_, None) => unreachable!("what was called has given a result"),
    }
}

/// Fires what is due in the current runtime, whose clock has been moved.
pub(super) fn turn_all() {
    let turn = |wheels: &Wheels| wheels.turn_all();
    _ = scheduler::with_current(|current| current.common().time.as_ref().map(turn));
}
