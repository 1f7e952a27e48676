//! A Unix datagram socket.

use std::fmt;
use std::io;
use std::net::Shutdown;
use std::os::unix::net;
use std::path::Path;
use std::task::{Context, Poll};

use blitz_io_aio::{BufResult, IoBuf};
use blitz_io_driver::{Direction, PollEvented, bits};

use super::SocketAddr;
use crate::datagram::{self, DatagramSource};
use crate::descriptors::descriptors;
use crate::{buf, source};

/// A Unix datagram socket. No datagram is lost, and their order is kept.
///
/// # Examples
///
/// ```
/// use blitz_io::net::UnixDatagram;
///
/// # fn main() -> std::io::Result<()> {
/// # let runtime = blitz_io::runtime::Builder::new_current_thread().enable_io().build()?;
/// # runtime.block_on(async {
/// let (one, other) = UnixDatagram::pair()?;
/// one.send(b"hello").await?;
/// let mut buffer = [0; 16];
/// let n = other.recv(&mut buffer).await?;
/// assert_eq!(&buffer[..n], b"hello");
/// # Ok(())
/// # })
/// # }
/// ```
pub struct UnixDatagram {
    io: PollEvented<mio::net::UnixDatagram>,
}

impl UnixDatagram {
    /// Creates a socket that is bound to a path, which must not exist yet.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    ///
    /// # Panics
    ///
    /// Panics outside of a runtime, and in a runtime without I/O.
    #[track_caller]
    pub fn bind<P: AsRef<Path>>(path: P) -> io::Result<Self> {
        Self::new(mio::net::UnixDatagram::bind(path)?)
    }

    /// Creates a pair of sockets that are connected to each other.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    ///
    /// # Panics
    ///
    /// Panics outside of a runtime, and in a runtime without I/O.
    #[track_caller]
    pub fn pair() -> io::Result<(Self, Self)> {
        let (one, other) = mio::net::UnixDatagram::pair()?;
        let (one, other) = (Self::new(one)?, Self::new(other)?);
        one.io.registration().suppose(bits::WRITABLE);
        other.io.registration().suppose(bits::WRITABLE);
        Ok((one, other))
    }

    /// Creates an unbound socket: it can send, but no socket can send to it.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    ///
    /// # Panics
    ///
    /// Panics outside of a runtime, and in a runtime without I/O.
    #[track_caller]
    pub fn unbound() -> io::Result<Self> {
        Self::new(mio::net::UnixDatagram::unbound()?)
    }

    #[track_caller]
    fn new(socket: mio::net::UnixDatagram) -> io::Result<Self> {
        let io = PollEvented::new(socket)?;
        Ok(Self { io })
    }

    /// Registers a standard library socket, which must be in non-blocking mode.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    ///
    /// # Panics
    ///
    /// Panics outside of a runtime, and in a runtime without I/O. In a debug build, also if the
    /// socket is in blocking mode.
    #[track_caller]
    pub fn from_std(datagram: net::UnixDatagram) -> io::Result<Self> {
        source::assert_nonblocking(&datagram)?;
        Self::new(mio::net::UnixDatagram::from_std(datagram))
    }

    /// Converts it into a standard library socket, in non-blocking mode.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn into_std(self) -> io::Result<net::UnixDatagram> {
        Ok(self.io.into_inner()?.into())
    }

    /// Connects the socket to the one at a path: it sends only there, and receives only
    /// from there.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn connect<P: AsRef<Path>>(&self, path: P) -> io::Result<()> {
        self.io.connect(path)
    }

    source::ready_method!("socket");
    source::readable_methods!("socket", poll_recv_ready);
    source::writable_methods!("socket", poll_send_ready);
    source::try_io_methods!("socket", |io, f| io.try_io(f));

    datagram::datagram_methods!(SocketAddr);

    /// Sends a datagram to the socket at a path. Returns the number of bytes.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: when the future is dropped, nothing has been sent.
    #[track_caller]
    pub fn send_to<P: AsRef<Path>>(
        &self,
        buf: &[u8],
        target: P,
    ) -> impl Future<Output = io::Result<usize>> {
        blitz_io_observe::CalledAt::new(async move {
            let send = || self.io.send_to(buf, target.as_ref());
            let registration = self.io.registration();
            registration.async_io(Direction::Write.mask(), send).await
        })
    }

    /// Sends the contents of a buffer, as one datagram, to the socket at a path. The
    /// operation owns the buffer while it runs, and returns it with the number of bytes.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: when the future is dropped, nothing has been sent. Its buffer is
    /// dropped with it.
    #[track_caller]
    pub fn send_to_owned<B: IoBuf, P: AsRef<Path>>(
        &self,
        buf: B,
        target: P,
    ) -> impl Future<Output = BufResult<usize, B>> {
        blitz_io_observe::CalledAt::new(async move {
            let result = self.send_to(buf::init(&buf), target).await;
            (result, buf)
        })
    }

    /// Sends a datagram to the socket at a path. Only the waker of the last call is woken.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn poll_send_to<P: AsRef<Path>>(
        &self,
        cx: &mut Context<'_>,
        buf: &[u8],
        target: P,
    ) -> Poll<io::Result<usize>> {
        let send = || self.io.send_to(buf, target.as_ref());
        let registration = self.io.registration();
        registration.poll_io(cx, Direction::Write, send)
    }

    /// Sends a datagram to the socket at a path, without waiting.
    ///
    /// # Errors
    ///
    /// Returns the system's errors, and `WouldBlock` if there is no room.
    pub fn try_send_to<P: AsRef<Path>>(&self, buf: &[u8], target: P) -> io::Result<usize> {
        let send = || self.io.send_to(buf, target);
        let registration = self.io.registration();
        registration.try_io(Direction::Write.mask(), send)
    }

    /// Returns the address to which the socket is bound.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.local_addr().map(SocketAddr)
    }

    /// Returns the address to which the socket is connected.
    ///
    /// # Errors
    ///
    /// Returns the system's errors, for example if it is not connected.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.io.peer_addr().map(SocketAddr)
    }

    /// Returns the pending error of the socket, `SO_ERROR`, and clears it.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.io.take_error()
    }

    /// Ends sending, receiving, or both. Tasks that wait are woken, and see it.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.io.shutdown(how)
    }
}

// SAFETY: one call of `recv` or `recvfrom`.
unsafe impl DatagramSource for mio::net::UnixDatagram {
    type Addr = SocketAddr;

    fn receive(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.recv(buf)
    }

    fn receive_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let (n, addr) = self.recv_from(buf)?;
        Ok((n, SocketAddr(addr)))
    }
}

impl TryFrom<net::UnixDatagram> for UnixDatagram {
    type Error = io::Error;

    /// See [`UnixDatagram::from_std`].
    fn try_from(datagram: net::UnixDatagram) -> io::Result<Self> {
        Self::from_std(datagram)
    }
}

impl fmt::Debug for UnixDatagram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.io.fmt(f)
    }
}

descriptors!(UnixDatagram);
