//! A connection between Unix sockets.

use std::fmt;
use std::io;
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};

use blitz_io_aio::{AsyncRead, AsyncWrite, BufResult, Interest, IoBuf, IoBufMut, ReadBuf, Ready};
use blitz_io_driver::{Direction, PollEvented, bits};
use bytes::BufMut;

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
        Self::connected(mio::net::UnixStream::connect_addr(&socket_addr.0)?).await
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

impl AsyncRead for UnixStream {
    #[inline]
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        stream::poll_read(&self.io, cx, buf)
    }
}

impl AsyncWrite for UnixStream {
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

blitz_io_aio::foreign_traits!([] UnixStream: read);

blitz_io_aio::foreign_traits!([] UnixStream: write);

descriptors!(UnixStream);
