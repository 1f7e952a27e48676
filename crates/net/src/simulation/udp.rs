//! Sockets for datagrams.
//!
//! A datagram is lost if its path is cut when it is sent or when it arrives, if no socket has the port, or if the
//! receiver does not keep up. Each one has its own latency, so they overtake each other.
//!
//! A datagram to a multicast group goes to each host with a socket that has joined the group, and a broadcast to each
//! host with a socket for it. These are datagrams of their own: one may be lost, and another one not.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use blitz_io_driver::bits;
use blitz_io_observe::decisions;

use super::notes;
use super::wire::{Datagram, Event, Id, Protocol, Wire, is_bound_to, source_for};

/// The largest datagram of IPv4.
const LARGEST: usize = 65_507;
/// Number of datagrams that a socket keeps until they are received.
const QUEUE: usize = 1_024;

struct Socket {
    host: u32,
    local: SocketAddr,
    peer: Option<SocketAddr>,
    token: Option<usize>,
    received: VecDeque<(Vec<u8>, SocketAddr)>,
    /// The multicast groups that it has joined.
    groups: BTreeSet<IpAddr>,
    /// What it sends to a group also comes back to its own host.
    loops: bool,
}

impl Socket {
    /// Returns `true` if it receives what is sent to this address.
    fn is_for(&self, to: IpAddr) -> bool {
        let hears = !to.is_multicast() || self.groups.contains(&to);
        hears && is_bound_to(self.local.ip(), to)
    }
}

/// All sockets for datagrams.
#[derive(Default)]
pub(super) struct Udp(BTreeMap<Id, Socket>);

impl Udp {
    fn get(&mut self, id: Id) -> io::Result<&mut Socket> {
        let closed = || io::ErrorKind::NotConnected.into();
        self.0.get_mut(&id).ok_or_else(closed)
    }

    /// Makes a socket. Returns its address.
    pub(super) fn bind(
        &mut self,
        wire: &mut Wire,
        host: u32,
        addr: SocketAddr,
        id: Id,
    ) -> io::Result<SocketAddr> {
        let local = wire.bind(host, Protocol::Udp, addr, id)?;
        let socket = Socket {
            host,
            local,
            peer: None,
            token: None,
            received: VecDeque::new(),
            groups: BTreeSet::new(),
            loops: true,
        };
        self.0.insert(id, socket);
        Ok(local)
    }

    /// Sets the token of a socket. Returns `false` if there is no such socket.
    pub(super) fn register(&mut self, id: Id, token: usize) -> bool {
        let socket = self.0.get_mut(&id);
        socket.map(|socket| socket.token = Some(token)).is_some()
    }

    pub(super) fn registered(&mut self, wire: &mut Wire, id: Id) {
        if let Ok(socket) = self.get(id) {
            wire.report(socket.token, bits::WRITABLE);
        }
    }

    pub(super) fn connect(&mut self, id: Id, peer: SocketAddr) -> io::Result<()> {
        self.get(id)?.peer = Some(peer);
        Ok(())
    }

    pub(super) fn local_addr(&self, id: Id) -> Option<SocketAddr> {
        self.0.get(&id).map(|socket| socket.local)
    }

    pub(super) fn peer_addr(&self, id: Id) -> Option<SocketAddr> {
        self.0.get(&id)?.peer
    }

