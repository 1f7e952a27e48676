//! Timers: the wheels that they wait in, and the clock that these follow.

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
