//! A TCP connection.

use std::fmt;
use std::io;
use std::net::{self, Shutdown, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use blitz_io_aio::{AsyncRead, AsyncWrite, BufResult, Interest, IoBuf, IoBufMut, ReadBuf, Ready};
use blitz_io_driver::{Direction, PollEvented, bits};
use bytes::BufMut;

use crate::addr::{self, ToSocketAddrs};
use crate::buf::receive_read_buf;
use crate::descriptors::descriptors;
use crate::halves::Connection;
use crate::{source, stream};

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
    pub(crate) io: PollEvented<mio::net::TcpStream>,
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
    pub async fn connect<A: ToSocketAddrs>(addr: A) -> io::Result<Self> {
        addr::first(addr, async |addr| {
            Self::connected(mio::net::TcpStream::connect(addr)?).await
        })
        .await
    }

    #[track_caller]
    fn new(stream: mio::net::TcpStream) -> io::Result<Self> {
        let io = PollEvented::new(stream)?;
        Ok(Self { io })
    }

    /// Creates a stream from a connection that a listener has accepted. It is writable, and
    /// may already have received data.
    pub(crate) fn accepted(stream: mio::net::TcpStream) -> io::Result<Self> {
        let this = Self::new(stream)?;
        (this.io.registration()).suppose(bits::READABLE | bits::WRITABLE);
        Ok(this)
    }

    /// Waits until a connection attempt has ended.
    pub(crate) async fn connected(stream: mio::net::TcpStream) -> io::Result<Self> {
        let this = Self::new(stream)?;
        stream::connected(&this.io, mio::net::TcpStream::take_error).await?;
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
        Self::new(mio::net::TcpStream::from_std(stream))
    }

    /// Converts it into a standard library stream, in non-blocking mode.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn into_std(self) -> io::Result<net::TcpStream> {
        Ok(self.io.into_inner()?.into())
    }

    /// Waits until the socket is ready for any of `interest`.
    ///
    /// An operation may block even if the socket is reported ready: always use one of the
    /// `try_` methods, which record that it would have blocked.
    ///
    /// # Errors
    ///
    /// Returns an error if the runtime has ended.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: the socket stays ready.
    pub async fn ready(&self, interest: Interest) -> io::Result<Ready> {
        source::ready(self.io.registration(), interest).await
    }

    /// Waits until the socket is readable.
    ///
    /// # Errors
    ///
    /// Returns an error if the runtime has ended.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: the socket stays readable.
    pub async fn readable(&self) -> io::Result<()> {
        self.ready(Interest::READABLE).await?;
        Ok(())
    }

    /// Waits until the socket is writable.
    ///
    /// # Errors
    ///
    /// Returns an error if the runtime has ended.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: the socket stays writable.
    pub async fn writable(&self) -> io::Result<()> {
        self.ready(Interest::WRITABLE).await?;
        Ok(())
    }

    /// Waits until the socket is readable. Only the waker of the last call is woken; any number of
    /// tasks may wait with [`readable`](Self::readable).
    ///
    /// # Errors
    ///
    /// Returns an error if the runtime has ended.
    pub fn poll_read_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        source::poll_ready(self.io.registration(), cx, Direction::Read)
    }

    /// Waits until the socket is writable. Only the waker of the last call is woken; any number of
    /// tasks may wait with [`writable`](Self::writable).
    ///
    /// # Errors
    ///
    /// Returns an error if the runtime has ended.
    pub fn poll_write_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        source::poll_ready(self.io.registration(), cx, Direction::Write)
    }

    /// Tries an operation on the socket once, if it is ready for `interest`.
    ///
    /// `f` must be an operation on this socket that returns `WouldBlock` if it would
    /// block. Then it is not called again before the next event.
    ///
    /// # Errors
    ///
    /// Returns the errors of `f`, and `WouldBlock` if the socket is not ready.
    pub fn try_io<R>(
        &self,
        interest: Interest,
        f: impl FnOnce() -> io::Result<R>,
    ) -> io::Result<R> {
        let mask = bits::of_interest(interest);
        self.io.registration().try_io(mask, || self.io.try_io(f))
    }

    /// Tries an operation on the socket each time it is ready for `interest`, until the
    /// operation does not block.
    ///
    /// `f` must be an operation on this socket that returns `WouldBlock` if it would block.
    ///
    /// # Errors
    ///
    /// Returns the errors of `f` other than `WouldBlock`, and an error if the runtime has ended.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe if `f` is: the future waits only before it calls `f`.
    pub async fn async_io<R>(
        &self,
        interest: Interest,
        mut f: impl FnMut() -> io::Result<R>,
    ) -> io::Result<R> {
        let mask = bits::of_interest(interest);
        self.io
            .registration()
            .async_io(mask, || self.io.try_io(&mut f))
            .await
    }

    /// Reads the available bytes, without waiting. Returns the number of bytes: 0 at the end
    /// of the stream, or if the buffer is empty.
    ///
    /// # Errors
    ///
    /// Returns the system's errors, and `WouldBlock` if there is nothing to read.
    pub fn try_read(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.io.try_read(buf)
    }

    /// Reads the available bytes into several buffers, in order, without waiting. Returns the
    /// number of bytes: 0 at the end of the stream, or if the buffers are empty.
    ///
    /// # Errors
    ///
    /// Returns the system's errors, and `WouldBlock` if there is nothing to read.
    pub fn try_read_vectored(&self, bufs: &mut [io::IoSliceMut<'_>]) -> io::Result<usize> {
        stream::try_read_vectored(&self.io, bufs)
    }

    /// Reads the available bytes into a buffer that grows or tracks how far it is filled,
    /// without waiting. Returns the number of bytes: 0 at the end of the stream, or if the
    /// buffer has no room.
    ///
    /// # Errors
    ///
    /// Returns the system's errors, and `WouldBlock` if there is nothing to read.
    pub fn try_read_buf<B: BufMut>(&self, buf: &mut B) -> io::Result<usize> {
        stream::try_read_buf(&self.io, buf)
    }

    /// Writes as many bytes as there is room for, without waiting. Returns the number of bytes.
    ///
    /// # Errors
    ///
    /// Returns the system's errors, and `WouldBlock` if there is no room.
    pub fn try_write(&self, buf: &[u8]) -> io::Result<usize> {
        stream::try_write(&self.io, buf)
    }

    /// Writes as many bytes of several buffers, in order, as there is room for, without
    /// waiting. Returns the number of bytes.
    ///
    /// # Errors
    ///
    /// Returns the system's errors, and `WouldBlock` if there is no room.
    pub fn try_write_vectored(&self, bufs: &[io::IoSlice<'_>]) -> io::Result<usize> {
        stream::try_write_vectored(&self.io, bufs)
    }

    /// Reads into a buffer, which the operation owns while it runs and returns with the number
    /// of bytes: 0 at the end of the stream, or if the buffer has no room.
    ///
    /// The bytes are read to the beginning of the buffer, at most as many as it has
    /// [room](blitz_io_aio::IoBuf::bytes_total) for. A buffer that was longer before keeps its
    /// length.
    ///
    /// # Errors
    ///
    /// Returns the system's errors, and an error if the runtime has ended.
    ///
    /// # Cancel safety
    ///
    /// A dropped future has read nothing. Its buffer is dropped with it.
    ///
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
    pub async fn read_owned<B: IoBufMut>(&self, buf: B) -> BufResult<usize, B> {
        stream::read_owned(&self.io, buf).await
    }

    /// Writes the contents of a buffer, or the first part of them. The operation owns the
    /// buffer while it runs, and returns it with the number of bytes.
    ///
    /// # Errors
    ///
    /// Returns the system's errors, and an error if the runtime has ended.
    ///
    /// # Cancel safety
    ///
    /// A dropped future has written nothing. Its buffer is dropped with it.
    pub async fn write_owned<B: IoBuf>(&self, buf: B) -> BufResult<usize, B> {
        stream::write_owned(&self.io, buf).await
    }

    /// Writes all contents of a buffer. The operation owns the buffer while it runs, and
    /// returns it.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`write_owned`](Self::write_owned), and
    /// [`WriteZero`](std::io::ErrorKind::WriteZero) if the stream accepts no more bytes.
    ///
    /// # Cancel safety
    ///
    /// Not cancel safe: a dropped future may have written the first part. Its buffer is
    /// dropped with it.
    pub async fn write_all_owned<B: IoBuf>(&self, buf: B) -> BufResult<(), B> {
        stream::write_all_owned(&self.io, buf).await
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
    pub async fn peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        let registration = self.io.registration();
        (registration.async_io(Direction::Read.mask(), || self.io.peek(buf))).await
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
        socket2::SockRef::from(self).set_linger(Some(Duration::ZERO))
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

impl AsyncRead for TcpStream {
    #[inline]
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        stream::poll_read(&self.io, cx, buf)
    }
}

impl AsyncWrite for TcpStream {
    #[inline]
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.io.poll_write(cx, buf)
    }

    #[inline]
    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.io.poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// Does nothing, because nothing is buffered.
    #[inline]
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// Tells the peer that nothing more will be written.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.shutdown_write())
    }
}

blitz_io_aio::foreign_traits!([] TcpStream: read);

blitz_io_aio::foreign_traits!([] TcpStream: write);

descriptors!(TcpStream);
