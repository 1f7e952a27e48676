//! The simulated network of a run, if this crate has sockets.

#[cfg(feature = "net")]
pub(super) use blitz_io_net::simulation::{deliver, next_due};

/// Returns the address of the host of this name.
#[cfg(feature = "net")]
#[allow(dead_code, reason = "where names are the system's")]
pub(super) fn address(name: &str) -> Option<std::net::IpAddr> {
    use blitz_io_net::simulation;
    simulation::find(name).map(simulation::address)
}

#[cfg(not(feature = "net"))]
pub(super) use none::{address, deliver, next_due};

#[cfg(not(feature = "net"))]
mod none {
    use std::net::IpAddr;
    use std::time::Duration;

    #[allow(dead_code, reason = "where names are the system's")]
    pub(in crate::sim) fn address(_: &str) -> Option<IpAddr> {
        None
    }

    pub(in crate::sim) fn next_due() -> Option<Duration> {
        None
    }

    pub(in crate::sim) fn deliver() {}
}
