//! Sockets for datagrams.
//!
//! A datagram is lost if its path is cut when it is sent or when it arrives, if no socket has the port, or if the
//! receiver does not keep up. Each one has its own latency, so they overtake each other.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::SocketAddr;

use blitz_io_driver::bits;

use super::wire::{Datagram, Event, Id, Protocol, Wire, address_of};

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
}

/// All sockets for datagrams.
#[derive(Default)]
pub(super) struct Udp(BTreeMap<Id, Socket>);

impl Udp {
    fn get(&mut self, id: Id) -> io::Result<&mut Socket> {
        let closed = || io::ErrorKind::NotConnected.into();
        self.0.get_mut(&id).ok_or_else(closed)
    }

    pub(super) fn bind(
        &mut self,
        wire: &mut Wire,
        host: u32,
        addr: SocketAddr,
        id: Id,
    ) -> io::Result<()> {
        let local = wire.bind(host, Protocol::Udp, addr, id)?;
        let socket = Socket {
            host,
            local,
            peer: None,
            token: None,
            received: VecDeque::new(),
        };
        self.0.insert(id, socket);
        Ok(())
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
        let host = socket.host;
        let Some(target) = wire.host_at(to.ip(), host) else {
            return Err(io::ErrorKind::HostUnreachable.into());
        };
        let address = if to.ip().is_loopback() {
            to.ip()
        } else {
            address_of(host)
        };
        let datagram = Datagram {
            from: (host, SocketAddr::new(address, socket.local.port())),
            to: (target, to),
            bytes: bytes.to_vec(),
        };
        let link = wire.link(host, target);
        if wire.is_blocked(host, target) || host != target && link.loses() {
            return Ok(bytes.len());
        }
        if host != target && link.duplicates() {
            let after = wire.latency(host, target);
            wire.schedule(after, Event::Datagram(datagram.clone()));
        }
        let after = wire.latency(host, target);
        wire.schedule(after, Event::Datagram(datagram));
        Ok(bytes.len())
    }

    pub(super) fn arrive(&mut self, wire: &mut Wire, datagram: Datagram) {
        let (target, to) = datagram.to;
        if wire.is_blocked(datagram.from.0, target) {
            return;
        }
        let bound = wire.bound(target, Protocol::Udp, to.port());
        let Some(socket) = bound.and_then(|id| self.0.get_mut(&id)) else {
            return;
        };
        let local = socket.local.ip();
        let is_for_it = local.is_unspecified() || local == to.ip();
        let is_peer = socket.peer.is_none_or(|peer| peer == datagram.from.1);
        if is_for_it && is_peer && socket.received.len() < QUEUE {
            (socket.received).push_back((datagram.bytes, datagram.from.1));
            wire.report(socket.token, bits::READABLE);
        }
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