    pub(super) fn send(
        &mut self,
        wire: &mut Wire,
        id: Id,
        bytes: &[u8],
        to: Option<SocketAddr>,
    ) -> io::Result<usize> {
        let socket = self.get(id)?;
        let to = to.or(socket.peer).ok_or(io::ErrorKind::NotConnected)?;
        if bytes.len() > LARGEST {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let (host, loops) = (socket.host, socket.loops);
        let source = SocketAddr::new(source_for(host, to.ip()), socket.local.port());
        let from = (host, source);
        let is_multicast = to.ip().is_multicast();
        if is_multicast || to.ip() == IpAddr::from(Ipv4Addr::BROADCAST) {
            for target in wire.all_hosts() {
                let is_heard = target != host || loops || !is_multicast;
                if is_heard && self.receiver(wire, target, to).is_some() {
                    Self::carry(wire, from, (target, to), bytes);
                }
            }
            return Ok(bytes.len());
        }
        let Some(target) = wire.host_at(to.ip(), host) else {
            return Err(io::ErrorKind::HostUnreachable.into());
        };
        notes::task(|| {
            let to = wire.named(to, host);
            format!("sends a datagram to {to}, {}", notes::count(bytes.len()))
        });
        Self::carry(wire, from, (target, to), bytes);
        Ok(bytes.len())
    }

    /// Carries a datagram from one host to another, unless it gets lost.
    fn carry(wire: &mut Wire, from: (u32, SocketAddr), to: (u32, SocketAddr), bytes: &[u8]) {
        let bytes = bytes.to_vec();
        let (datagram, host, target) = (Datagram { from, to, bytes }, from.0, to.0);
        let link = wire.link(host, target);
        if wire.is_blocked(host, target) {
            return lost(wire, &datagram, || wire.why_blocked(host, target));
        }
        let lost_by_link = |_: &bool| sentence(wire, &datagram, "is lost: the link loses it");
        if host != target && decisions::meaning(|| link.loses(), lost_by_link) {
            return lost(wire, &datagram, || "the link loses it".to_owned());
        }
        let twice = |_: &bool| sentence(wire, &datagram, "arrives twice");
        if host != target && decisions::meaning(|| link.duplicates(), twice) {
            let after = wire.latency(host, target);
            wire.schedule(after, Event::Datagram(datagram.clone()));
        }
        let after = wire.latency(host, target);
        wire.schedule(after, Event::Datagram(datagram));
    }

    /// Returns the socket of a host that receives what is sent to this address.
    fn receiver(&mut self, wire: &Wire, host: u32, to: SocketAddr) -> Option<&mut Socket> {
        let bound = wire.bound(host, Protocol::Udp, to.port())?;
        let socket = self.0.get_mut(&bound)?;
        socket.is_for(to.ip()).then_some(socket)
    }

    /// Joins a multicast group.
    pub(super) fn join(&mut self, id: Id, group: IpAddr) -> io::Result<()> {
        if !group.is_multicast() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let is_new = self.get(id)?.groups.insert(group);
        is_new
            .then_some(())
            .ok_or_else(|| io::ErrorKind::AddrInUse.into())
    }

    /// Leaves a multicast group.
    pub(super) fn leave(&mut self, id: Id, group: IpAddr) -> io::Result<()> {
        let is_member = self.get(id)?.groups.remove(&group);
        is_member
            .then_some(())
            .ok_or_else(|| io::ErrorKind::AddrNotAvailable.into())
    }

    /// Returns `true` if what it sends to a group also comes back to its own host.
    pub(super) fn loops(&mut self, id: Id) -> io::Result<bool> {
        Ok(self.get(id)?.loops)
    }

    /// Sets whether what it sends to a group also comes back to its own host.
    pub(super) fn set_loops(&mut self, id: Id, loops: bool) -> io::Result<()> {
        self.get(id)?.loops = loops;
        Ok(())
    }

    pub(super) fn arrive(&mut self, wire: &mut Wire, datagram: Datagram) {
        let (target, to) = datagram.to;
        if wire.is_blocked(datagram.from.0, target) {
            let from = datagram.from.0;
            return lost(wire, &datagram, || wire.why_blocked(from, target));
        }
        let Some(socket) = self.receiver(wire, target, to) else {
            return lost(wire, &datagram, || "no socket is there".to_owned());
        };
        if socket.peer.is_some_and(|peer| peer != datagram.from.1) {
            return lost(wire, &datagram, || {
                "the socket there has another peer".to_owned()
            });
        }
        if socket.received.len() >= QUEUE {
            return lost(wire, &datagram, || "the queue there is full".to_owned());
        }
        wire.set_reason(|wire| {
            let from = wire.name_of(datagram.from.0);
            let bytes = notes::count(datagram.bytes.len());
            format!("a datagram of {from}: {bytes}")
        });
        (socket.received).push_back((datagram.bytes, datagram.from.1));
        wire.report(socket.token, bits::READABLE);
    }

    /// Copies the first datagram. Bytes for which there is no room are lost.
    pub(super) fn receive(
        &mut self,
        id: Id,
        buf: &mut [u8],
        is_peek: bool,
    ) -> io::Result<(usize, SocketAddr)> {
        let received = &mut self.get(id)?.received;
        let Some((bytes, from)) = received.front() else {
            return Err(io::ErrorKind::WouldBlock.into());
        };
        let (n, from) = (bytes.len().min(buf.len()), *from);
        buf[..n].copy_from_slice(&bytes[..n]);
        if !is_peek {
            received.pop_front();
        }
        Ok((n, from))
    }

    pub(super) fn close(&mut self, wire: &mut Wire, id: Id) {
        if let Some(socket) = self.0.remove(&id) {
            wire.unbind(socket.host, Protocol::Udp, socket.local.port(), id);
        }
    }

    /// Closes all sockets of a host.
    pub(super) fn close_all(&mut self, wire: &mut Wire, host: u32) {
        let sockets = self.0.iter().filter(|(_, socket)| socket.host == host);
        let ids: Vec<Id> = sockets.map(|(id, _)| *id).collect();
        ids.into_iter().for_each(|id| self.close(wire, id));
    }
}

/// Notes that a datagram is lost.
fn lost(wire: &Wire, datagram: &Datagram, why: impl FnOnce() -> String) {
    notes::network(|| sentence(wire, datagram, &format!("is lost: {}", why())));
}

/// Returns a sentence about a datagram.
fn sentence(wire: &Wire, datagram: &Datagram, what: &str) -> String {
    let from = wire.name_of(datagram.from.0);
    let to = wire.named(datagram.to.1, datagram.to.0);
    format!("a datagram of {from} to {to} {what}")
}
