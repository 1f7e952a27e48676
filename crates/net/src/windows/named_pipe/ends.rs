//! The two ends of a named pipe.

use std::io;
use std::os::windows::io::{
    AsHandle, AsRawHandle, BorrowedHandle, FromRawHandle, IntoRawHandle, OwnedHandle, RawHandle,
};
use std::pin::Pin;
use std::task::{Context, Poll};

use blitz_io_aio::{AsyncRead, AsyncWrite, Interest, ReadBuf, Ready, foreign_traits};
use blitz_io_driver::{Direction, PollEvented, bits};
use bytes::BufMut;
use mio::windows::NamedPipe;

use super::PipeInfo;
use crate::{source, stream};

/// The server's end of an instance of a named pipe. Created by
/// [`ServerOptions::create`](super::ServerOptions::create).
///
/// It is read and written with the methods of `AsyncReadExt` and `AsyncWriteExt`.
#[derive(Debug)]
pub struct NamedPipeServer {
    io: PollEvented<NamedPipe>,
}

impl NamedPipeServer {
    #[track_caller]
    pub(super) fn new(handle: OwnedHandle) -> io::Result<Self> {
        register(handle).map(|io| Self { io })
    }

    /// Creates an end from a handle.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    ///
    /// # Panics
    ///
    /// Panics outside of a runtime, and in a runtime without I/O.
    ///
    /// # Safety
    ///
    /// The handle is that of this end of a named pipe, was opened for overlapped
    /// operations, and has no other owner.
    #[track_caller]
    pub unsafe fn from_raw_handle(handle: RawHandle) -> io::Result<Self> {
        // SAFETY: the caller guarantees it.
        Self::new(unsafe { OwnedHandle::from_raw_handle(handle) })
    }

    /// Returns the system's information about the pipe.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn info(&self) -> io::Result<PipeInfo> {
        PipeInfo::of(self.as_handle())
    }

    /// Waits until the pipe is ready for any of `interest`.
    ///
    /// An operation may block even if the pipe is reported ready: always use one of the
    /// `try_` methods, which record that it would have blocked.
    ///
    /// # Errors
    ///
    /// Returns an error if the runtime has ended.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: the pipe stays ready.
    pub async fn ready(&self, interest: Interest) -> io::Result<Ready> {
        source::ready(self.io.registration(), interest).await
    }

    /// Waits until the pipe is readable.
    ///
    /// # Errors
    ///
    /// Returns an error if the runtime has ended.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: the pipe stays readable.
    pub async fn readable(&self) -> io::Result<()> {
        self.ready(Interest::READABLE).await?;
        Ok(())
    }

    /// Waits until the pipe is writable.
    ///
    /// # Errors
    ///
    /// Returns an error if the runtime has ended.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: the pipe stays writable.
    pub async fn writable(&self) -> io::Result<()> {
        self.ready(Interest::WRITABLE).await?;
        Ok(())
    }

    /// Waits until the pipe is readable. Only the waker of the last call is woken; any number of
    /// tasks may wait with [`readable`](Self::readable).
    ///
    /// # Errors
    ///
    /// Returns an error if the runtime has ended.
    pub fn poll_read_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        source::poll_ready(self.io.registration(), cx, Direction::Read)
    }

    /// Waits until the pipe is writable. Only the waker of the last call is woken; any number of
    /// tasks may wait with [`writable`](Self::writable).
    ///
    /// # Errors
    ///
    /// Returns an error if the runtime has ended.
    pub fn poll_write_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        source::poll_ready(self.io.registration(), cx, Direction::Write)
    }

    /// Tries an operation on the pipe once, if it is ready for `interest`.
    ///
    /// `f` must be an operation on this pipe that returns `WouldBlock` if it would
    /// block. Then it is not called again before the next event.
    ///
    /// # Errors
    ///
    /// Returns the errors of `f`, and `WouldBlock` if the pipe is not ready.
    pub fn try_io<R>(
        &self,
        interest: Interest,
        f: impl FnOnce() -> io::Result<R>,
    ) -> io::Result<R> {
        let mask = bits::of_interest(interest);
        self.io.registration().try_io(mask, f)
    }

    /// Tries an operation on the pipe each time it is ready for `interest`, until the
    /// operation does not block.
    ///
    /// `f` must be an operation on this pipe that returns `WouldBlock` if it would block.
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
        f: impl FnMut() -> io::Result<R>,
    ) -> io::Result<R> {
        let mask = bits::of_interest(interest);
        self.io.registration().async_io(mask, f).await
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
}

impl AsRawHandle for NamedPipeServer {
    fn as_raw_handle(&self) -> RawHandle {
        self.io.as_raw_handle()
    }
}

impl AsHandle for NamedPipeServer {
    fn as_handle(&self) -> BorrowedHandle<'_> {
        // SAFETY: the pipe owns its handle and is borrowed for as long.
        unsafe { BorrowedHandle::borrow_raw(self.as_raw_handle()) }
    }
}

impl AsyncRead for NamedPipeServer {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        stream::poll_read(&self.io, cx, buf)
    }
}

foreign_traits!([] NamedPipeServer: read);

impl AsyncWrite for NamedPipeServer {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.io.poll_write(cx, buf)
    }

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

    /// Does nothing: what was written is already being sent.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// Does nothing: the other end sees the end when this one is dropped.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

foreign_traits!([] NamedPipeServer: write);

