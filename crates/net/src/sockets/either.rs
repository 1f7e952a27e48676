//! The system's sockets, or those of a simulated network.
//!
//! A simulated socket has a socket of the system, too, which is never connected. It stands for the descriptor and keeps
//! the options. So code that sets options, or lends the descriptor, needs no other case.

use std::fmt;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::net::{self, IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr};
use std::ops::Deref;
use std::sync::OnceLock;

use blitz_io_driver::{Described, PollEvented};
use blitz_io_observe::{Descriptor, decisions};

use mio::event::Source;
use mio::{Interest, Registry, Token};
use socket2::{Domain, SockAddr, SockRef, Socket, Type};

use super::progress::is_in_progress;
use crate::simulation;

pub(crate) type TcpStream = Either<mio::net::TcpStream>;
pub(crate) type TcpListener = Either<mio::net::TcpListener>;
pub(crate) type UdpSocket = Either<mio::net::UdpSocket>;

/// A socket of the system, or of a simulated network.
pub(crate) struct Either<S> {
    /// The socket; in a simulation one that has only options and a descriptor.
    system: S,
    simulated: Option<simulation::Socket>,
}

impl<S> Either<S> {
    fn of_system(system: S) -> Self {
        Self {
            system,
            simulated: None,
        }
    }
}

impl<S> Deref for Either<S> {
    type Target = S;

    #[inline]
    fn deref(&self) -> &S {
        &self.system
    }
}

impl<S: fmt::Debug> fmt::Debug for Either<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.simulated {
            Some(socket) => socket.fmt(f),
            None => self.system.fmt(f),
        }
    }
}

#[cfg(unix)]
impl<S: std::os::fd::AsRawFd> std::os::fd::AsRawFd for Either<S> {
    fn as_raw_fd(&self) -> std::os::fd::RawFd {
        self.system.as_raw_fd()
    }
}

impl<S: Source> Source for Either<S> {
    fn register(&mut self, to: &Registry, token: Token, interest: Interest) -> io::Result<()> {
        match &self.simulated {
            Some(socket) => socket.register(token.0),
            None => self.system.register(to, token, interest),
        }
    }

    fn reregister(&mut self, to: &Registry, token: Token, interest: Interest) -> io::Result<()> {
        match &self.simulated {
            Some(socket) => socket.register(token.0),
            None => self.system.reregister(to, token, interest),
        }
    }

    fn deregister(&mut self, from: &Registry) -> io::Result<()> {
        match &self.simulated {
            Some(_) => Ok(()),
            None => self.system.deregister(from),
        }
    }
}

/// Registers a socket with the driver of the thread, or that of the simulated network.
#[track_caller]
pub(crate) fn register<S: Source>(socket: Either<S>) -> io::Result<PollEvented<Either<S>>>
where
    Either<S>: Described,
{
    if socket.simulated.is_none() {
        return PollEvented::new(socket);
    }
    let driver = simulation::driver()?;
    let descriptor =
        (socket.simulated.as_ref()).map_or(Descriptor::NONE, simulation::Socket::described);
    let io = PollEvented::with_driver(socket, &driver, descriptor)?;
    if let Some(simulated) = &io.simulated {
        simulated.registered();
    }
    Ok(io)
}

