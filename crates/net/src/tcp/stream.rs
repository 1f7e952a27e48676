//! A TCP connection.

use std::fmt;
use std::io;
use std::net::{self, Shutdown, SocketAddr};
use std::task::{Context, Poll};
use std::time::Duration;

use blitz_io_aio::ReadBuf;
use blitz_io_driver::{Direction, PollEvented, bits};

use crate::addr::{self, ToSocketAddrs};
use crate::buf::receive_read_buf;
use crate::descriptors::descriptors;
use crate::halves::Connection;
use crate::{sockets, source, stream};

/// A TCP connection.
///
/// It is read and written with the methods of `AsyncReadExt` and `AsyncWriteExt`. When it
/// is dropped, the connection is closed.
///
/// # Examples
///
/// ```
/// use blitz_io::io::{AsyncReadExt, AsyncWriteExt};
/// use blitz_io::net::{TcpListener, TcpStream};
///
/// # fn main() -> std::io::Result<()> {
/// # let runtime = blitz_io::runtime::Builder::new_current_thread().enable_io().build()?;
/// # runtime.block_on(async {
/// let listener = TcpListener::bind("127.0.0.1:0").await?;
/// let mut client = TcpStream::connect(listener.local_addr()?).await?;
/// let (mut server, _) = listener.accept().await?;
/// client.write_all(b"hello").await?;
/// drop(client);
/// let mut text = String::new();
/// server.read_to_string(&mut text).await?;
/// assert_eq!(text, "hello");
/// # Ok(())
/// # })
/// # }
/// ```
pub struct TcpStream {
    pub(crate) io: PollEvented<sockets::TcpStream>,
}

impl TcpStream {
    /// Connects to an address. Of several addresses, the first one is used that accepts the
    /// connection.
    ///
    /// # Errors
    ///
    /// Returns the system's errors; the last one if no address accepts.
    ///
    /// # Panics
    ///
    /// Panics outside of a runtime, and in a runtime without I/O.
    #[track_caller]
    pub fn connect<A: ToSocketAddrs>(addr: A) -> impl Future<Output = io::Result<Self>> {
        blitz_io_observe::CalledAt::new(async move {
            addr::first(addr, async |addr| {
                Self::connected(sockets::TcpStream::connect(addr)?).await
            })
            .await
        })
    }

    #[track_caller]
    fn new(stream: sockets::TcpStream) -> io::Result<Self> {
        let io = sockets::register(stream)?;
        Ok(Self { io })
    }

    /// Creates a stream from a connection that a listener has accepted. It is writable, and
    /// may already have received data.
    pub(crate) fn accepted(stream: sockets::TcpStream) -> io::Result<Self> {
        let this = Self::new(stream)?;
        (this.io.registration()).suppose(bits::READABLE | bits::WRITABLE);
        Ok(this)
    }

    /// Waits until a connection attempt has ended.
    pub(crate) async fn connected(stream: sockets::TcpStream) -> io::Result<Self> {
        let this = Self::new(stream)?;
        stream::connected(&this.io, sockets::TcpStream::take_error).await?;
        Ok(this)
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
    pub fn from_std(stream: net::TcpStream) -> io::Result<Self> {
        source::assert_nonblocking(&stream)?;
        Self::new(sockets::TcpStream::from_std(stream))
    }

    /// Converts it into a standard library stream, in non-blocking mode.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn into_std(self) -> io::Result<net::TcpStream> {
        sockets::stream_into_std(self.io.into_inner()?)
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
        /// use blitz_io::net::{TcpListener, TcpStream};
        ///
        /// # #[blitz_io::main]
        /// # async fn main() -> std::io::Result<()> {
        /// let listener = TcpListener::bind("127.0.0.1:0").await?;
        /// let client = TcpStream::connect(listener.local_addr()?).await?;
        /// let (server, _) = listener.accept().await?;
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

    /// Waits for bytes and copies them, without taking them out of the stream: the next
    /// read returns them again. Only the waker of the last call is woken.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn poll_peek(
        &self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<usize>> {
        let peek = |bytes: &mut [u8]| Ok((self.io.peek(bytes)?, ()));
        let registration = self.io.registration();
        registration.poll_io(cx, Direction::Read, || {
            // SAFETY: the system only writes to the buffer, and returns how much.
            let (n, ()) = unsafe { receive_read_buf(buf, peek) }?;
            Ok(n)
        })
    }

    /// Waits for bytes and copies them, without taking them out of the stream: the next
    /// read returns them again.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    #[track_caller]
    pub fn peek(&self, buf: &mut [u8]) -> impl Future<Output = io::Result<usize>> {
        blitz_io_observe::CalledAt::new(async move {
            let registration = self.io.registration();
            (registration.async_io(Direction::Read.mask(), || self.io.peek(buf))).await
        })
    }

    /// Returns the address of this end.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.local_addr()
    }

