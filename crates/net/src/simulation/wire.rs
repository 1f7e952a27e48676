//! The hosts of a simulated network, the paths between them, and pending events.
//!
//! Nothing here knows protocols: `tcp.rs` and `udp.rs` put events in, and handle those that are due.
//!
//! Time is that of the runtime's clock, which moves only while no task is ready. An event is handled when its time has
//! come, so all that happens in the network happens between two steps of tasks.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::rc::Rc;
use std::time::{Duration, Instant};

use blitz_io_driver::bits::Bits;
use blitz_io_observe::decisions;
use blitz_io_runtime::internals::simulated_now;

use super::link::Link;

/// The number of a socket. No other socket of the process has it.
pub(super) type Id = u64;

/// The first port that a socket gets without asking for one.
const EPHEMERAL: u16 = 49_152;

/// An event of the network.
#[derive(Debug)]
pub(super) enum Event {
    /// The first segment that this end of a connection has sent arrives.
    Segment(Id),
    /// This end of a connection learns that it is over.
    Fail(Id, io::ErrorKind),
    /// This end has heard nothing of its peer since that time.
    TimeOut(Id, Duration),
    Datagram(Datagram),
}

/// A datagram under way.
#[derive(Clone, Debug)]
pub(super) struct Datagram {
    pub(super) from: (u32, SocketAddr),
    pub(super) to: (u32, SocketAddr),
    pub(super) bytes: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Protocol {
    Tcp,
    Udp,
}

/// The network's part of a host.
struct Host {
    name: String,
    /// Its power is off: it sends nothing, and does not hear.
    is_off: bool,
    /// The sockets that are bound.
    ports: BTreeMap<(Protocol, u16), Id>,
    /// The port that is tried first for a socket that asks for none.
    next_port: u16,
}

/// The way of packets from one host to another.
#[derive(Clone, Copy, Default)]
struct Path {
    link: Option<Link>,
    is_cut: bool,
}

/// The hosts and the pending events; see the module documentation.
pub(super) struct Wire {
    hosts: Vec<Host>,
    paths: BTreeMap<(u32, u32), Path>,
    link: Link,
    events: BTreeMap<(Duration, u64), Event>,
    /// Number of events so far: those of the same time are handled in their order.
    count: u64,
    /// The time of the runtime's clock at the first use.
    start: Option<Instant>,
    /// The sockets that have become ready.
    pub(super) reports: Vec<Report>,
    /// The reason why sockets become ready now. Only while a report explains the run.
    pub(super) reason: Reason,
}

/// The name of the reason why a socket becomes ready, in a report. None if no report explains the run.
pub(super) type Reason = Option<Rc<str>>;

/// A socket has become ready.
pub(super) struct Report {
    pub(super) token: usize,
    /// The operations for which it is ready.
    pub(super) bits: Bits,
    pub(super) reason: Reason,
}

impl Wire {
    pub(super) fn new() -> Self {
        let mut wire = Self {
            hosts: Vec::new(),
            paths: BTreeMap::new(),
            link: Link::new(),
            events: BTreeMap::new(),
            count: 0,
            start: None,
            reports: Vec::new(),
            reason: None,
        };
        wire.add_host("test");
        wire
    }

    pub(super) fn add_host(&mut self, name: &str) -> u32 {
        self.hosts.push(Host {
            name: name.to_owned(),
            is_off: false,
            ports: BTreeMap::new(),
            next_port: EPHEMERAL,
        });
        self.hosts.len() as u32 - 1
    }

    fn host(&self, host: u32) -> &Host {
        &self.hosts[host as usize]
    }

    fn host_mut(&mut self, host: u32) -> &mut Host {
        &mut self.hosts[host as usize]
    }

    pub(super) fn all_hosts(&self) -> std::ops::Range<u32> {
        0..self.hosts.len() as u32
    }

    pub(super) fn find(&self, name: &str) -> Option<u32> {
        let found = self.hosts.iter().position(|host| host.name == name);
        found.map(|index| index as u32)
    }

    /// Returns the names of all hosts.
    pub(super) fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.hosts.iter().map(|host| host.name.as_str())
    }

    pub(super) fn name(&self, host: u32) -> &str {
        &self.host(host).name
    }

    pub(super) fn set_off(&mut self, host: u32, is_off: bool) {
        self.host_mut(host).is_off = is_off;
    }

    /// Returns the host that has this address, as seen by `from`.
    pub(super) fn host_at(&self, address: IpAddr, from: u32) -> Option<u32> {
        if address.is_loopback() || address.is_unspecified() {
            return Some(from);
        }
        self.all_hosts().find(|&host| is_of(host, address))
    }

    /// Returns the time since the simulation has used the network first.
    pub(super) fn now(&mut self) -> Duration {
        let now = simulated_now();
        now.saturating_duration_since(*self.start.get_or_insert(now))
    }

    /// Returns the same, once the network has been used.
    pub(super) fn now_known(&self) -> Duration {
        let now = simulated_now();
        now.saturating_duration_since(self.start.unwrap_or(now))
    }

    /// Adds an event that happens after this time. Returns the moment.
    pub(super) fn schedule(&mut self, after: Duration, event: Event) -> Duration {
        let due = self.now() + after;
        self.schedule_at(due, event);
        due
    }

    pub(super) fn schedule_at(&mut self, due: Duration, event: Event) {
        self.count += 1;
        self.events.insert((due, self.count), event);
    }