/// Returns a socket of the system for the options of a simulated one.
fn unconnected(kind: Type) -> io::Result<Socket> {
    let socket = decisions::with_system(|| Socket::new(Domain::IPV4, kind, None))?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// The error of operations that need a socket of the system.
fn is_simulated() -> io::Error {
    let text = "a socket of a simulated network is none of the system's";
    io::Error::new(io::ErrorKind::Unsupported, text)
}

impl Either<mio::net::TcpStream> {
    pub(crate) fn from_std(stream: net::TcpStream) -> Self {
        Self::of_system(mio::net::TcpStream::from_std(stream))
    }

    fn simulated(socket: simulation::Socket) -> io::Result<Self> {
        let system = unconnected(Type::STREAM)?;
        Ok(Self {
            system: mio::net::TcpStream::from_std(system.into()),
            simulated: Some(socket),
        })
    }

    /// Begins to connect.
    pub(crate) fn connect(addr: SocketAddr) -> io::Result<Self> {
        if simulation::is_on() {
            return Self::simulated(simulation::connect(None, addr)?);
        }
        mio::net::TcpStream::connect(addr).map(Self::of_system)
    }

    pub(crate) fn peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        match &self.simulated {
            Some(socket) => socket.read(&mut [IoSliceMut::new(buf)], true),
            None => self.system.peek(buf),
        }
    }

    pub(crate) fn take_error(&self) -> io::Result<Option<io::Error>> {
        match &self.simulated {
            Some(socket) => Ok(socket.take_error()),
            None => self.system.take_error(),
        }
    }

    pub(crate) fn local_addr(&self) -> io::Result<SocketAddr> {
        match &self.simulated {
            Some(socket) => socket.local_addr(),
            None => self.system.local_addr(),
        }
    }

    pub(crate) fn peer_addr(&self) -> io::Result<SocketAddr> {
        match &self.simulated {
            Some(socket) => socket.peer_addr(),
            None => self.system.peer_addr(),
        }
    }

    pub(crate) fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        match &self.simulated {
            Some(socket) => socket.shutdown(how),
            None => self.system.shutdown(how),
        }
    }
}

impl Read for &Either<mio::net::TcpStream> {
    #[inline]
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match &self.simulated {
            Some(socket) => socket.read(&mut [IoSliceMut::new(buf)], false),
            None => (&self.system).read(buf),
        }
    }

    fn read_vectored(&mut self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        match &self.simulated {
            Some(socket) => socket.read(bufs, false),
            None => (&self.system).read_vectored(bufs),
        }
    }
}

impl Write for &Either<mio::net::TcpStream> {
    #[inline]
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        match &self.simulated {
            Some(socket) => socket.write(&[IoSlice::new(buf)]),
            None => (&self.system).write(buf),
        }
    }

    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        match &self.simulated {
            Some(socket) => socket.write(bufs),
            None => (&self.system).write_vectored(bufs),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Makes the socket reset its connection when it is closed: its option `SO_LINGER` is zero.
pub(crate) fn resets_when_closed(stream: &TcpStream) {
    if let Some(socket) = &stream.simulated {
        socket.resets_when_closed();
    }
}

pub(crate) fn stream_into_std(stream: TcpStream) -> io::Result<net::TcpStream> {
    match stream.simulated {
        Some(_) => Err(is_simulated()),
        None => Ok(stream.system.into()),
    }
}

impl Either<mio::net::TcpListener> {
    pub(crate) fn from_std(listener: net::TcpListener) -> Self {
        Self::of_system(mio::net::TcpListener::from_std(listener))
    }

    fn simulated(socket: simulation::Socket) -> io::Result<Self> {
        let system = unconnected(Type::STREAM)?;
        Ok(Self {
            system: mio::net::TcpListener::from_std(system.into()),
            simulated: Some(socket),
        })
    }

    pub(crate) fn bind(addr: SocketAddr) -> io::Result<Self> {
        if simulation::is_on() {
            return Self::simulated(simulation::listen(addr)?);
        }
        mio::net::TcpListener::bind(addr).map(Self::of_system)
    }

    pub(crate) fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        match &self.simulated {
            Some(socket) => {
                let (stream, from) = socket.accept()?;
                Ok((Either::<mio::net::TcpStream>::simulated(stream)?, from))
            }
            None => {
                let (stream, from) = self.system.accept()?;
                Ok((Either::of_system(stream), from))
            }
        }
    }

    pub(crate) fn local_addr(&self) -> io::Result<SocketAddr> {
        match &self.simulated {
            Some(socket) => socket.local_addr(),
            None => self.system.local_addr(),
        }
    }
}

pub(crate) fn listener_into_std(listener: TcpListener) -> io::Result<net::TcpListener> {
    match listener.simulated {
        Some(_) => Err(is_simulated()),
        None => Ok(listener.system.into()),
    }
}

impl Either<mio::net::UdpSocket> {
    pub(crate) fn from_std(socket: net::UdpSocket) -> Self {
        Self::of_system(mio::net::UdpSocket::from_std(socket))
    }

