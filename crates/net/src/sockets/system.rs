//! The system's sockets.

use std::io;
use std::net::{self, SocketAddr};

use blitz_io_driver::{Described, PollEvented};
use mio::event::Source;
pub(crate) use mio::net::{TcpListener, TcpStream, UdpSocket};
use socket2::{SockAddr, SockRef, Socket};

use super::progress::is_in_progress;

/// The simulated address to which a socket is bound: there is none.
#[derive(Default)]
pub(crate) struct Bound(());

/// Registers a socket with the driver of the thread.
#[inline]
#[track_caller]
pub(crate) fn register<S: Source + Described>(socket: S) -> io::Result<PollEvented<S>> {
    PollEvented::new(socket)
}

#[inline]
pub(crate) fn stream_into_std(stream: TcpStream) -> io::Result<net::TcpStream> {
    Ok(stream.into())
}

#[inline]
pub(crate) fn listener_into_std(listener: TcpListener) -> io::Result<net::TcpListener> {
    Ok(listener.into())
}

#[inline]
pub(crate) fn udp_into_std(socket: UdpSocket) -> io::Result<net::UdpSocket> {
    Ok(socket.into())
}

/// The socket's option `SO_LINGER` is zero: the system knows that.
#[inline]
pub(crate) fn resets_when_closed(_: &TcpStream) {}

/// Returns the address of a host of a simulation: there is none.
#[inline]
pub(crate) fn look_up(_name: &str, _port: Option<u16>) -> Option<io::Result<SocketAddr>> {
    None
}

pub(crate) fn peek_sender(socket: &UdpSocket) -> io::Result<SockAddr> {
    socket.try_io(|| SockRef::from(socket).peek_sender())
}

#[inline]
pub(crate) fn bind(socket: &Socket, _: &Bound, addr: SocketAddr) -> io::Result<()> {
    socket.bind(&addr.into())
}

#[inline]
pub(crate) fn local_addr(socket: &Socket, _: &Bound) -> io::Result<SockAddr> {
    socket.local_addr()
}

/// Begins to connect.
pub(crate) fn connect(socket: Socket, _: &Bound, addr: SocketAddr) -> io::Result<TcpStream> {
    match socket.connect(&addr.into()) {
        Err(error) if !is_in_progress(&error) => Err(error),
        _ => Ok(TcpStream::from_std(socket.into())),
    }
}

#[inline]
pub(crate) fn listen(socket: Socket, _: &Bound, backlog: i32) -> io::Result<TcpListener> {
    socket.listen(backlog)?;
    Ok(TcpListener::from_std(socket.into()))
}
