//! The network of a simulation: hosts, the links between them, and their sockets.
//!
//! `blitz_io::sim` makes a network for each run. It belongs to the thread of the run. The public functions here are those
//! for hosts and links; programs use the sockets through the types of this crate (`sockets/`).
//!
//! | file | contents |
//! |---|---|
//! | `link.rs` | latency and faults of a link |
//! | `wire.rs` | hosts, ports, paths, and the events under way |
//! | `tcp.rs`, `udp.rs` | the protocols |
//! | `notes.rs` | sentences for reports |
//! | `open.rs` | the sockets that the program has not closed |
//! | `network.rs` | all of it together |
//! | `socket.rs` | the handle of a socket, and the network of the thread |
//!
//! # Readiness
//!
//! A simulated socket is registered with a driver that no thread polls. When the network makes it ready, it reports that to
//! the driver as the selector does for the system's sockets. So waiting, and all that is built on it, is the code that
//! ships.

mod ids;
mod link;
mod network;
mod notes;
mod open;
mod socket;
mod tcp;
mod udp;
mod wire;

use std::net::IpAddr;
use std::time::Duration;

pub use link::Link;
pub use open::OpenSocket;
pub use socket::{Entered, enter};
pub(crate) use socket::{Socket, bind_udp, connect, driver, is_on, listen};

/// Adds a host, and returns its number.
#[must_use]
pub fn add_host(name: &str) -> u32 {
    socket::with(|network| network.wire.add_host(name)).unwrap_or(0)
}

/// Returns the host of this name.
#[must_use]
pub fn find(name: &str) -> Option<u32> {
    socket::with(|network| network.wire.find(name)).flatten()
}

/// Returns the message that there is no host of this name, and which there are.
#[must_use]
pub fn no_such_host(name: &str) -> String {
    /// The number of names in a message.
    const NAMES: usize = 16;
    socket::with(|network| {
        let names = network.wire.names();
        let more = names.len().saturating_sub(NAMES);
        let mut names: Vec<String> = names.take(NAMES).map(|name| format!("`{name}`")).collect();
        if more > 0 {
            names.push(format!("{more} more"));
        }
        format!("there is no host `{name}`, only {}", names.join(", "))
    })
    .unwrap_or_default()
}

/// Returns the address of a host.
#[must_use]
pub fn address(host: u32) -> IpAddr {
    wire::address_of(host)
}

/// Returns the sockets that the program has opened and not dropped, without those of [programs that have
/// ended](forget_sockets).
#[must_use]
pub fn open_sockets() -> Vec<OpenSocket> {
    socket::with_used(|network| network.open.all()).unwrap_or_default()
}

/// A host's program has ended: its system has closed the sockets, also those that were never dropped.
pub fn forget_sockets(host: u32) {
    socket::with_used(|network| network.open.remove_all(host));
}

/// Ends all sockets of a host. If its power is off, no peer learns of that; otherwise its system resets the connections.
pub fn stop(host: u32, is_off: bool) {
    socket::with(|network| network.stop(host, is_off));
}

/// Switches the power of a host on.
pub fn start(host: u32) {
    socket::with(|network| network.start(host));
}

/// Cuts the path from one host to another, or opens it.
pub fn set_cut(from: u32, to: u32, is_cut: bool) {
    socket::with(|network| network.set_cut(from, to, is_cut));
}

/// Sets the link from one host to another.
pub fn set_link(from: u32, to: u32, link: Link) {
    socket::with(|network| network.wire.set_link(from, to, link));
}

/// Sets all links.
pub fn set_all_links(link: Link) {
    socket::with(|network| network.wire.set_all_links(link));
}

/// Returns the paths from one host to another that are cut.
#[must_use]
pub fn cut_paths() -> Vec<(u32, u32)> {
    socket::with_used(|network| network.wire.cut_paths()).unwrap_or_default()
}

/// Returns the time until the network's next event. Called between steps of tasks.
#[must_use]
pub fn next_due() -> Option<Duration> {
    socket::with_used(|network| network.wire.next_due()).flatten()
}

/// Handles the events whose time has come. Called between steps of tasks.
pub fn deliver() {
    socket::with_used(|network| network.deliver());
}
