//! A connection between Unix sockets.

use std::fmt;
use std::future::poll_fn;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};

use blitz_io_aio::{AsyncRead, AsyncWrite, Interest, ReadBuf, Ready};
use blitz_io_driver::{Direction, PollEvented, bits};
use bytes::BufMut;

use super::{SocketAddr, UCred};
use crate::buf::receive_buf;
use crate::methods::{async_read, async_write, descriptors, readiness, try_read, try_write};
use crate::owned_buf::owned_buf;

/// A connection between Unix sockets.
///
/// It is read and written with the methods of `AsyncReadExt` and `AsyncWriteExt`. When it
/// is dropped, the connection is closed.
///
/// # Examples
///
/// ```
/// use blitz_io::io::{AsyncReadExt, AsyncWriteExt};
/// use blitz_io::net::UnixStream;
///
/// # fn main() -> std::io::Result<()> {
/// # let runtime = blitz_io::runtime::Builder::new_current_thread().enable_io().build()?;
/// # runtime.block_on(async {
/// let (mut one, mut other) = UnixStream::pair()?;
/// one.write_all(b"hello").await?;
/// drop(one);
/// let mut text = String::new();
/// other.read_to_string(&mut text).await?;
/// assert_eq!(text, "hello");
/// # Ok(())
/// # })
/// # }
/// ```
pub struct UnixStream {
    pub(crate) io: PollEvented<mio::net::UnixStream>,
}

impl UnixStream {
    /// Connects to the socket at a path. On Linux, a path that begins with a zero byte is a
    /// name in the abstract namespace.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    ///
    /// # Panics
    ///
    /// Panics outside of a runtime, and in a runtime without I/O.
    pub async fn connect<P: AsRef<Path>>(path: P) -> io::Result<Self> {
        let addr = super::socketaddr::address(path.as_ref())?;
        Self::connect_addr(&addr.into()).await
    }

    /// Connects to the socket at an address.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    ///
    /// # Panics
    ///
    /// Panics outside of a runtime, and in a runtime without I/O.
    pub async fn connect_addr(socket_addr: &SocketAddr) -> io::Result<Self> {
        Self::connecting(mio::net::UnixStream::connect_addr(&socket_addr.0)?).await
    }

    /// Waits until a connection attempt has ended.
    pub(crate) async fn connecting(stream: mio::net::UnixStream) -> io::Result<Self> {
        let this = Self::new(stream)?;
        poll_fn(|cx| this.poll_write_ready(cx)).await?;
        match this.io.take_error()? {
            Some(error) => Err(error),
            None => Ok(this),
        }
    }

    #[track_caller]
    fn new(stream: mio::net::UnixStream) -> io::Result<Self> {
        let io = PollEvented::new(stream)?;
        Ok(Self { io })
    }

    /// Creates a stream from an established connection. It is writable, and may already
    /// have received data.
    #[track_caller]
    pub(crate) fn connected(stream: mio::net::UnixStream) -> io::Result<Self> {
        let this = Self::new(stream)?;
        (this.io.registration()).suppose(bits::READABLE | bits::WRITABLE);
        Ok(this)
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
        let (one, other) = mio::net::UnixStream::pair()?;
        let (one, other) = (Self::new(one)?, Self::new(other)?);
        one.io.registration().suppose(bits::WRITABLE);
        other.io.registration().suppose(bits::WRITABLE);
        Ok((one, other))
    }

    /// Registers a standard library stream, which must be in non-blocking mode.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    ///
    /// # Panics
    ///
    /// Panics outside of a runtime, and in a runtime without I/O.
    #[track_caller]
    pub fn from_std(stream: net::UnixStream) -> io::Result<Self> {
        Self::new(mio::net::UnixStream::from_std(stream))
    }

    /// Converts it into a standard library stream, in non-blocking mode.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn into_std(self) -> io::Result<net::UnixStream> {
        Ok(self.io.into_inner()?.into())
    }

    readiness!(poll_read_ready, poll_write_ready);
    try_read!();
    owned_buf!();
    try_write!();

    /// Returns the address of this end.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.local_addr().map(SocketAddr)
    }

    /// Returns the address of the other end.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.io.peer_addr().map(SocketAddr)
    }

    /// Returns the credentials of the process that connected or listens, as they were at
    /// that time.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn peer_cred(&self) -> io::Result<UCred> {
        super::ucred::of_peer(self.as_fd())
    }

    /// Returns the pending error of the socket, `SO_ERROR`, and clears it.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.io.take_error()
    }

    /// Reads with shared access: at most one reader and one writer poll.
    #[inline]
    pub(crate) fn poll_read_shared(
        &self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // SAFETY: a read of the system only writes to its buffer, and returns how much.
        unsafe { self.io.poll_read(cx, buf) }
    }

    /// A connection that the peer has already closed needs no shutdown.
    pub(crate) fn shutdown_write(&self) -> io::Result<()> {
        match self.io.shutdown(Shutdown::Write) {
            Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(()),
            result => result,
        }
    }
}

impl TryFrom<net::UnixStream> for UnixStream {
    type Error = io::Error;

    /// See [`UnixStream::from_std`].
    fn try_from(stream: net::UnixStream) -> io::Result<Self> {
        Self::from_std(stream)
    }
}

impl fmt::Debug for UnixStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.io.fmt(f)
    }
}

impl AsRef<Self> for UnixStream {
    fn as_ref(&self) -> &Self {
        self
    }
}

async_read!(UnixStream);
async_write!(UnixStream);
descriptors!(UnixStream);