    pub(crate) fn bind(addr: SocketAddr) -> io::Result<Self> {
        if !simulation::is_on() {
            return mio::net::UdpSocket::bind(addr).map(Self::of_system);
        }
        let simulated = simulation::bind_udp(addr)?;
        let system = unconnected(Type::DGRAM)?;
        Ok(Self {
            system: mio::net::UdpSocket::from_std(system.into()),
            simulated: Some(simulated),
        })
    }

    /// Fails as the system does if the socket has no option `SO_BROADCAST`, which a broadcast needs.
    fn check_broadcast(&self, target: SocketAddr) -> io::Result<()> {
        if target.ip() == IpAddr::from(Ipv4Addr::BROADCAST) && !self.system.broadcast()? {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        Ok(())
    }

    pub(crate) fn join_multicast_v4(&self, group: &Ipv4Addr, at: &Ipv4Addr) -> io::Result<()> {
        match &self.simulated {
            Some(socket) => socket.join_multicast((*group).into()),
            None => self.system.join_multicast_v4(group, at),
        }
    }

    pub(crate) fn leave_multicast_v4(&self, group: &Ipv4Addr, at: &Ipv4Addr) -> io::Result<()> {
        match &self.simulated {
            Some(socket) => socket.leave_multicast((*group).into()),
            None => self.system.leave_multicast_v4(group, at),
        }
    }

    pub(crate) fn join_multicast_v6(&self, group: &Ipv6Addr, at: u32) -> io::Result<()> {
        match &self.simulated {
            Some(socket) => socket.join_multicast((*group).into()),
            None => self.system.join_multicast_v6(group, at),
        }
    }

    pub(crate) fn leave_multicast_v6(&self, group: &Ipv6Addr, at: u32) -> io::Result<()> {
        match &self.simulated {
            Some(socket) => socket.leave_multicast((*group).into()),
            None => self.system.leave_multicast_v6(group, at),
        }
    }

    pub(crate) fn multicast_loop_v4(&self) -> io::Result<bool> {
        match &self.simulated {
            Some(socket) => socket.multicast_loop(),
            None => self.system.multicast_loop_v4(),
        }
    }

    pub(crate) fn set_multicast_loop_v4(&self, on: bool) -> io::Result<()> {
        match &self.simulated {
            Some(socket) => socket.set_multicast_loop(on),
            None => self.system.set_multicast_loop_v4(on),
        }
    }

    pub(crate) fn multicast_loop_v6(&self) -> io::Result<bool> {
        match &self.simulated {
            Some(socket) => socket.multicast_loop(),
            None => self.system.multicast_loop_v6(),
        }
    }

    pub(crate) fn set_multicast_loop_v6(&self, on: bool) -> io::Result<()> {
        match &self.simulated {
            Some(socket) => socket.set_multicast_loop(on),
            None => self.system.set_multicast_loop_v6(on),
        }
    }

    pub(crate) fn connect(&self, addr: SocketAddr) -> io::Result<()> {
        match &self.simulated {
            Some(socket) => {
                self.check_broadcast(addr)?;
                socket.connect_udp(addr)
            }
            None => self.system.connect(addr),
        }
    }

    pub(crate) fn send(&self, buf: &[u8]) -> io::Result<usize> {
        match &self.simulated {
            Some(socket) => socket.send(buf, None),
            None => self.system.send(buf),
        }
    }

    pub(crate) fn send_to(&self, buf: &[u8], target: SocketAddr) -> io::Result<usize> {
        match &self.simulated {
            Some(socket) => {
                self.check_broadcast(target)?;
                socket.send(buf, Some(target))
            }
            None => self.system.send_to(buf, target),
        }
    }

    pub(crate) fn recv(&self, buf: &mut [u8]) -> io::Result<usize> {
        match &self.simulated {
            Some(socket) => Ok(socket.receive(buf, false)?.0),
            None => self.system.recv(buf),
        }
    }

    pub(crate) fn recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        match &self.simulated {
            Some(socket) => socket.receive(buf, false),
            None => self.system.recv_from(buf),
        }
    }

