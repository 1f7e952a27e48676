//! Sockets.
//!
//! A socket of the Internet becomes a Unix socket of the kernel with an abstract name made of the
//! process and the port. Such a socket delivers within the call, in one step, so its state depends on the
//! order of the program's calls only; a loopback connection of the kernel would deliver whenever an
//! interrupt has time. Addresses, options and errors are those of the Internet, from tables here. The
//! process is one host: all local addresses mean it, and other ones end the run.

use std::collections::BTreeMap;

use crate::baton::{descriptors_changed, has_fault, point};
use crate::c::{
    EADDRINUSE, EBADF, ECONNREFUSED, ECONNRESET, EHOSTUNREACH, EINVAL, EISCONN, EMFILE, ENOENT,
    ENOTCONN, O_NONBLOCK, POLLIN, POLLOUT, Raw, Timeval, nr,
};
use crate::descriptors::{Kind, Waits, until_ready};
use crate::end;
use crate::network;
use crate::progress;
use crate::shared::region::fault;
use crate::silence::{self, Silence};
use crate::state::{NEVER, sim};
use crate::sys;

const UNIX: i32 = 1;
const INET: i32 = 2;
const INET6: i32 = 10;
const STREAM: i32 = 1;
const DATAGRAM: i32 = 2;
/// Size of a socket's buffer, as far as the kernel allows it. Those of TCP grow to megabytes.
static BUFFER: i32 = 4 << 20;

/// An address of the Internet.
#[derive(Clone, Copy, Default)]
pub struct Address {
    pub ip: [u8; 16],
    pub port: u16,
}

/// State of one socket.
#[derive(Clone, Default)]
pub struct Socket {
    domain: i32,
    pub kind: i32,
    protocol: i32,
    pub local: Option<Address>,
    pub peer: Option<Address>,
    /// The connection was reset, or TCP has given it up.
    pub is_broken: bool,
    /// The error that says so, until a call has told it; 0: none.
    pub untold: i32,
    /// Set if the connection is half open (`silence`).
    pub silence: Option<Silence>,
    /// Options by level and name.
    options: BTreeMap<(i32, i32), Vec<u8>>,
}

impl Socket {
    pub fn is_internet(&self) -> bool {
        self.domain != UNIX
    }

    /// Returns `true` if its end is a reset (`SO_LINGER` with a time of zero).
    pub fn ends_by_reset(&self) -> bool {
        const LINGER: (i32, i32) = (1, 13);
        let value = self.options.get(&LINGER);
        // Not zero: on. Then seconds.
        value.is_some_and(|value| value.len() == 8 && value[..4] != [0; 4] && value[4..] == [0; 4])
    }

    /// Returns the number that an option has; 0 if it is not set.
    pub fn number(&self, option: (i32, i32)) -> u64 {
        let value = self.options.get(&option);
        let number = value.and_then(|value| value[..].try_into().ok());
        number.map_or(0, |bytes| i32::from_ne_bytes(bytes).max(0) as u64)
    }

    /// Returns `true` if it transfers bytes and not messages.
    pub fn is_stream(&self) -> bool {
        self.kind == STREAM
    }

    /// Returns `true` for the end at `local` of a connection of TCP to `peer`.
    pub fn connects(&self, local: u16, peer: u16) -> bool {
        let ports = (
            self.local.map(|local| local.port),
            self.peer.map(|peer| peer.port),
        );
        self.is_internet() && self.is_stream() && ports == (Some(local), Some(peer))
    }

    pub fn is_datagram(&self) -> bool {
        self.is_internet() && self.kind == DATAGRAM
    }

    pub fn loopback(&self) -> [u8; 16] {
        let mut ip = [0; 16];
        if self.domain == INET6 {
            ip[15] = 1;
        } else {
            ip[..4].copy_from_slice(&[127, 0, 0, 1]);
        }
        ip
    }

