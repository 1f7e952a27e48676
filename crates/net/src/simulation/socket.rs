//! The network of the thread, and the handle of one of its sockets.

use std::cell::RefCell;
use std::fmt;
use std::io::{self, IoSlice, IoSliceMut};
use std::net::{IpAddr, Shutdown, SocketAddr};
use std::sync::Arc;

use blitz_io_driver::{Driver, waking};
use blitz_io_observe::{Descriptor, decisions};

use super::network::Network;
use super::open::Kind;
use super::wire::{Id, Report};
use super::{ids, notes};

/// The network of a simulation, which the first use makes.
enum Current {
    /// There is no simulation.
    None,
    Unused,
    Used(Box<Network>),
}

thread_local! {
    /// The network of the simulation that this thread runs.
    static CURRENT: RefCell<Current> = const { RefCell::new(Current::None) };
}

/// Ends the network of a run when it is dropped. Sockets that are left find none.
#[must_use]
#[derive(Debug)]
pub struct Entered(());

/// Makes a network for the run that this thread begins.
pub fn enter() -> Entered {
    CURRENT.set(Current::Unused);
    decisions::describe_sockets_by(|id, writes| {
        with_used(|network| network.describe(id, writes)).flatten()
    });
    Entered(())
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(Current::None);
    }
}

/// Returns `true` if the calling code runs in a simulation.
#[inline]
pub(crate) fn is_on() -> bool {
    decisions::is_on()
}

/// Uses the network of the thread, if it has one. Then wakes the tasks whose sockets have become ready.
pub(super) fn with<R>(with: impl FnOnce(&mut Network) -> R) -> Option<R> {
    use_current(true, with)
}

/// Like [`with`], if the network has been used before.
pub(super) fn with_used<R>(with: impl FnOnce(&mut Network) -> R) -> Option<R> {
    use_current(false, with)
}

fn use_current<R>(makes: bool, with: impl FnOnce(&mut Network) -> R) -> Option<R> {
    let used = CURRENT.try_with(|current| {
        let mut current = current.try_borrow_mut().ok()?;
        if makes && matches!(*current, Current::Unused) {
            *current = Current::Used(Box::new(Network::new()));
        }
        let Current::Used(network) = &mut *current else {
            return None;
        };
        let result = with(network);
        let reports = std::mem::take(&mut network.wire.reports);
        Some((result, reports, network.driver.clone()))
    });
    let (result, reports, driver) = used.ok().flatten()?;
    // Wakers run without the borrow.
    if let Some(driver) = driver.filter(|_| !reports.is_empty()) {
        for of_a_reason in reports.chunk_by(|one, other| one.reason == other.reason) {
            report(&driver, of_a_reason);
        }
    }
    Some(result)
}

/// Reports to the driver that sockets have become ready, all for one reason.
fn report(driver: &Driver, reports: &[Report]) {
    let reason = reports.first().and_then(|report| report.reason.as_deref());
    notes::reason(reason);
    waking(|wakers| {
        for report in reports {
            driver.report(report.token, report.bits, wakers);
        }
    });
    if reason.is_some() {
        notes::reason(None);
    }
}

/// Uses the network for an operation.
fn operate<R>(operation: impl FnOnce(&mut Network) -> io::Result<R>) -> io::Result<R> {
    with(operation).unwrap_or_else(|| Err(io::ErrorKind::NotConnected.into()))
}

/// Returns the driver that has the readiness of simulated sockets.
pub(crate) fn driver() -> io::Result<Arc<Driver>> {
    operate(|network| match &network.driver {
        Some(driver) => Ok(driver.clone()),
        None => Ok(network.driver.insert(Driver::new(1, None)?).clone()),
    })
}

/// Begins to connect to an address.
pub(crate) fn connect(bound: Option<SocketAddr>, addr: SocketAddr) -> io::Result<Socket> {
    let (host, id) = (decisions::host(), ids::next());
    operate(|network| {
        let connected = (network.tcp).connect(&mut network.wire, host, bound, addr, id);
        let name = || network.wire.named(addr, host);
        match &connected {
            Ok(_) => notes::task(|| format!("connects to {}", name())),
            Err(error) => notes::failed("connect to", error, name),
        }
        let local = connected?;
        network
            .open
            .add(id, host, Kind::Stream, (local, Some(addr)));
        Ok(Socket(id))
    })
}

/// Makes a socket that accepts connections.
pub(crate) fn listen(addr: SocketAddr) -> io::Result<Socket> {
    let (host, id) = (decisions::host(), ids::next());
    operate(|network| {
        let local = network.tcp.listen(&mut network.wire, host, addr, id)?;
        notes::task(|| format!("listens at port {}", local.port()));
        network.open.add(id, host, Kind::Listener, (local, None));
        Ok(Socket(id))
    })
}

/// Makes a socket for datagrams.
pub(crate) fn bind_udp(addr: SocketAddr) -> io::Result<Socket> {
    let (host, id) = (decisions::host(), ids::next());
    operate(|network| {
        let local = network.udp.bind(&mut network.wire, host, addr, id)?;
        network.open.add(id, host, Kind::Udp, (local, None));
        Ok(Socket(id))
    })
}

