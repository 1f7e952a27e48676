//! A Unix socket that accepts connections.

use std::fmt;
use std::io;
use std::os::unix::net;
use std::path::Path;
use std::task::{Context, Poll, ready};

use blitz_io_driver::{Direction, PollEvented};

use super::SocketAddr;
use super::stream::UnixStream;
use crate::descriptors::descriptors;
use crate::source;

/// A Unix socket that accepts connections.
///
/// The file at its path remains when it is dropped.
///
/// # Examples
///
/// ```
/// use blitz_io::net::{UnixListener, UnixStream};
///
/// # fn main() -> std::io::Result<()> {
/// # let runtime = blitz_io::runtime::Builder::new_current_thread().enable_io().build()?;
/// # runtime.block_on(async {
/// let path = std::env::temp_dir().join(format!("blitz-listener-{}", std::process::id()));
/// let listener = UnixListener::bind(&path)?;
/// let client = UnixStream::connect(&path).await?;
/// let (server, _) = listener.accept().await?;
/// assert_eq!(server.local_addr()?.as_pathname(), Some(path.as_path()));
/// # drop(client);
/// # std::fs::remove_file(&path)
/// # })
/// # }
/// ```
pub struct UnixListener {
    io: PollEvented<mio::net::UnixListener>,
}

impl UnixListener {
    /// Creates a socket that accepts connections at a path, which must not exist yet. On
    /// Linux, a path that begins with a zero byte is a name in the abstract namespace.
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
        Self::bind_addr(&super::socketaddr::address(path.as_ref())?.into())
    }

    /// Creates a socket that accepts connections at an address.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    ///
    /// # Panics
    ///
    /// Panics outside of a runtime, and in a runtime without I/O.
    #[track_caller]
    pub fn bind_addr(socket_addr: &SocketAddr) -> io::Result<Self> {
        Self::new(mio::net::UnixListener::bind_addr(&socket_addr.0)?)
    }

    #[track_caller]
    pub(crate) fn new(listener: mio::net::UnixListener) -> io::Result<Self> {
        let io = PollEvented::new(listener)?;
        Ok(Self { io })
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
    pub fn from_std(listener: net::UnixListener) -> io::Result<Self> {
        source::assert_nonblocking(&listener)?;
        Self::new(mio::net::UnixListener::from_std(listener))
    }

    /// Converts it into a standard library listener, in non-blocking mode.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn into_std(self) -> io::Result<net::UnixListener> {
        Ok(self.io.into_inner()?.into())
    }

    /// Returns the address at which the socket accepts connections.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.local_addr().map(SocketAddr)
    }

    /// Returns the pending error of the socket, `SO_ERROR`, and clears it.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.io.take_error()
    }

    /// Waits for a connection.
    ///
    /// # Errors
    ///
    /// Returns the system's errors. Some, such as too many open files, recur at once, so
    /// wait a little before you call this again.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: no connection is lost when the future is dropped.
    #[track_caller]
    pub fn accept(&self) -> impl Future<Output = io::Result<(UnixStream, SocketAddr)>> {
        blitz_io_observe::CalledAt::new(async move {
            let accept = || self.io.accept();
            let registration = self.io.registration();
            let (stream, addr) = (registration.async_io(Direction::Read.mask(), accept)).await?;
            Ok((UnixStream::accepted(stream)?, SocketAddr(addr)))
        })
    }

    /// Waits for a connection. Only the waker of the last call is woken.
    ///
    /// # Errors
    ///
    /// Same as for [`accept`](Self::accept).
    pub fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<(UnixStream, SocketAddr)>> {
        let accept = || self.io.accept();
        let registration = self.io.registration();
        let (stream, addr) = ready!(registration.poll_io(cx, Direction::Read, accept))?;
        Poll::Ready(Ok((UnixStream::accepted(stream)?, SocketAddr(addr))))
    }
}

impl TryFrom<net::UnixListener> for UnixListener {
    type Error = io::Error;

    /// See [`UnixListener::from_std`].
    fn try_from(listener: net::UnixListener) -> io::Result<Self> {
        Self::from_std(listener)
    }
}

impl fmt::Debug for UnixListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.io.fmt(f)
    }
}

descriptors!(UnixListener);