    /// Replaces the unspecified address.
    fn concrete(&self, address: Address) -> Address {
        if address.ip == [0; 16] {
            Address {
                ip: self.loopback(),
                ..address
            }
        } else {
            address
        }
    }
}

/// A Unix socket address.
pub struct Name {
    pub bytes: [u8; 110],
    pub length: usize,
}

impl Name {
    pub unsafe fn new(kind: i32, port: u16) -> Name {
        let pid = sys::getpid();
        let text = format!("\0blitz-sim/{pid}/{kind}/{port}");
        let mut name = Name {
            bytes: [0; 110],
            length: 2 + text.len(),
        };
        name.bytes[0] = UNIX as u8;
        name.bytes[2..name.length].copy_from_slice(text.as_bytes());
        name
    }

    pub fn empty() -> Name {
        Name {
            bytes: [0; 110],
            length: 110,
        }
    }

    /// Returns the port in the name.
    pub fn port(&self) -> u16 {
        let text = core::str::from_utf8(&self.bytes[2.min(self.length)..self.length]).unwrap_or("");
        text.rsplit('/')
            .next()
            .and_then(|port| port.parse().ok())
            .unwrap_or(0)
    }

    pub fn pointer(&self) -> usize {
        self.bytes.as_ptr() as usize
    }
}

/// Reads an address that the program gives.
pub unsafe fn parse(socket: &Socket, from: usize, length: usize) -> Result<Address, Raw> {
    let needed = if socket.domain == INET6 { 24 } else { 8 };
    let bytes = from as *const u8;
    if from == 0 || length < needed || i32::from(*bytes) != socket.domain {
        return Err(-(EINVAL as Raw));
    }
    let mut address = Address {
        ip: [0; 16],
        port: u16::from_be_bytes([*bytes.add(2), *bytes.add(3)]),
    };
    let (start, count) = if socket.domain == INET6 {
        (8, 16)
    } else {
        (4, 4)
    };
    core::ptr::copy_nonoverlapping(bytes.add(start), address.ip.as_mut_ptr(), count);
    Ok(address)
}

/// Ends the run if an address is not this host's.
pub unsafe fn require_local(call: &str, socket: &Socket, address: &Address, from: usize) {
    let ip = &address.ip;
    let local = if socket.domain == INET6 {
        let mapped = ip[..10] == [0; 10] && ip[10..12] == [255, 255] && ip[12] == 127;
        ip[..15] == [0; 15] && ip[15] <= 1 || mapped
    } else {
        ip[0] == 127 || ip[..4] == [0; 4]
    };
    if !local {
        let shown = if socket.domain == INET6 {
            std::net::Ipv6Addr::from(*ip).to_string()
        } else {
            std::net::Ipv4Addr::new(ip[0], ip[1], ip[2], ip[3]).to_string()
        };
        end::escaped(&format!("{call} to {shown} port {}", address.port), from);
    }
}

/// Writes an address where the program wants it.
pub unsafe fn write_address(socket: &Socket, address: &Address, to: usize, length: usize) {
    if to == 0 || length == 0 {
        return;
    }
    let mut bytes = [0u8; 28];
    bytes[0] = socket.domain as u8;
    bytes[2..4].copy_from_slice(&address.port.to_be_bytes());
    let size = if socket.domain == INET6 {
        bytes[8..24].copy_from_slice(&address.ip);
        28
    } else {
        bytes[4..8].copy_from_slice(&address.ip[..4]);
        16
    };
    let length = length as *mut u32;
    let room = (*length as usize).min(size);
    core::ptr::copy_nonoverlapping(bytes.as_ptr(), to as *mut u8, room);
    *length = size as u32;
}

