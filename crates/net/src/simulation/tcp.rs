//! Connections, and the sockets that accept them.
//!
//! A connection has two ends. Each end has a list of the segments that it has sent, with the times of their arrivals. A
//! segment never arrives before the one in front of it, so bytes keep their order. An end counts the bytes that its peer has
//! not read yet. From [`WINDOW`] on a write has to wait, until a [`Segment::Credit`] says that the peer has read some.
//!
//! ```text
//!   connect: Open -->          refused if no socket accepts connections there
//!                 <-- Accept   the client is connected
//!            Data <-> Data
//!             End <-> End      one direction is over
//!           Reset <-> Reset    both are
//! ```
//!
//! *A path that is cut* loses no segment: the sender tries again. So the list *stalls* until the path is open
//! again. If that takes too long, the sender gives up, and its peer does not learn of that (a half-open connection).
//!
//! *An end that does not exist any more* answers data with a reset. An end is removed when its host loses its power, or
//! when its socket is closed and all segments have arrived.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, IoSlice, IoSliceMut};
use std::net::{Shutdown, SocketAddr};
use std::time::Duration;

use blitz_io_driver::bits;
use blitz_io_observe::decisions;

use super::wire::{Event, Id, Protocol, Wire, is_bound_to, source_for};
use super::{ids, notes};

/// Number of bytes that may be under way or unread.
const WINDOW: usize = 64 << 10;
/// Number of connections that wait to be accepted.
const BACKLOG: usize = 128;
/// The time after which a lost segment is sent again.
const RETRANSMISSION: Duration = Duration::from_millis(200);
/// Number of times that a segment may be lost.
const LOSSES: u32 = 5;
/// The time after which an attempt to connect fails that hears nothing: Linux's default.
const CONNECT_LIMIT: Duration = Duration::from_secs(127);
/// The time after which a connection fails whose data the peer does not acknowledge: Linux's default.
const DATA_LIMIT: Duration = Duration::from_secs(924);

#[derive(Debug)]
enum Segment {
    Open,
    Accept,
    Data(Vec<u8>),
    /// The peer has read this number of bytes.
    Credit(usize),
    End,
    Reset,
}

impl Segment {
    /// Names the arrival of the segment, which a host has sent.
    fn describe(&self, sender: &str) -> String {
        match self {
            Self::Open => format!("a packet of {sender}: a request to connect"),
            Self::Accept => format!("a packet of {sender}: the connection is accepted"),
            Self::Data(bytes) => format!("a packet of {sender}: {}", notes::count(bytes.len())),
            Self::Credit(read) => {
                format!(
                    "a packet of {sender}: room for {} more",
                    notes::count(*read)
                )
            }
            Self::End => format!("a packet of {sender}: the end of the stream"),
            Self::Reset => format!("a packet of {sender}: a reset"),
        }
    }
}

/// One end of a connection.
struct End {
    host: u32,
    peer_host: u32,
    local: SocketAddr,
    remote: SocketAddr,
    /// The other end, once a listener has taken the request. It may have been removed.
    peer: Option<Id>,
    token: Option<usize>,
    is_connected: bool,
    /// Its socket has been closed.
    is_closed: bool,
    /// Closing its socket resets the connection.
    resets_when_closed: bool,
    /// It sends no more.
    is_shut: bool,
    received: VecDeque<u8>,
    /// Number of bytes that were read since the last credit.
    read: usize,
    /// It receives no more.
    has_ended: bool,
    error: Option<io::ErrorKind>,
    outgoing: VecDeque<(Duration, Segment)>,
    last_due: Duration,
    /// Number of bytes that were sent and not read by the peer.
    unread: usize,
    /// The time since when the list of segments stalls.
    stalled: Option<Duration>,
}

impl End {
    fn new(host: u32, peer_host: u32, local: SocketAddr, remote: SocketAddr) -> Self {
        Self {
            host,
            peer_host,
            local,
            remote,
            peer: None,
            token: None,
            is_connected: false,
            is_closed: false,
            resets_when_closed: false,
            is_shut: false,
            received: VecDeque::new(),
            read: 0,
            has_ended: false,
            error: None,
            outgoing: VecDeque::new(),
            last_due: Duration::ZERO,
            unread: 0,
            stalled: None,
        }
    }

    fn is_over(&self) -> bool {
        self.is_closed && self.outgoing.is_empty()
    }

