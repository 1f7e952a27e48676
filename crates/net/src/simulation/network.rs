//! `Network`: the network of a simulation.

use std::net::SocketAddr;
use std::sync::Arc;

use blitz_io_driver::Driver;
use blitz_io_observe::decisions;

use super::open::{Kind, Open};
use super::tcp::Tcp;
use super::udp::Udp;
use super::wire::{Event, Id, Wire};

/// The network of a simulation: its hosts, and their sockets.
pub(super) struct Network {
    pub(super) wire: Wire,
    pub(super) tcp: Tcp,
    pub(super) udp: Udp,
    pub(super) open: Open,
    /// The driver that has the readiness of the sockets. It is never polled.
    pub(super) driver: Option<Arc<Driver>>,
}

impl Network {
    pub(super) fn new() -> Self {
        Self {
            wire: Wire::new(),
            tcp: Tcp::default(),
            udp: Udp::default(),
            open: Open::default(),
            driver: None,
        }
    }

    /// Handles the events whose time has come.
    pub(super) fn deliver(&mut self) {
        while let Some(event) = self.wire.take_due() {
            self.wire.forget_reason();
            match event {
                Event::Segment(id) => self.tcp.arrive(&mut self.wire, id),
                Event::Fail(id, why) => self.tcp.refused(&mut self.wire, id, why),
                Event::TimeOut(id, since) => self.tcp.time_out(&mut self.wire, id, since),
                Event::Datagram(datagram) => self.udp.arrive(&mut self.wire, datagram),
            }
        }
    }

    /// Returns the name of the peer of a connection, for a report. `None` in a run that no report explains.
    pub(super) fn peer(&self, id: Id) -> Option<String> {
        if !decisions::explains() {
            return None;
        }
        let (host, remote) = self.tcp.ends_at(id)?;
        Some(self.wire.named(remote, host))
    }

    /// Ends all sockets of a host. Without power, it also hears nothing until it has some again.
    pub(super) fn stop(&mut self, host: u32, is_off: bool) {
        self.tcp.end_all(&mut self.wire, host, is_off);
        self.udp.close_all(&mut self.wire, host);
        self.wire.set_off(host, is_off);
    }

    /// A host has power again.
    pub(super) fn start(&mut self, host: u32) {
        self.wire.set_off(host, false);
        for from in self.wire.all_hosts() {
            self.go_on(from, host);
        }
    }

    pub(super) fn set_cut(&mut self, from: u32, to: u32, is_cut: bool) {
        self.wire.set_cut(from, to, is_cut);
        if !is_cut {
            self.go_on(from, to);
        }
    }

    /// Describes the wait of a task for a socket, such as `read from tcp 10.0.0.2:80 (host server)`.
    pub(super) fn describe(&self, id: Id, writes: bool) -> Option<String> {
        let socket = self.open.get(id)?;
        let (host, local) = (socket.host, socket.local);
        let of = |addr: SocketAddr| match self.wire.host_at(addr.ip(), host) {
            Some(0) => format!("{addr} (the test)"),
            Some(host) => format!("{addr} (host {})", self.wire.name(host)),
            None => addr.to_string(),
        };
        let (to, from) = if writes {
            ("write to", "write from")
        } else {
            ("read from", "read at")
        };
        Some(match (socket.kind, socket.peer) {
            (Kind::Listener, _) => format!("accept at tcp {local}"),
            (Kind::Stream, Some(peer)) if self.tcp.peer_addr(id).is_none() && writes => {
                format!("connect to tcp {}", of(peer))
            }
            (Kind::Stream, Some(peer)) => format!("{to} tcp {}", of(peer)),
            (Kind::Stream, None) => format!("{from} tcp {local}"),
            (Kind::Udp, _) => match self.udp.peer_addr(id) {
                Some(peer) => format!("{to} udp {}", of(peer)),
                None => format!("{from} udp {local}"),
            },
        })
    }

    fn go_on(&mut self, from: u32, to: u32) {
        if !self.wire.is_blocked(from, to) {
            self.tcp.go_on(&mut self.wire, from, to);
        }
    }
}
