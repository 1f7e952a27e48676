//! Timers: the wheels that hold them, and the clock that drives the wheels.

#[cfg(not(loom))]
mod clock;
#[cfg(not(loom))]
pub(crate) mod ticks;
pub(crate) mod wheel;
#[cfg(not(loom))]
mod wheels;

#[cfg(not(loom))]
pub(crate) use clock::{Clock, is_any_altered};
#[cfg(not(loom))]
pub(crate) use wheels::{Attached, Wheels, attached, detach};