    /// Copies received bytes, and returns their number.
    fn copy_to(&self, bufs: &mut [IoSliceMut<'_>]) -> usize {
        let mut bytes = self.received.iter();
        let mut n = 0;
        for to in bufs.iter_mut().flat_map(|buf| buf.iter_mut()) {
            let Some(byte) = bytes.next() else { break };
            (*to, n) = (*byte, n + 1);
        }
        n
    }
}

/// A socket that accepts connections.
struct Listener {
    host: u32,
    local: SocketAddr,
    token: Option<usize>,
    queue: VecDeque<Id>,
}

impl Listener {
    /// Returns `true` if it accepts connections to this address.
    fn is_for(&self, addr: SocketAddr) -> bool {
        is_bound_to(self.local.ip(), addr.ip())
    }
}

/// All connections, and all sockets that accept them.
#[derive(Default)]
pub(super) struct Tcp {
    ends: BTreeMap<Id, End>,
    listeners: BTreeMap<Id, Listener>,
}

fn closed() -> io::Error {
    io::ErrorKind::NotConnected.into()
}

impl Tcp {
    /// Makes a socket that accepts connections. Returns its address.
    pub(super) fn listen(
        &mut self,
        wire: &mut Wire,
        host: u32,
        addr: SocketAddr,
        id: Id,
    ) -> io::Result<SocketAddr> {
        let local = wire.bind(host, Protocol::Tcp, addr, id)?;
        let listener = Listener {
            host,
            local,
            token: None,
            queue: VecDeque::new(),
        };
        self.listeners.insert(id, listener);
        Ok(local)
    }

    /// Begins to connect. Returns the local address.
    pub(super) fn connect(
        &mut self,
        wire: &mut Wire,
        host: u32,
        bound: Option<SocketAddr>,
        addr: SocketAddr,
        id: Id,
    ) -> io::Result<SocketAddr> {
        let Some(peer_host) = wire.host_at(addr.ip(), host) else {
            return Err(io::ErrorKind::HostUnreachable.into());
        };
        let port = match bound.map(|bound| bound.port()) {
            None | Some(0) => wire.free_port(host, Protocol::Tcp)?,
            Some(port) => port,
        };
        let local = SocketAddr::new(source_for(host, addr.ip()), port);
        self.ends.insert(id, End::new(host, peer_host, local, addr));
        self.send(wire, id, Segment::Open);
        Ok(local)
    }

    /// Returns the next connection of a listener, and its addresses: the local one, and the peer's.
    pub(super) fn accept(&mut self, id: Id) -> io::Result<(Id, SocketAddr, SocketAddr)> {
        let queue = &mut self.listeners.get_mut(&id).ok_or_else(closed)?.queue;
        loop {
            let next = queue.pop_front().ok_or(io::ErrorKind::WouldBlock)?;
            if let Some(end) = self.ends.get(&next) {
                return Ok((next, end.local, end.remote));
            }
        }
    }

    /// Sets the token of a socket. Returns `false` if there is no such socket.
    pub(super) fn register(&mut self, id: Id, token: usize) -> bool {
        let end = self.ends.get_mut(&id).map(|end| &mut end.token);
        let of = end.or_else(|| self.listeners.get_mut(&id).map(|it| &mut it.token));
        of.map(|of| *of = Some(token)).is_some()
    }

    pub(super) fn local_addr(&self, id: Id) -> Option<SocketAddr> {
        let end = self.ends.get(&id).map(|end| end.local);
        end.or_else(|| self.listeners.get(&id).map(|listener| listener.local))
    }

    pub(super) fn peer_addr(&self, id: Id) -> Option<SocketAddr> {
        let end = self.ends.get(&id).filter(|end| end.is_connected)?;
        Some(end.remote)
    }

    /// Returns the host of an end of a connection, and the address of its peer.
    pub(super) fn ends_at(&self, id: Id) -> Option<(u32, SocketAddr)> {
        let end = self.ends.get(&id)?;
        Some((end.host, end.remote))
    }

    pub(super) fn take_error(&mut self, id: Id) -> Option<io::ErrorKind> {
        self.ends.get_mut(&id)?.error.take()
    }

    pub(super) fn resets_when_closed(&mut self, id: Id) {
        if let Some(end) = self.ends.get_mut(&id) {
            end.resets_when_closed = true;
        }
    }

