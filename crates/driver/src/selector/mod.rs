//! The system's facility to wait for many sources at once: mio's poll, or a model of it.

#[cfg(loom)]
mod model;
#[cfg(not(loom))]
mod system;
#[cfg(any(timer, loom))]
mod timer;
#[cfg(timer)]
mod timer_descriptor;

#[cfg(loom)]
pub use model::{Registry, Selector, Source};
#[cfg(not(loom))]
pub use system::{Registry, Selector};

use crate::bits::Bits;

/// A report of a poll.
pub enum Report {
    /// The source with this token is ready for something.
    Source(usize, Bits),
    /// Another thread has requested a wake-up.
    Wake,
}
