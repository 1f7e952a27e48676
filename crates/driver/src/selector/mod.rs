//! What the system offers to wait for many sources at once: mio's poll, or a model of it.

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

/// What a poll reports.
pub enum Report {
    /// The source with this token is ready for something.
    Source(usize, Bits),
    /// Somebody has called.
    Wake,
}