/// `socket`.
pub unsafe fn socket(domain: i32, kind: i32, protocol: i32, from: usize) -> Raw {
    let (flags, kind) = (kind as usize & !15, kind & 15);
    let known = match domain {
        UNIX => true,
        INET | INET6 => kind == STREAM || kind == DATAGRAM,
        _ => false,
    };
    if !known {
        end::escaped(&format!("socket of domain {domain} and type {kind}"), from);
    }
    let fd = sys::call(
        nr::SOCKET,
        [
            UNIX as usize,
            kind as usize | flags | O_NONBLOCK,
            0,
            0,
            0,
            0,
        ],
    );
    if fd >= 0 {
        enlarge(fd as usize, domain);
        let protocol = match (domain, kind, protocol) {
            (UNIX, ..) => 0,
            (_, STREAM, 0) => 6,
            (_, _, 0) => 17,
            _ => protocol,
        };
        let socket = Socket {
            domain,
            kind,
            protocol,
            ..Socket::default()
        };
        sim().descriptors.add(
            fd as usize,
            Kind::Socket(Box::new(socket)),
            flags & O_NONBLOCK != 0,
        );
    }
    fd
}

/// Gives a socket of the Internet a large buffer.
unsafe fn enlarge(fd: usize, domain: i32) {
    if domain != UNIX {
        // Level 1, option 7: the send buffer.
        let size = &raw const BUFFER as usize;
        sys::call(nr::SETSOCKOPT, [fd, 1, 7, size, 4, 0]);
    }
}

/// `socketpair`.
pub unsafe fn pair(domain: i32, kind: i32, fds: *mut i32, from: usize) -> Raw {
    if domain != UNIX {
        end::escaped("socketpair", from);
    }
    let arguments = [
        UNIX as usize,
        kind as usize | O_NONBLOCK,
        0,
        fds as usize,
        0,
        0,
    ];
    let result = sys::call(nr::SOCKETPAIR, arguments);
    if result == 0 {
        for at in 0..2 {
            let socket = Socket {
                domain,
                kind: kind & 15,
                ..Socket::default()
            };
            let nonblocking = kind as usize & O_NONBLOCK != 0;
            sim().descriptors.add(
                *fds.add(at) as usize,
                Kind::Socket(Box::new(socket)),
                nonblocking,
            );
        }
    }
    result
}

/// Gives a socket a port: the one of `address`, or a free one.
pub unsafe fn bind_to(fd: usize, mut address: Address) -> Raw {
    let Some(kind) = sim().descriptors.socket(fd).map(|socket| socket.kind) else {
        return -(EBADF as Raw);
    };
    let any = address.port == 0;
    loop {
        if any {
            let port = &mut sim().descriptors.port;
            address.port = 40_000 + *port % 20_000;
            *port += 1;
        }
        let name = Name::new(kind, address.port);
        let result = sys::call(nr::BIND, [fd, name.pointer(), name.length, 0, 0, 0]);
        if result == -(EADDRINUSE as Raw) && any {
            continue;
        }
        if let (0, Some(socket)) = (result, sim().descriptors.socket(fd)) {
            socket.local = Some(address);
        }
        return result;
    }
}

/// `bind`.
pub unsafe fn bind(fd: usize, address: usize, length: usize, from: usize) -> Raw {
    let Some(socket) = sim().descriptors.socket(fd) else {
        return sys::call(nr::BIND, [fd, address, length, 0, 0, 0]);
    };
    let socket = socket.clone();
    point("bind", 0);
    if socket.is_internet() {
        let address = match parse(&socket, address, length) {
            Ok(address) => address,
            Err(error) => return error,
        };
        require_local("bind", &socket, &address, from);
        return bind_to(fd, address);
    }
    let result = sys::call(nr::BIND, [fd, address, length, 0, 0, 0]);
    if result == 0 {
        let name = core::slice::from_raw_parts(address as *const u8, length).to_vec();
        sim().descriptors.bound.insert(name);
    }
    result
}

/// `listen`.
pub unsafe fn listen(fd: usize, backlog: usize) -> Raw {
    point("listen", 0);
    // A queue that is full would let `connect` of a Unix socket fail where one of the Internet waits.
    let backlog = if sim().descriptors.socket(fd).is_some() {
        4096
    } else {
        backlog
    };
    if let Some(socket) = sim().descriptors.socket(fd) {
        if socket.is_internet() && socket.local.is_none() {
            bind_to(fd, Address::default());
        }
    }
    sys::call(nr::LISTEN, [fd, backlog, 0, 0, 0, 0])
}