impl NamedPipeServer {
    /// Waits until a client has connected.
    ///
    /// # Errors
    ///
    /// Returns the system's errors, and an error if the runtime has ended.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: the next call finds a client that has connected in between.
    pub async fn connect(&self) -> io::Result<()> {
        match self.io.connect() {
            // The operation has been started.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let mask = Direction::Write.mask();
                let registration = self.io.registration();
                registration.async_io(mask, || self.io.connect()).await
            }
            result => result,
        }
    }

    /// Disconnects the client. After that, another client may [`connect`](Self::connect).
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn disconnect(&self) -> io::Result<()> {
        self.io.disconnect()
    }
}

/// The client's end of a named pipe. Created by
/// [`ClientOptions::open`](super::ClientOptions::open).
///
/// It is read and written with the methods of `AsyncReadExt` and `AsyncWriteExt`.
#[derive(Debug)]
pub struct NamedPipeClient {
    io: PollEvented<NamedPipe>,
}

impl NamedPipeClient {
    #[track_caller]
    pub(super) fn new(handle: OwnedHandle) -> io::Result<Self> {
        register(handle).map(|io| Self { io })
    }

    /// Creates an end from a handle.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    ///
    /// # Panics
    ///
    /// Panics outside of a runtime, and in a runtime without I/O.
    ///
    /// # Safety
    ///
    /// The handle is that of this end of a named pipe, was opened for overlapped
    /// operations, and has no other owner.
    #[track_caller]
    pub unsafe fn from_raw_handle(handle: RawHandle) -> io::Result<Self> {
        // SAFETY: the caller guarantees it.
        Self::new(unsafe { OwnedHandle::from_raw_handle(handle) })
    }

    /// Returns the system's information about the pipe.
    ///
    /// # Errors
    ///
    /// Returns the system's errors.
    pub fn info(&self) -> io::Result<PipeInfo> {
        PipeInfo::of(self.as_handle())
    }

    /// Waits until the pipe is ready for any of `interest`.
    ///
    /// An operation may block even if the pipe is reported ready: always use one of the
    /// `try_` methods, which record that it would have blocked.
    ///
    /// # Errors
    ///
    /// Returns an error if the runtime has ended.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: the pipe stays ready.
    pub async fn ready(&self, interest: Interest) -> io::Result<Ready> {
        source::ready(self.io.registration(), interest).await
    }

    /// Waits until the pipe is readable.
    ///
    /// # Errors
    ///
    /// Returns an error if the runtime has ended.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: the pipe stays readable.
    pub async fn readable(&self) -> io::Result<()> {
        self.ready(Interest::READABLE).await?;
        Ok(())
    }

    /// Waits until the pipe is writable.
    ///
    /// # Errors
    ///
    /// Returns an error if the runtime has ended.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: the pipe stays writable.
    pub async fn writable(&self) -> io::Result<()> {
        self.ready(Interest::WRITABLE).await?;
        Ok(())
    }

    /// Waits until the pipe is readable. Only the waker of the last call is woken; any number of
    /// tasks may wait with [`readable`](Self::readable).
    ///
    /// # Errors
    ///
    /// Returns an error if the runtime has ended.
    pub fn poll_read_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        source::poll_ready(self.io.registration(), cx, Direction::Read)
    }

    /// Waits until the pipe is writable. Only the waker of the last call is woken; any number of
    /// tasks may wait with [`writable`](Self::writable).
    ///
    /// # Errors
    ///
    /// Returns an error if the runtime has ended.
    pub fn poll_write_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        source::poll_ready(self.io.registration(), cx, Direction::Write)
    }

    /// Tries an operation on the pipe once, if it is ready for `interest`.
    ///
    /// `f` must be an operation on this pipe that returns `WouldBlock` if it would
    /// block. Then it is not called again before the next event.
    ///
    /// # Errors
    ///
    /// Returns the errors of `f`, and `WouldBlock` if the pipe is not ready.
    pub fn try_io<R>(
        &self,
        interest: Interest,
        f: impl FnOnce() -> io::Result<R>,
    ) -> io::Result<R> {
        let mask = bits::of_interest(interest);
        self.io.registration().try_io(mask, f)
    }

    /// Tries an operation on the pipe each time it is ready for `interest`, until the
    /// operation does not block.
    ///
    /// `f` must be an operation on this pipe that returns `WouldBlock` if it would block.
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
        f: impl FnMut() -> io::Result<R>,
    ) -> io::Result<R> {
        let mask = bits::of_interest(interest);
        self.io.registration().async_io(mask, f).await
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
}

impl AsRawHandle for NamedPipeClient {
    fn as_raw_handle(&self) -> RawHandle {
        self.io.as_raw_handle()
    }
}

impl AsHandle for NamedPipeClient {
    fn as_handle(&self) -> BorrowedHandle<'_> {
        // SAFETY: the pipe owns its handle and is borrowed for as long.
        unsafe { BorrowedHandle::borrow_raw(self.as_raw_handle()) }
    }
}

impl AsyncRead for NamedPipeClient {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        stream::poll_read(&self.io, cx, buf)
    }
}

foreign_traits!([] NamedPipeClient: read);

impl AsyncWrite for NamedPipeClient {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.io.poll_write(cx, buf)
    }

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

    /// Does nothing: what was written is already being sent.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// Does nothing: the other end sees the end when this one is dropped.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

foreign_traits!([] NamedPipeClient: write);

/// Registers the handle of a pipe.
#[track_caller]
fn register(handle: OwnedHandle) -> io::Result<PollEvented<NamedPipe>> {
    // SAFETY: it is the handle of a pipe, or the caller of `from_raw_handle`
    // has promised so, and its ownership is passed on.
    PollEvented::new(unsafe { NamedPipe::from_raw_handle(handle.into_raw_handle()) })
}
