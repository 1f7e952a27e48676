//! The simulated network of a run, if this crate has sockets.

#[cfg(feature = "net")]
pub(super) use blitz_io_net::simulation::{deliver, next_due};

#[cfg(not(feature = "net"))]
pub(super) use none::{deliver, next_due};

#[cfg(not(feature = "net"))]
mod none {
    use std::time::Duration;

    pub(in crate::sim) fn next_due() -> Option<Duration> {
        None
    }

    pub(in crate::sim) fn deliver() {}
}