    /// Reads bytes that have arrived, if there are some.
    pub(super) fn read(
        &mut self,
        wire: &mut Wire,
        id: Id,
        bufs: &mut [IoSliceMut<'_>],
        is_peek: bool,
    ) -> io::Result<usize> {
        let end = self.ends.get_mut(&id).ok_or_else(closed)?;
        if end.received.is_empty() {
            return match end.error.take() {
                Some(error) => Err(error.into()),
                None if end.has_ended => Ok(0),
                None => Err(io::ErrorKind::WouldBlock.into()),
            };
        }
        let n = end.copy_to(bufs);
        if !is_peek {
            end.received.drain(..n);
            end.read += n;
            if end.read >= WINDOW / 4 && end.error.is_none() {
                let read = std::mem::take(&mut end.read);
                self.send(wire, id, Segment::Credit(read));
            }
        }
        Ok(n)
    }

    /// Sends as many bytes as there is room for.
    pub(super) fn write(
        &mut self,
        wire: &mut Wire,
        id: Id,
        bufs: &[IoSlice<'_>],
    ) -> io::Result<usize> {
        let end = self.ends.get_mut(&id).ok_or_else(closed)?;
        if let Some(error) = end.error.take() {
            return Err(error.into());
        }
        if end.is_shut {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let room = WINDOW - end.unread.min(WINDOW);
        if room == 0 || !end.is_connected {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let mut bytes = Vec::new();
        for buf in bufs {
            let n = buf.len().min(room - bytes.len());
            bytes.extend_from_slice(&buf[..n]);
        }
        let n = bytes.len();
        if n == 0 {
            return Ok(0);
        }
        let (host, peer_host, peer) = (end.host, end.peer_host, end.peer);
        let link = wire.link(host, peer_host);
        let resets = || {
            let (one, other) = (wire.name_of(host), wire.name_of(peer_host));
            format!("the link resets a connection of {one} and {other}")
        };
        if host != peer_host && decisions::meaning(|| link.is_reset(), |_| resets()) {
            notes::network(resets);
            self.fail(wire, id, io::ErrorKind::ConnectionReset);
            if let Some(peer) = peer {
                self.refuse(wire, peer, io::ErrorKind::ConnectionReset);
            }
            return Err(self.take_error(id).map_or_else(closed, io::Error::from));
        }
        end.unread += n;
        let splits = |_: &bool| {
            let (from, to) = (wire.name_of(host), wire.name_of(peer_host));
            format!("{} of {from} to {to} arrive in two parts", notes::count(n))
        };
        if n > 1 && host != peer_host && decisions::meaning(|| link.is_split(), splits) {
            let rest = bytes.split_off(n / 2);
            self.send(wire, id, Segment::Data(bytes));
            bytes = rest;
        }
        self.send(wire, id, Segment::Data(bytes));
        Ok(n)
    }

    pub(super) fn shutdown(&mut self, wire: &mut Wire, id: Id, how: Shutdown) -> io::Result<()> {
        let end = self.ends.get_mut(&id).ok_or_else(closed)?;
        if how != Shutdown::Write {
            end.has_ended = true;
            wire.report(end.token, bits::READABLE | bits::READ_CLOSED);
        }
        if how != Shutdown::Read && !end.is_shut {
            end.is_shut = true;
            self.send(wire, id, Segment::End);
        }
        Ok(())
    }

    /// Sends a segment, which arrives after all that were sent before it.
    fn send(&mut self, wire: &mut Wire, id: Id, segment: Segment) {
        let Some(end) = self.ends.get_mut(&id) else {
            return;
        };
        let mut after = wire.latency(end.host, end.peer_host);
        if end.host != end.peer_host {
            let link = wire.link(end.host, end.peer_host);
            let again = |losses: &usize| {
                let from = wire.name_of(end.host);
                let to = wire.named(end.remote, end.host);
                let again = RETRANSMISSION * *losses as u32;
                format!("a packet of {from} to {to} is lost, and sent again {again:?} later")
            };
            let losses =
                decisions::meaning(|| (0..LOSSES).take_while(|_| link.loses()).count(), again);
            after += RETRANSMISSION * losses as u32;
            if losses > 0 {
                notes::network(|| again(&losses));
            }
        }
        let due = (wire.now() + after).max(end.last_due);
        end.last_due = due;
        end.outgoing.push_back((due, segment));
        wire.schedule_at(due, Event::Segment(id));
    }

    /// Delivers the segments of an end whose time has come.
    pub(super) fn arrive(&mut self, wire: &mut Wire, id: Id) {
        let now = wire.now();
        while let Some(end) = self.ends.get_mut(&id) {
            if end.outgoing.front().is_none_or(|(due, _)| *due > now) {
                break;
            }
            if wire.is_blocked(end.host, end.peer_host) {
                return Self::stall(wire, id, end);
            }
            end.stalled = None;
            if let Some((_, segment)) = end.outgoing.pop_front() {
                let host = end.host;
                wire.set_reason(|wire| segment.describe(wire.name_of(host)));
                self.deliver(wire, id, segment);
            }
        }
        self.forget(id);
    }

    /// The segments of an end do not arrive. Their sender gives up at some time.
    fn stall(wire: &mut Wire, id: Id, end: &mut End) {
        if end.stalled.is_none() {
            notes::network(|| {
                let from = wire.name_of(end.host);
                let to = wire.named(end.remote, end.host);
                let what = if end.is_connected {
                    format!("a packet of {from} to {to}")
                } else {
                    format!("the request of {from} to connect to {to}")
                };
                let why = wire.why_blocked(end.host, end.peer_host);
                format!("{what} is held: {why}")
            });
            let now = wire.now();
            let limit = if end.is_connected {
                DATA_LIMIT
            } else {
                CONNECT_LIMIT
            };
            end.stalled = Some(now);
            wire.schedule(limit, Event::TimeOut(id, now));
        }
    }

    /// An end has heard nothing since then, unless it has.
    pub(super) fn time_out(&mut self, wire: &mut Wire, id: Id, since: Duration) {
        let Some(end) = self.ends.get(&id) else {
            return;
        };
        if end.stalled == Some(since) {
            let (host, remote) = (end.host, end.remote);
            notes::network(|| {
                let (from, to) = (wire.name_of(host), wire.named(remote, host));
                let waited = wire.now_known().saturating_sub(since);
                format!(
                    "{from} gives its connection to {to} up, after {waited:?} without an answer"
                )
            });
            wire.set_reason(|_| "the time limit of its connection".to_owned());
            self.fail(wire, id, io::ErrorKind::TimedOut);
        }
    }

    /// The path from one host to another is open again.
    pub(super) fn go_on(&mut self, wire: &mut Wire, from: u32, to: u32) {
        for (id, end) in &self.ends {
            if end.stalled.is_some() && (end.host, end.peer_host) == (from, to) {
                notes::network(|| {
                    let (from, to) = (wire.name_of(from), wire.named(end.remote, end.host));
                    format!("what {from} has sent to {to} is sent again")
                });
                let after = wire.latency(from, to);
                wire.schedule(after, Event::Segment(*id));
            }
        }
    }

    /// Delivers a segment of this end.
    fn deliver(&mut self, wire: &mut Wire, id: Id, segment: Segment) {
        if matches!(segment, Segment::Open) {
            return self.open(wire, id);
        }
        let to = self.ends.get(&id).and_then(|end| end.peer);
        let Some((to, peer)) = to.and_then(|to| Some((to, self.ends.get_mut(&to)?))) else {
            if matches!(segment, Segment::Accept | Segment::Data(_)) {
                self.refuse(wire, id, io::ErrorKind::ConnectionReset);
            }
            return;
        };
        match segment {
            Segment::Open => {}
            Segment::Accept => {
                peer.is_connected = true;
                wire.report(peer.token, bits::WRITABLE);
            }
            // Its socket has been closed, or it has given up.
            Segment::Data(_) if peer.is_closed || peer.peer.is_none() => {
                self.refuse(wire, id, io::ErrorKind::ConnectionReset);
            }
            // Its socket has been shut down for reads.
            Segment::Data(_) if peer.has_ended => {}
            Segment::Data(bytes) => {
                peer.received.extend(bytes);
                wire.report(peer.token, bits::READABLE);
            }
            Segment::Credit(read) => {
                peer.unread = peer.unread.saturating_sub(read);
                wire.report(peer.token, bits::WRITABLE);
            }
            Segment::End => {
                peer.has_ended = true;
                wire.report(peer.token, bits::READABLE | bits::READ_CLOSED);
            }
            Segment::Reset => self.fail(wire, to, io::ErrorKind::ConnectionReset),
        }
    }

    /// A request for a connection arrives.
    fn open(&mut self, wire: &mut Wire, id: Id) {
        let Some(end) = self.ends.get_mut(&id) else {
            return;
        };
        let bound = wire.bound(end.peer_host, Protocol::Tcp, end.remote.port());
        let listener = bound.and_then(|bound| self.listeners.get_mut(&bound));
        let Some(listener) =
            listener.filter(|it| it.is_for(end.remote) && it.queue.len() < BACKLOG)
        else {
            return self.refuse(wire, id, io::ErrorKind::ConnectionRefused);
        };
        let other = ids::next();
        let mut accepted = End::new(end.peer_host, end.host, end.remote, end.local);
        accepted.peer = Some(id);
        accepted.is_connected = true;
        end.peer = Some(other);
        listener.queue.push_back(other);
        wire.report(listener.token, bits::READABLE);
        self.ends.insert(other, accepted);
        self.send(wire, other, Segment::Accept);
    }

    /// The peer's host answers this end that there is no such connection.
    fn refuse(&mut self, wire: &mut Wire, id: Id, why: io::ErrorKind) {
        if let Some(end) = self.ends.get(&id) {
            let after = wire.latency(end.peer_host, end.host);
            wire.schedule(after, Event::Fail(id, why));
        }
    }

    /// An answer of [`refuse`](Self::refuse) arrives.
    pub(super) fn refused(&mut self, wire: &mut Wire, id: Id, why: io::ErrorKind) {
        match self.ends.get_mut(&id) {
            Some(end) if wire.is_blocked(end.peer_host, end.host) => Self::stall(wire, id, end),
            Some(end) => {
                let peer_host = end.peer_host;
                wire.set_reason(|wire| format!("a packet of {}: {why}", wire.name_of(peer_host)));
                self.fail(wire, id, why);
            }
            None => {}
        }
    }

    /// The connection is over for this end.
    fn fail(&mut self, wire: &mut Wire, id: Id, why: io::ErrorKind) {
        if let Some(end) = self.ends.get_mut(&id) {
            end.error = Some(why);
            (end.has_ended, end.is_shut) = (true, true);
            (end.peer, end.stalled) = (None, None);
            end.outgoing.clear();
            wire.report(end.token, bits::ALL & !bits::PRIORITY);
        }
        self.forget(id);
    }

    /// Removes an end that has nothing left to do.
    fn forget(&mut self, id: Id) {
        if self.ends.get(&id).is_some_and(End::is_over) {
            self.ends.remove(&id);
        }
    }

    /// A socket is closed.
    pub(super) fn close(&mut self, wire: &mut Wire, id: Id) {
        if let Some(listener) = self.listeners.remove(&id) {
            wire.unbind(listener.host, Protocol::Tcp, listener.local.port(), id);
            for waiting in listener.queue {
                self.resets_when_closed(waiting);
                self.close(wire, waiting);
            }
            return;
        }
        let Some(end) = self.ends.get_mut(&id) else {
            return;
        };
        (end.is_closed, end.token) = (true, None);
        if !end.is_connected {
            self.ends.remove(&id);
            return;
        }
        let is_open = end.peer.is_some();
        if is_open && (end.resets_when_closed || !end.received.is_empty()) {
            self.send(wire, id, Segment::Reset);
        } else if is_open && !end.is_shut {
            self.send(wire, id, Segment::End);
        }
        self.forget(id);
    }

    /// Ends all sockets of a host. If its power is off, the segments under way are lost, and no peer learns of the end.
    /// Otherwise the host's system resets the connections.
    pub(super) fn end_all(&mut self, wire: &mut Wire, host: u32, is_off: bool) {
        let listeners = self.listeners.iter().filter(|(_, it)| it.host == host);
        let ends = self.ends.iter().filter(|(_, end)| end.host == host);
        let ids: (Vec<Id>, Vec<Id>) = (
            listeners.map(|(id, _)| *id).collect(),
            ends.map(|(id, _)| *id).collect(),
        );
        if is_off {
            ids.1.iter().for_each(|id| drop(self.ends.remove(id)));
        }
        for id in ids.0.into_iter().chain(ids.1) {
            self.resets_when_closed(id);
            self.close(wire, id);
        }
    }
}