/// A socket of the simulated network. It is closed when it is dropped.
///
/// It may be sent to another thread, where it finds no network: each operation fails there.
pub(crate) struct Socket(Id);

impl Socket {
    /// Returns what reports of waits describe it by.
    pub(crate) fn described(&self) -> Descriptor {
        Descriptor::simulated(self.0)
    }

    /// Sets the token under which the socket's driver knows it.
    pub(crate) fn register(&self, token: usize) -> io::Result<()> {
        operate(|network| {
            let is_known =
                network.tcp.register(self.0, token) || network.udp.register(self.0, token);
            if is_known {
                Ok(())
            } else {
                Err(io::ErrorKind::NotConnected.into())
            }
        })
    }

    /// Reports the readiness that a new socket has, once it is registered.
    pub(crate) fn registered(&self) {
        with(|network| network.udp.registered(&mut network.wire, self.0));
    }

    pub(crate) fn read(&self, bufs: &mut [IoSliceMut<'_>], is_peek: bool) -> io::Result<usize> {
        operate(|network| {
            let peer = network.peer(self.0);
            let result = (network.tcp).read(&mut network.wire, self.0, bufs, is_peek);
            if !is_peek {
                notes::read(&result, || notes::name(peer));
            }
            result
        })
    }

    pub(crate) fn write(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        operate(|network| {
            let peer = network.peer(self.0);
            let result = network.tcp.write(&mut network.wire, self.0, bufs);
            notes::written(&result, || notes::name(peer));
            result
        })
    }

    pub(crate) fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        operate(|network| {
            network.tcp.shutdown(&mut network.wire, self.0, how)?;
            if let Some(peer) = network.peer(self.0) {
                notes::task(|| format!("shuts its connection to {peer} down"));
            }
            Ok(())
        })
    }

    pub(crate) fn accept(&self) -> io::Result<(Self, SocketAddr)> {
        let host = decisions::host();
        operate(|network| {
            let (id, local, from) = network.tcp.accept(self.0)?;
            notes::task(|| format!("accepts a connection of {}", network.wire.named(from, host)));
            let addresses = (local, Some(from));
            network.open.add(id, host, Kind::Stream, addresses);
            Ok((Self(id), from))
        })
    }

    pub(crate) fn take_error(&self) -> Option<io::Error> {
        let taken = with(|network| {
            let peer = network.peer(self.0);
            let error = io::Error::from(network.tcp.take_error(self.0)?);
            notes::failed("connect to", &error, || notes::name(peer));
            Some(error)
        });
        taken.flatten()
    }

    pub(crate) fn resets_when_closed(&self) {
        with(|network| network.tcp.resets_when_closed(self.0));
    }

    pub(crate) fn connect_udp(&self, peer: SocketAddr) -> io::Result<()> {
        operate(|network| network.udp.connect(self.0, peer))
    }

    pub(crate) fn join_multicast(&self, group: IpAddr) -> io::Result<()> {
        operate(|network| network.udp.join(self.0, group))
    }

    pub(crate) fn leave_multicast(&self, group: IpAddr) -> io::Result<()> {
        operate(|network| network.udp.leave(self.0, group))
    }

    pub(crate) fn multicast_loop(&self) -> io::Result<bool> {
        operate(|network| network.udp.loops(self.0))
    }

    pub(crate) fn set_multicast_loop(&self, loops: bool) -> io::Result<()> {
        operate(|network| network.udp.set_loops(self.0, loops))
    }

    pub(crate) fn send(&self, bytes: &[u8], to: Option<SocketAddr>) -> io::Result<usize> {
        operate(|network| network.udp.send(&mut network.wire, self.0, bytes, to))
    }

    pub(crate) fn receive(&self, buf: &mut [u8], is_peek: bool) -> io::Result<(usize, SocketAddr)> {
        operate(|network| {
            let received = network.udp.receive(self.0, buf, is_peek)?;
            if !is_peek {
                let (n, from) = received;
                notes::task(|| {
                    let from = network.wire.named(from, decisions::host());
                    format!("receives a datagram of {from}, {}", notes::count(n))
                });
            }
            Ok(received)
        })
    }

    pub(crate) fn local_addr(&self) -> io::Result<SocketAddr> {
        operate(|network| {
            let addr = network.tcp.local_addr(self.0);
            let addr = addr.or_else(|| network.udp.local_addr(self.0));
            addr.ok_or_else(|| io::ErrorKind::NotConnected.into())
        })
    }

    pub(crate) fn peer_addr(&self) -> io::Result<SocketAddr> {
        operate(|network| {
            let addr = network.tcp.peer_addr(self.0);
            let addr = addr.or_else(|| network.udp.peer_addr(self.0));
            addr.ok_or_else(|| io::ErrorKind::NotConnected.into())
        })
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        with_used(|network| {
            if let Some(peer) = network.peer(self.0) {
                notes::task(|| format!("closes its connection to {peer}"));
            }
            network.tcp.close(&mut network.wire, self.0);
            network.udp.close(&mut network.wire, self.0);
            network.open.remove(self.0);
        });
    }
}

impl fmt::Debug for Socket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Socket")
            .field("local", &self.local_addr().ok())
            .field("peer", &self.peer_addr().ok())
            .finish_non_exhaustive()
    }
}
