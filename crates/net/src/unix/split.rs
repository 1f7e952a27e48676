//! A borrowed stream in two halves.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use blitz_io_aio::{AsyncRead, AsyncWrite, Interest, ReadBuf, Ready};
use bytes::BufMut;

use super::SocketAddr;
use super::stream::UnixStream;
use crate::halves::Connection;
use crate::stream;

impl UnixStream {
    /// Splits the stream into a read half and a write half, which borrow it.
    pub fn split<'a>(&'a mut self) -> (ReadHalf<'a>, WriteHalf<'a>) {
        (ReadHalf(self), WriteHalf(self))
    }
}

/// The read half of a borrowed stream. Created by [`UnixStream::split`].
#[derive(Debug)]
pub struct ReadHalf<'a>(&'a UnixStream);

/// The write half of a borrowed stream. Created by [`UnixStream::split`].
#[derive(Debug)]
pub struct WriteHalf<'a>(&'a UnixStream);

impl ReadHalf<'_> {
    /// Waits until the stream is ready for any of `interest`.
    ///
    /// An operation may block even if the stream is reported ready: always use one of the
    /// `try_` methods, which record that it would have blocked.
    ///
    /// # Errors
    ///
    /// Returns an error if the runtime has ended.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: the stream stays ready.
    pub async fn ready(&self, interest: Interest) -> io::Result<Ready> {
        self.0.ready(interest).await
    }

    /// Waits until the stream is readable.
    ///
    /// # Errors
    ///
    /// Returns an error if the runtime has ended.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: the stream stays readable.
    pub async fn readable(&self) -> io::Result<()> {
        self.0.readable().await
    }

    /// Reads the available bytes, without waiting. Returns the number of bytes: 0 at the end
    /// of the stream, or if the buffer is empty.
    ///
    /// # Errors
    ///
    /// Returns the system's errors, and `WouldBlock` if there is nothing to read.
    pub fn try_read(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.0.try_read(buf)
    }

    /// Reads the available bytes into several buffers, in order, without waiting. Returns the
    /// number of bytes: 0 at the end of the stream, or if the buffers are empty.
    ///
    /// # Errors
    ///
    /// Returns the system's errors, and `WouldBlock` if there is nothing to read.
    pub fn try_read_vectored(&self, bufs: &mut [io::IoSliceMut<'_>]) -> io::Result<usize> {
        self.0.try_read_vectored(bufs)
    }

    /// Reads the available bytes into a buffer that grows or tracks how far it is filled,
    /// without waiting. Returns the number of bytes: 0 at the end of the stream, or if the
    /// buffer has no room.
    ///
    /// # Errors
    ///
    /// Returns the system's errors, and `WouldBlock` if there is nothing to read.
    pub fn try_read_buf<B: BufMut>(&self, buf: &mut B) -> io::Result<usize> {
        self.0.try_read_buf(buf)
    }

    /// Returns the address of the other end.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.0.peer_addr()
    }

    /// Returns the address of this end.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

impl WriteHalf<'_> {
    /// Waits until the stream is ready for any of `interest`.
    ///
    /// An operation may block even if the stream is reported ready: always use one of the
    /// `try_` methods, which record that it would have blocked.
    ///
    /// # Errors
    ///
    /// Returns an error if the runtime has ended.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: the stream stays ready.
    pub async fn ready(&self, interest: Interest) -> io::Result<Ready> {
        self.0.ready(interest).await
    }

    /// Waits until the stream is writable.
    ///
    /// # Errors
    ///
    /// Returns an error if the runtime has ended.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: the stream stays writable.
    pub async fn writable(&self) -> io::Result<()> {
        self.0.writable().await
    }

    /// Writes as many bytes as there is room for, without waiting. Returns the number of bytes.
    ///
    /// # Errors
    ///
    /// Returns the system's errors, and `WouldBlock` if there is no room.
    pub fn try_write(&self, buf: &[u8]) -> io::Result<usize> {
        self.0.try_write(buf)
    }

    /// Writes as many bytes of several buffers, in order, as there is room for, without
    /// waiting. Returns the number of bytes.
    ///
    /// # Errors
    ///
    /// Returns the system's errors, and `WouldBlock` if there is no room.
    pub fn try_write_vectored(&self, bufs: &[io::IoSlice<'_>]) -> io::Result<usize> {
        self.0.try_write_vectored(bufs)
    }

    /// Returns the address of the other end.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.0.peer_addr()
    }

    /// Returns the address of this end.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

impl AsRef<UnixStream> for ReadHalf<'_> {
    fn as_ref(&self) -> &UnixStream {
        self.0
    }
}

impl AsRef<UnixStream> for WriteHalf<'_> {
    fn as_ref(&self) -> &UnixStream {
        self.0
    }
}

impl AsyncRead for ReadHalf<'_> {
    #[inline]
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        stream::poll_read(&self.0.io, cx, buf)
    }
}

impl AsyncWrite for WriteHalf<'_> {
    #[inline]
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.0.io.poll_write(cx, buf)
    }

    #[inline]
    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.0.io.poll_write_vectored(cx, bufs)
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
        Poll::Ready(self.0.shutdown_write())
    }
}

blitz_io_aio::foreign_traits!([] ReadHalf<'_>: read);

blitz_io_aio::foreign_traits!([] WriteHalf<'_>: write);
