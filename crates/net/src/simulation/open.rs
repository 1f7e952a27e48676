//! The sockets that a program has opened and not closed.
//!
//! A host that stops ends its sockets, but the program may still have their handles. So these are not the sockets of
//! `tcp.rs` and `udp.rs`: a handle is here until it is dropped, or its host's program has ended.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;

use super::wire::Id;

/// The kind of a socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Listener,
    Stream,
    Udp,
}

/// A socket that is open. Its text has its kind and its addresses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpenSocket {
    /// The host whose code has opened it.
    pub host: u32,
    pub(super) kind: Kind,
    pub(super) local: SocketAddr,
    pub(super) peer: Option<SocketAddr>,
}

impl fmt::Display for OpenSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            Kind::Listener => "TCP listener",
            Kind::Stream => "TCP stream",
            Kind::Udp => "UDP socket",
        };
        write!(f, "{kind} {}", self.local)?;
        self.peer.map_or(Ok(()), |peer| write!(f, " to {peer}"))
    }
}

/// The open sockets, in the order in which they were opened.
#[derive(Default)]
pub(super) struct Open(BTreeMap<Id, OpenSocket>);

impl Open {
    pub(super) fn add(
        &mut self,
        id: Id,
        host: u32,
        kind: Kind,
        (local, peer): (SocketAddr, Option<SocketAddr>),
    ) {
        let socket = OpenSocket {
            host,
            kind,
            local,
            peer,
        };
        self.0.insert(id, socket);
    }

    pub(super) fn remove(&mut self, id: Id) {
        self.0.remove(&id);
    }

    /// The program of a host has ended, and the host's system has closed its sockets.
    pub(super) fn remove_all(&mut self, host: u32) {
        self.0.retain(|_, socket| socket.host != host);
    }

    pub(super) fn get(&self, id: Id) -> Option<&OpenSocket> {
        self.0.get(&id)
    }

    pub(super) fn all(&self) -> Vec<OpenSocket> {
        self.0.values().cloned().collect()
    }
}
