//! Timers: the wheels that hold them, and the clock that drives the wheels.

mod clock;
pub(crate) mod ticks;
mod wheels;

pub(crate) use clock::{Clock, is_any_altered};
pub(crate) use wheels::{Attached, Wheels, attached, detach};
