//! A Unix socket for datagrams.

use std::fmt;
use std::io;
use std::net::Shutdown;
use std::os::unix::net;
use std::path::Path;
use std::task::{Context, Poll};

use blitz_aio::{Interest, ReadBuf, Ready};
use blitz_driver::{Direction, PollEvented, bits};
use bytes::BufMut;

use super::SocketAddr;
use crate::buf::{receive_buf, receive_read_buf};
use crate::methods::{descriptors, readiness};
use crate::methods_datagram::{datagrams, datagrams_from};

/// A Unix socket for datagrams. None is lost, and their order is kept.
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
    /// Makes a socket that is bound to a path, at which there must be nothing yet.
    ///
    /// # Errors
    ///
    /// The system's.
    ///
    /// # Panics
    ///
    /// Outside of a runtime, and in one without I/O.
    #[track_caller]
    pub fn bind<P: AsRef<Path>>(path: P) -> io::Result<Self> {
        Self::new(mio::net::UnixDatagram::bind(path)?)
    }

    /// Makes a pair of sockets that are connected to each other.
    ///
    /// # Errors
    ///
    /// The system's.
    ///
    /// # Panics
    ///
    /// Outside of a runtime, and in one without I/O.
    #[track_caller]
    pub fn pair() -> io::Result<(Self, Self)> {
        let (one, other) = mio::net::UnixDatagram::pair()?;
        let (one, other) = (Self::new(one)?, Self::new(other)?);
        one.io.registration().suppose(bits::WRITABLE);
        other.io.registration().suppose(bits::WRITABLE);
        Ok((one, other))
    }

    /// Makes a socket that is bound to nothing: it can send, and nobody can send to it.
    ///
    /// # Errors
    ///
    /// The system's.
    ///
    /// # Panics
    ///
    /// Outside of a runtime, and in one without I/O.
    #[track_caller]
    pub fn unbound() -> io::Result<Self> {
        Self::new(mio::net::UnixDatagram::unbound()?)
    }

    #[track_caller]
    fn new(socket: mio::net::UnixDatagram) -> io::Result<Self> {
        let io = PollEvented::new(socket)?;
        Ok(Self { io })
    }

    /// Registers a socket of the standard library's, which must be in non-blocking mode.
    ///
    /// # Errors
    ///
    /// The system's.
    ///
    /// # Panics
    ///
    /// Outside of a runtime, and in one without I/O.
    #[track_caller]
    pub fn from_std(datagram: net::UnixDatagram) -> io::Result<Self> {
        Self::new(mio::net::UnixDatagram::from_std(datagram))
    }

    /// Turns it into a socket of the standard library's, in non-blocking mode.
    ///
    /// # Errors
    ///
    /// The system's.
    pub fn into_std(self) -> io::Result<net::UnixDatagram> {
        Ok(self.io.into_inner()?.into())
    }

    /// Connects it to the socket at a path: it sends only there, and receives only from
    /// there.
    ///
    /// # Errors
    ///
    /// The system's.
    pub fn connect<P: AsRef<Path>>(&self, path: P) -> io::Result<()> {
        self.io.connect(path)
    }

    readiness!(poll_recv_ready, poll_send_ready);
    datagrams!();
    datagrams_from!(SocketAddr);

    fn receive_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let (n, addr) = self.io.recv_from(buf)?;
        Ok((n, SocketAddr(addr)))
    }

    /// Sends a datagram to the socket at a path. Returns the number of bytes.
    ///
    /// Cancel safe: when the future is dropped, nothing has been sent.
    ///
    /// # Errors
    ///
    /// The system's.
    pub async fn send_to<P: AsRef<Path>>(&self, buf: &[u8], target: P) -> io::Result<usize> {
        let send = || self.io.send_to(buf, target.as_ref());
        let registration = self.io.registration();
        registration.async_io(Direction::Write.mask(), send).await
    }

    /// Sends what a buffer holds, as one datagram, to the socket at a path.
    /// The buffer is given away, and comes back with the number of bytes.
    ///
    /// Cancel safe: when the future is dropped, nothing has been sent. Its buffer is dropped
    /// with it.
    ///
    /// # Errors
    ///
    /// The system's.
    pub async fn send_to_owned<B: blitz_aio::IoBuf, P: AsRef<Path>>(
        &self,
        buf: B,
        target: P,
    ) -> blitz_aio::BufResult<usize, B> {
        let result = self.send_to(crate::buf::init(&buf), target).await;
        (result, buf)
    }

    /// Sends a datagram to the socket at a path. The waker of the last call is the one
    /// that is woken.
    ///
    /// # Errors
    ///
    /// The system's.
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
    /// The system's, and `WouldBlock` if there is no room.
    pub fn try_send_to<P: AsRef<Path>>(&self, buf: &[u8], target: P) -> io::Result<usize> {
        let send = || self.io.send_to(buf, target);
        let registration = self.io.registration();
        registration.try_io(Direction::Write.mask(), send)
    }

    /// Returns the address to which it is bound.
    ///
    /// # Errors
    ///
    /// The system's.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.local_addr().map(SocketAddr)
    }

    /// Returns the address to which it is connected.
    ///
    /// # Errors
    ///
    /// The system's, for example if it is not connected.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.io.peer_addr().map(SocketAddr)
    }

    /// Takes the error that the socket has met meanwhile, `SO_ERROR`, which is cleared.
    ///
    /// # Errors
    ///
    /// The system's.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.io.take_error()
    }

    /// Ends sending, receiving, or both. Those who wait are woken, and learn of it.
    ///
    /// # Errors
    ///
    /// The system's.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.io.shutdown(how)
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