/// `connect`.
pub unsafe fn connect(fd: usize, address: usize, length: usize, from: usize) -> Raw {
    let Some(socket) = sim().descriptors.socket(fd).map(|socket| socket.clone()) else {
        return sys::call(nr::CONNECT, [fd, address, length, 0, 0, 0]);
    };
    point("connect", 0);
    if !socket.is_internet() {
        let name = core::slice::from_raw_parts(address as *const u8, length).to_vec();
        let known = sim().descriptors.bound.contains(&name);
        let waits = Waits {
            fd,
            events: POLLOUT,
            never: false,
        };
        let result = until_ready(waits, || {
            sys::call(nr::CONNECT, [fd, address, length, 0, 0, 0])
        });
        let absent = result == -(ECONNREFUSED as Raw) || result == -(ENOENT as Raw);
        if !known && !absent {
            end::escaped("connect to a Unix socket of another process", from);
        }
        return result;
    }
    let target = match parse(&socket, address, length) {
        Ok(address) => address,
        Err(error) => return error,
    };
    require_local("connect", &socket, &target, from);
    if !socket.is_datagram() && sim().wires.is_cut(target.port, sim().now) {
        return -(EHOSTUNREACH as Raw);
    }
    if socket.peer.is_some() && !socket.is_datagram() {
        return -(EISCONN as Raw);
    }
    if socket.local.is_none() {
        bind_to(
            fd,
            Address {
                ip: socket.loopback(),
                port: 0,
            },
        );
    }
    if !socket.is_datagram() {
        let name = Name::new(socket.kind, target.port);
        let result = sys::call(nr::CONNECT, [fd, name.pointer(), name.length, 0, 0, 0]);
        if result < 0 {
            return result;
        }
        let local = sim().descriptors.socket(fd).and_then(|found| found.local);
        // An earlier connection may have had the same port.
        sim()
            .wires
            .is_new(target.port, local.map_or(0, |local| local.port));
    }
    if let Some(found) = sim().descriptors.socket(fd) {
        found.peer = Some(socket.concrete(target));
        found.local = found.local.map(|local| socket.concrete(local));
    }
    progress::change();
    descriptors_changed();
    0
}

/// `accept4`.
pub unsafe fn accept(fd: usize, address: usize, length: usize, flags: usize) -> Raw {
    let Some(listener) = sim().descriptors.socket(fd).map(|socket| socket.clone()) else {
        return sys::call(nr::ACCEPT4, [fd, address, length, flags, 0, 0]);
    };
    point("accept", 0);
    if has_fault(fault::EMFILE) {
        return -(EMFILE as Raw);
    }
    let mut name = Name::empty();
    let internet = listener.is_internet();
    let mut name_length = 110u32;
    let waits = Waits {
        fd,
        events: POLLIN,
        never: false,
    };
    let new = network::transfer(waits, || {
        let (to, size) = if internet {
            (
                name.bytes.as_mut_ptr() as usize,
                &raw mut name_length as usize,
            )
        } else {
            (address, length)
        };
        sys::call(nr::ACCEPT4, [fd, to, size, flags | O_NONBLOCK, 0, 0])
    });
    if new < 0 {
        return new;
    }
    name.length = name_length as usize;
    let mut socket = Socket {
        options: BTreeMap::new(),
        ..listener.clone()
    };
    if internet {
        enlarge(new as usize, listener.domain);
        let peer = Address {
            ip: listener.loopback(),
            port: name.port(),
        };
        socket.local = listener.local.map(|local| listener.concrete(local));
        socket.peer = Some(peer);
        let port = listener.local.map_or(0, |local| local.port);
        socket.is_broken = sim().wires.was_reset(port, peer.port);
        socket.untold = if socket.is_broken { ECONNRESET } else { 0 };
        let is_silent = sim().wires.is_silent(port, peer.port);
        socket.silence = is_silent.then(|| Silence::new(sim().now));
        write_address(&socket, &peer, address, length);
    }
    sim().descriptors.add(
        new as usize,
        Kind::Socket(Box::new(socket)),
        flags & O_NONBLOCK != 0,
    );
    new
}

