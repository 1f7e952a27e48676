//! A connection between Unix sockets.

use std::fmt;
use std::io;
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net;
use std::path::Path;

use blitz_io_driver::{PollEvented, bits};

use super::{SocketAddr, UCred};
use crate::descriptors::descriptors;
use crate::halves::Connection;
use crate::{source, stream};

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
    #[track_caller]
    pub fn connect<P: AsRef<Path>>(path: P) -> impl Future<Output = io::Result<Self>> {
        blitz_io_observe::CalledAt::new(async move {
            let addr = super::socketaddr::address(path.as_ref())?;
            Self::connect_addr(&addr.into()).await
        })
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
    #[track_caller]
    pub fn connect_addr(socket_addr: &SocketAddr) -> impl Future<Output = io::Result<Self>> {
        blitz_io_observe::CalledAt::new(async move {
            Self::connected(mio::net::UnixStream::connect_addr(&socket_addr.0)?).await
        })
    }

    /// Waits until a connection attempt has ended.
    pub(crate) async fn connected(stream: mio::net::UnixStream) -> io::Result<Self> {
        let this = Self::new(stream)?;
        stream::connected(&this.io, mio::net::UnixStream::take_error).await?;
        Ok(this)
    }

    #[track_caller]
    fn new(stream: mio::net::UnixStream) -> io::Result<Self> {
        let io = PollEvented::new(stream)?;
        Ok(Self { io })
    }

    /// Creates a stream from an established connection. It is writable, and may already
    /// have received data.
    #[track_caller]
    pub(crate) fn accepted(stream: mio::net::UnixStream) -> io::Result<Self> {
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
    /// Panics outside of a runtime, and in a runtime without I/O. In a debug build, also if the
    /// socket is in blocking mode.
    #[track_caller]
    pub fn from_std(stream: net::UnixStream) -> io::Result<Self> {
        source::assert_nonblocking(&stream)?;
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

    source::ready_method!("socket");
    source::readable_methods!("socket", poll_read_ready);
    source::writable_methods!("socket", poll_write_ready);
    source::try_io_methods!("socket", |io, f| io.try_io(f));

    stream::read_methods!();
    stream::write_methods!();
    stream::owned_buffer_methods! {
        /// # Examples
        ///
        /// ```
        /// use blitz_io::net::UnixStream;
        ///
        /// # #[blitz_io::main]
        /// # async fn main() -> std::io::Result<()> {
        /// let (client, server) = UnixStream::pair()?;
        ///
        /// let (result, text) = client.write_all_owned(String::from("hello")).await;
        /// result?;
        /// let (result, read) = server.read_owned(Vec::with_capacity(64)).await;
        /// assert_eq!(result?, text.len());
        /// assert_eq!(read, text.as_bytes());
        /// # Ok(())
        /// # }
        /// ```
    }

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
}

impl Connection for UnixStream {
    fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.io.shutdown(how)
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

stream::impl_async_read!(UnixStream, |this| &this.io);
stream::impl_async_write!(
    UnixStream, |this| this.io,
    flush = "Does nothing, because nothing is buffered.",
    /// Tells the peer that nothing more will be written.
    shutdown = this.shutdown_write()
);

descriptors!(UnixStream);
