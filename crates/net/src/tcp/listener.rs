//! A TCP socket that accepts connections.

use std::fmt;
use std::io;
use std::net::{self, SocketAddr};
use std::task::{Context, Poll, ready};

use blitz_io_driver::{Direction, PollEvented};

use super::stream::TcpStream;
use crate::addr::{self, ToSocketAddrs};
use crate::descriptors::descriptors;
use crate::{sockets, source};

/// A TCP socket that accepts connections.
///
/// # Examples
///
/// ```
/// use blitz_io::net::{TcpListener, TcpStream};
///
/// # fn main() -> std::io::Result<()> {
/// # let runtime = blitz_io::runtime::Builder::new_current_thread().enable_io().build()?;
/// # runtime.block_on(async {
/// let listener = TcpListener::bind("127.0.0.1:0").await?;
/// let client = TcpStream::connect(listener.local_addr()?).await?;
/// let (stream, peer) = listener.accept().await?;
/// assert_eq!(peer, client.local_addr()?);
/// assert_eq!(stream.peer_addr()?, peer);
/// # Ok(())
/// # })
/// # }
/// ```
pub struct TcpListener {
    io: PollEvented<sockets::TcpListener>,
}

impl TcpListener {
    /// Creates a socket that accepts connections at an address. Of several addresses, the
    /// first one is used that can be bound. Port 0 lets the system choose one.
    /// `SO_REUSEADDR` is set, except on Windows.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    ///
    /// # Panics
    ///
    /// Panics outside of a runtime, and in a runtime without I/O.
    pub async fn bind<A: ToSocketAddrs>(addr: A) -> io::Result<Self> {
        addr::first(addr, async |addr| {
            Self::new(sockets::TcpListener::bind(addr)?)
        })
        .await
    }

    #[track_caller]
    pub(super) fn new(listener: sockets::TcpListener) -> io::Result<Self> {
        let io = sockets::register(listener)?;
        Ok(Self { io })
    }

    /// Waits for a connection.
    ///
    /// # Errors
    ///
    /// Returns the system's errors. Some concern only the one connection; others, such as
    /// too many open files, recur at once, so wait a little before you call this again.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: no connection is lost when the future is dropped.
    #[track_caller]
    pub fn accept(&self) -> impl Future<Output = io::Result<(TcpStream, SocketAddr)>> {
        blitz_io_observe::CalledAt::new(async move {
            let accept = || self.io.accept();
            let registration = self.io.registration();
            let (stream, addr) = (registration.async_io(Direction::Read.mask(), accept)).await?;
            Ok((TcpStream::accepted(stream)?, addr))
        })
    }

    /// Waits for a connection. Only the waker of the last call is woken.
    ///
    /// # Errors
    ///
    /// Same as for [`accept`](Self::accept).
    pub fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
        let accept = || self.io.accept();
        let registration = self.io.registration();
        let (stream, addr) = ready!(registration.poll_io(cx, Direction::Read, accept))?;
        Poll::Ready(Ok((TcpStream::accepted(stream)?, addr)))
    }

    /// Registers a standard library listener, which must be in non-blocking mode.
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
    pub fn from_std(listener: net::TcpListener) -> io::Result<Self> {
        source::assert_nonblocking(&listener)?;
        Self::new(sockets::TcpListener::from_std(listener))
    }

    /// Converts it into a standard library listener, in non-blocking mode.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn into_std(self) -> io::Result<net::TcpListener> {
        sockets::listener_into_std(self.io.into_inner()?)
    }

    /// Returns the address at which the socket accepts connections.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.local_addr()
    }

    /// Returns how many routers a packet may pass, `IP_TTL`.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn ttl(&self) -> io::Result<u32> {
        self.io.ttl()
    }

    /// Sets how many routers a packet may pass, `IP_TTL`.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.io.set_ttl(ttl)
    }
}

impl TryFrom<net::TcpListener> for TcpListener {
    type Error = io::Error;

    /// See [`TcpListener::from_std`].
    fn try_from(listener: net::TcpListener) -> io::Result<Self> {
        Self::from_std(listener)
    }
}

impl fmt::Debug for TcpListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.io.fmt(f)
    }
}

descriptors!(TcpListener);