    /// Returns the time until the next event.
    pub(super) fn next_due(&mut self) -> Option<Duration> {
        let (due, _) = *self.events.keys().next()?;
        Some(due.saturating_sub(self.now()))
    }

    /// Takes the next event, if its time has come.
    pub(super) fn take_due(&mut self) -> Option<Event> {
        let now = self.now();
        let first = self.events.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }

    pub(super) fn link(&self, from: u32, to: u32) -> Link {
        let own = self.paths.get(&(from, to)).and_then(|path| path.link);
        own.unwrap_or(self.link)
    }

    pub(super) fn set_link(&mut self, from: u32, to: u32, link: Link) {
        self.paths.entry((from, to)).or_default().link = Some(link);
    }

    pub(super) fn set_all_links(&mut self, link: Link) {
        self.link = link;
        self.paths.values_mut().for_each(|path| path.link = None);
    }

    pub(super) fn set_cut(&mut self, from: u32, to: u32, is_cut: bool) {
        self.paths.entry((from, to)).or_default().is_cut = is_cut;
    }

    pub(super) fn is_cut(&self, from: u32, to: u32) -> bool {
        self.paths.get(&(from, to)).is_some_and(|path| path.is_cut)
    }

    pub(super) fn cut_paths(&self) -> Vec<(u32, u32)> {
        let cut = self.paths.iter().filter(|(_, path)| path.is_cut);
        cut.map(|(ends, _)| *ends).collect()
    }

    /// Returns `true` if nothing that one host sends arrives at the other one.
    pub(super) fn is_blocked(&self, from: u32, to: u32) -> bool {
        self.is_cut(from, to) || self.host(to).is_off
    }

    /// Draws the latency of a packet.
    pub(super) fn latency(&self, from: u32, to: u32) -> Duration {
        if from == to {
            return Duration::ZERO;
        }
        decisions::meaning(
            || self.link(from, to).draw_latency(),
            |latency| {
                let (from, to) = (self.name_of(from), self.name_of(to));
                format!("a packet from {from} to {to} takes {latency:?}")
            },
        )
    }

    /// Records that a socket has become ready, if it is registered.
    pub(super) fn report(&mut self, token: Option<usize>, bits: Bits) {
        self.reports.extend(token.map(|token| Report {
            token,
            bits,
            reason: self.reason.clone(),
        }));
    }

    /// Binds a socket of a host to a local address. Port 0 stands for any free one.
    pub(super) fn bind(
        &mut self,
        host: u32,
        protocol: Protocol,
        mut addr: SocketAddr,
        id: Id,
    ) -> io::Result<SocketAddr> {
        let ip = addr.ip();
        let is_any = ip.is_unspecified() || ip.is_loopback() || ip.is_multicast();
        if !is_any && !is_of(host, ip) {
            return Err(io::ErrorKind::AddrNotAvailable.into());
        }
        if self.host(host).is_off {
            return Err(io::ErrorKind::NetworkDown.into());
        }
        if addr.port() == 0 {
            addr.set_port(self.free_port(host, protocol)?);
        }
        let ports = &mut self.host_mut(host).ports;
        if ports.contains_key(&(protocol, addr.port())) {
            return Err(io::ErrorKind::AddrInUse.into());
        }
        ports.insert((protocol, addr.port()), id);
        Ok(addr)
    }

    /// Returns a port of a host that no socket has been bound to for long.
    pub(super) fn free_port(&mut self, host: u32, protocol: Protocol) -> io::Result<u16> {
        let host = self.host_mut(host);
        for _ in EPHEMERAL..=u16::MAX {
            let port = host.next_port;
            host.next_port = port.checked_add(1).unwrap_or(EPHEMERAL);
            if !host.ports.contains_key(&(protocol, port)) {
                return Ok(port);
            }
        }
        Err(io::ErrorKind::AddrInUse.into())
    }

    /// Returns the socket that is bound to a port of a host.
    pub(super) fn bound(&self, host: u32, protocol: Protocol, port: u16) -> Option<Id> {
        self.host(host).ports.get(&(protocol, port)).copied()
    }

    /// Ends the use of a port by this socket.
    pub(super) fn unbind(&mut self, host: u32, protocol: Protocol, port: u16, id: Id) {
        let ports = &mut self.host_mut(host).ports;
        if ports.get(&(protocol, port)) == Some(&id) {
            ports.remove(&(protocol, port));
        }
    }
}

/// Returns the address of a host.
pub(super) fn address_of(host: u32) -> IpAddr {
    let [_, _, high, low] = (host + 1).to_be_bytes();
    Ipv4Addr::new(10, 0, high, low).into()
}

/// Returns the address of a host from which it sends to this one: of the same version of the protocol.
pub(super) fn source_for(host: u32, to: IpAddr) -> IpAddr {
    if to.is_loopback() {
        return to;
    }
    let [.., high, low] = (host + 1).to_be_bytes();
    match to {
        IpAddr::V4(_) => address_of(host),
        IpAddr::V6(_) => {
            let low = u16::from_be_bytes([high, low]);
            Ipv6Addr::new(0xFD00, 0, 0, 0, 0, 0, 0, low).into()
        }
    }
}

/// Returns `true` if a host has this address.
fn is_of(host: u32, address: IpAddr) -> bool {
    source_for(host, address) == address && !address.is_loopback()
}

/// Returns `true` if a socket with this local address hears what is sent to another one.
pub(super) fn is_bound_to(local: IpAddr, to: IpAddr) -> bool {
    local == to || local.is_unspecified() && (local.is_ipv6() || to.is_ipv4())
}