/// `getsockname` and `getpeername`.
pub unsafe fn name_of(number: usize, fd: usize, address: usize, length: usize) -> Raw {
    let socket = match sim().descriptors.socket(fd) {
        Some(socket) if socket.is_internet() => socket.clone(),
        _ => return sys::call(number, [fd, address, length, 0, 0, 0]),
    };
    let found = if number == nr::GETPEERNAME {
        socket.peer
    } else {
        Some(socket.local.unwrap_or_default())
    };
    let Some(found) = found else {
        return -(ENOTCONN as Raw);
    };
    write_address(&socket, &found, address, length);
    0
}

/// `setsockopt`.
pub unsafe fn set_option(fd: usize, level: i32, name: i32, value: usize, length: usize) -> Raw {
    let raw = || {
        sys::call(
            nr::SETSOCKOPT,
            [fd, level as usize, name as usize, value, length, 0],
        )
    };
    let Some(description) = sim().descriptors.get(fd) else {
        return raw();
    };
    // Timeouts of reads and writes.
    if level == 1 && (name == 20 || name == 21) && length >= 16 {
        let time = *(value as *const Timeval);
        let total = time.sec.max(0) as u64 * 1_000_000_000 + time.usec.max(0) as u64 * 1_000;
        description.timeouts[(name - 20) as usize] = if total == 0 { NEVER } else { total };
    }
    match &mut description.kind {
        Kind::Socket(socket) if socket.is_internet() => {
            let bytes = core::slice::from_raw_parts(value as *const u8, length.min(256)).to_vec();
            socket.options.insert((level, name), bytes);
            silence::changed();
            0
        }
        Kind::Socket(_) if level == 1 && (name == 20 || name == 21) => 0,
        _ => raw(),
    }
}

/// `getsockopt`.
pub unsafe fn get_option(fd: usize, level: i32, name: i32, value: usize, length: usize) -> Raw {
    let raw = || {
        sys::call(
            nr::GETSOCKOPT,
            [fd, level as usize, name as usize, value, length, 0],
        )
    };
    let socket = match sim().descriptors.socket(fd) {
        Some(socket) if socket.is_internet() => socket,
        _ => return raw(),
    };
    let stored = match (level, name) {
        // The error of a connection that is broken.
        (1, 4) if socket.untold != 0 => core::mem::take(&mut socket.untold).to_ne_bytes().to_vec(),
        // Type, error, sizes of the buffers, listening.
        (1, 3 | 4 | 7 | 8 | 30) => return raw(),
        (1, 38) => socket.protocol.to_ne_bytes().to_vec(),
        (1, 39) => socket.domain.to_ne_bytes().to_vec(),
        _ => socket
            .options
            .get(&(level, name))
            .cloned()
            .unwrap_or_default(),
    };
    let length = length as *mut u32;
    let room = *length as usize;
    let bytes = core::slice::from_raw_parts_mut(value as *mut u8, room);
    bytes.fill(0);
    let count = room.min(stored.len());
    bytes[..count].copy_from_slice(&stored[..count]);
    if count > 0 {
        *length = count as u32;
    }
    0
}

/// `shutdown`.
pub unsafe fn shutdown(fd: usize, how: usize) -> Raw {
    point("shutdown", 0);
    if let Some(result) = network::shutdown(fd, how) {
        return result;
    }
    let result = sys::call(nr::SHUTDOWN, [fd, how, 0, 0, 0, 0]);
    descriptors_changed();
    result
}