    /// Returns the address of the other end.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.io.peer_addr()
    }

    /// Returns the pending error of the socket, `SO_ERROR`, and clears it.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.io.take_error()
    }

    /// Returns whether small writes are sent at once, `TCP_NODELAY`.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn nodelay(&self) -> io::Result<bool> {
        self.io.nodelay()
    }

    /// Sets whether small writes are sent at once, `TCP_NODELAY`, rather than collected
    /// while earlier data has yet to be acknowledged.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.io.set_nodelay(nodelay)
    }

    /// Returns whether arriving data is acknowledged at once, `TCP_QUICKACK`.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    #[cfg(any(target_os = "linux", target_os = "android", target_os = "fuchsia"))]
    pub fn quickack(&self) -> io::Result<bool> {
        socket2::SockRef::from(self).tcp_quickack()
    }

    /// Sets whether arriving data is acknowledged at once, `TCP_QUICKACK`. The system may
    /// change this later.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    #[cfg(any(target_os = "linux", target_os = "android", target_os = "fuchsia"))]
    pub fn set_quickack(&self, quickack: bool) -> io::Result<()> {
        socket2::SockRef::from(self).set_tcp_quickack(quickack)
    }

    /// Returns how long closing the socket waits for unsent data, `SO_LINGER`.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn linger(&self) -> io::Result<Option<Duration>> {
        socket2::SockRef::from(self).linger()
    }

    /// Sets how long closing the socket waits for unsent data, `SO_LINGER`, in full
    /// seconds. Closing then blocks its thread.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    #[deprecated(
        note = "blocks the thread that drops the stream; use `set_zero_linger` to reset the connection"
    )]
    pub fn set_linger(&self, dur: Option<Duration>) -> io::Result<()> {
        socket2::SockRef::from(self).set_linger(dur)
    }

    /// Makes closing the socket reset the connection: unsent data is discarded.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn set_zero_linger(&self) -> io::Result<()> {
        socket2::SockRef::from(self).set_linger(Some(Duration::ZERO))?;
        sockets::resets_when_closed(&self.io);
        Ok(())
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

impl Connection for TcpStream {
    fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.io.shutdown(how)
    }
}

impl TryFrom<net::TcpStream> for TcpStream {
    type Error = io::Error;

    /// See [`TcpStream::from_std`].
    fn try_from(stream: net::TcpStream) -> io::Result<Self> {
        Self::from_std(stream)
    }
}

impl fmt::Debug for TcpStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.io.fmt(f)
    }
}

impl AsRef<Self> for TcpStream {
    fn as_ref(&self) -> &Self {
        self
    }
}

stream::impl_async_read!(TcpStream, |this| &this.io);
stream::impl_async_write!(
    TcpStream, |this| this.io,
    flush = "Does nothing, because nothing is buffered.",
    /// Tells the peer that nothing more will be written.
    shutdown = this.shutdown_write()
);

descriptors!(TcpStream);