    pub(crate) fn peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        match &self.simulated {
            Some(socket) => Ok(socket.receive(buf, true)?.0),
            None => self.system.peek(buf),
        }
    }

    pub(crate) fn peek_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        match &self.simulated {
            Some(socket) => socket.receive(buf, true),
            None => self.system.peek_from(buf),
        }
    }

    pub(crate) fn take_error(&self) -> io::Result<Option<io::Error>> {
        match &self.simulated {
            Some(_) => Ok(None),
            None => self.system.take_error(),
        }
    }

    pub(crate) fn local_addr(&self) -> io::Result<SocketAddr> {
        match &self.simulated {
            Some(socket) => socket.local_addr(),
            None => self.system.local_addr(),
        }
    }

    pub(crate) fn peer_addr(&self) -> io::Result<SocketAddr> {
        match &self.simulated {
            Some(socket) => socket.peer_addr(),
            None => self.system.peer_addr(),
        }
    }
}

pub(crate) fn udp_into_std(socket: UdpSocket) -> io::Result<net::UdpSocket> {
    match socket.simulated {
        Some(_) => Err(is_simulated()),
        None => Ok(socket.system.into()),
    }
}

pub(crate) fn peek_sender(socket: &UdpSocket) -> io::Result<SockAddr> {
    match &socket.simulated {
        Some(simulated) => Ok(simulated.receive(&mut [], true)?.1.into()),
        None => (socket.system).try_io(|| SockRef::from(&socket.system).peek_sender()),
    }
}

/// Returns the address of a host of the simulation, or an error in it if there is none of this name. `None` outside of a
/// simulation. Without a port, the name has one at its end.
pub(crate) fn look_up(name: &str, port: Option<u16>) -> Option<io::Result<SocketAddr>> {
    if !simulation::is_on() {
        return None;
    }
    let (name, port) = match port {
        Some(port) => (name, Some(port)),
        None => {
            let (name, port) = name.rsplit_once(':').unwrap_or((name, ""));
            (name, port.parse().ok())
        }
    };
    let address = match name {
        "localhost" => Some(IpAddr::from(Ipv4Addr::LOCALHOST)),
        _ => simulation::find(name).map(simulation::address),
    };
    let invalid = |why: String| io::Error::new(io::ErrorKind::InvalidInput, why);
    let Some(port) = port else {
        return Some(Err(invalid(
            "invalid socket address: it has no port".into(),
        )));
    };
    let address = address.ok_or_else(|| invalid(simulation::no_such_host(name)));
    Some(address.map(|address| SocketAddr::new(address, port)))
}

/// The simulated address to which a [`TcpSocket`](crate::TcpSocket) is bound.
#[derive(Default)]
pub(crate) struct Bound(OnceLock<SocketAddr>);

pub(crate) fn bind(socket: &Socket, bound: &Bound, addr: SocketAddr) -> io::Result<()> {
    if !simulation::is_on() {
        return socket.bind(&addr.into());
    }
    let twice = |_| io::Error::from(io::ErrorKind::InvalidInput);
    bound.0.set(addr).map_err(twice)
}

pub(crate) fn local_addr(socket: &Socket, bound: &Bound) -> io::Result<SockAddr> {
    match bound.0.get() {
        Some(addr) => Ok((*addr).into()),
        None => socket.local_addr(),
    }
}

/// Begins to connect.
pub(crate) fn connect(socket: Socket, bound: &Bound, addr: SocketAddr) -> io::Result<TcpStream> {
    if simulation::is_on() {
        let simulated = simulation::connect(bound.0.get().copied(), addr)?;
        let system = mio::net::TcpStream::from_std(socket.into());
        return Ok(Either {
            system,
            simulated: Some(simulated),
        });
    }
    match socket.connect(&addr.into()) {
        Err(error) if !is_in_progress(&error) => Err(error),
        _ => Ok(TcpStream::from_std(socket.into())),
    }
}

pub(crate) fn listen(socket: Socket, bound: &Bound, backlog: i32) -> io::Result<TcpListener> {
    if simulation::is_on() {
        let any = SocketAddr::new(IpAddr::from(Ipv4Addr::UNSPECIFIED), 0);
        let simulated = simulation::listen(bound.0.get().copied().unwrap_or(any))?;
        let system = mio::net::TcpListener::from_std(socket.into());
        return Ok(Either {
            system,
            simulated: Some(simulated),
        });
    }
    socket.listen(backlog)?;
    Ok(TcpListener::from_std(socket.into()))
}
