//! Operations that stream sockets share, in part with pipes.
//!
//! The operations that own their buffer wait for readiness and then call the system, like
//! all other operations on a socket. In a ring they would cost as much, and a read that is
//! cancelled there may consume bytes.
//!
//! The macros make the methods of a type whose field `io` is the registered source.

use std::future::poll_fn;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::task::{Context, Poll};

use blitz_io_aio::{BufResult, IoBuf, IoBufMut, ReadBuf};
use blitz_io_driver::{Direction, PollEvented};
use bytes::BufMut;
use mio::event::Source;

use crate::buf::{init, receive_buf, receive_owned};
use crate::source;

/// A source whose reads are system calls.
///
/// # Safety
///
/// `<&Self as Read>::read` only writes to its buffer, and has written as many bytes as it
/// returns.
pub(crate) unsafe trait ByteSource: Source {}

// SAFETY: one call of `recv`, or a copy of bytes that a simulated network has delivered.
unsafe impl ByteSource for crate::sockets::TcpStream {}
// SAFETY: one call of `recv`.
#[cfg(unix)]
unsafe impl ByteSource for mio::net::UnixStream {}
// SAFETY: one call of `read`.
#[cfg(unix)]
unsafe impl ByteSource for mio::unix::pipe::Receiver {}
// SAFETY: mio copies from its own buffer, and returns how much.
#[cfg(windows)]
unsafe impl ByteSource for mio::windows::NamedPipe {}

/// Waits until a connection attempt has ended. `take_error` returns the socket's pending error.
pub(crate) async fn connected<S: Source>(
    io: &PollEvented<S>,
    take_error: impl FnOnce(&S) -> io::Result<Option<io::Error>>,
) -> io::Result<()> {
    // The system reports success or failure by making the socket writable.
    poll_fn(|cx| source::poll_ready(io.registration(), cx, Direction::Write)).await?;
    take_error(io)?.map_or(Ok(()), Err)
}

/// Reads with shared access: at most one reader and one writer poll.
#[inline]
pub(crate) fn poll_read<'a, S: ByteSource>(
    io: &'a PollEvented<S>,
    cx: &mut Context<'_>,
    buf: &mut ReadBuf<'_>,
) -> Poll<io::Result<()>>
where
    &'a S: Read,
{
    // SAFETY: `ByteSource`.
    unsafe { io.poll_read(cx, buf) }
}

pub(crate) fn try_read_vectored<'a, S: Source>(
    io: &'a PollEvented<S>,
    bufs: &mut [IoSliceMut<'_>],
) -> io::Result<usize>
where
    &'a S: Read,
{
    (io.registration()).try_io(Direction::Read.mask(), || (&**io).read_vectored(bufs))
}

pub(crate) fn try_read_buf<'a, S: ByteSource, B: BufMut>(
    io: &'a PollEvented<S>,
    buf: &mut B,
) -> io::Result<usize>
where
    &'a S: Read,
{
    let read = |bytes: &mut [u8]| Ok(((&**io).read(bytes)?, ()));
    // SAFETY: `ByteSource`.
    let read = || unsafe { receive_buf(buf, read) };
    let (n, ()) = io.registration().try_io(Direction::Read.mask(), read)?;
    Ok(n)
}

pub(crate) fn try_write<'a, S: Source>(io: &'a PollEvented<S>, buf: &[u8]) -> io::Result<usize>
where
    &'a S: Write,
{
    (io.registration()).try_io(Direction::Write.mask(), || (&**io).write(buf))
}

pub(crate) fn try_write_vectored<'a, S: Source>(
    io: &'a PollEvented<S>,
    bufs: &[IoSlice<'_>],
) -> io::Result<usize>
where
    &'a S: Write,
{
    (io.registration()).try_io(Direction::Write.mask(), || (&**io).write_vectored(bufs))
}

/// Reads to the beginning of a buffer, which the operation owns.
pub(crate) async fn read_owned<'a, S: ByteSource, B: IoBufMut>(
    io: &'a PollEvented<S>,
    mut buf: B,
) -> BufResult<usize, B>
where
    &'a S: Read,
{
    if buf.bytes_total() == 0 {
        return (Ok(0), buf);
    }
    let read = |bytes: &mut [u8]| Ok(((&**io).read(bytes)?, ()));
    // SAFETY: `ByteSource`.
    let read = || unsafe { receive_owned(&mut buf, read) };
    let result = (io.registration())
        .async_io(Direction::Read.mask(), read)
        .await;
    (result.map(|(n, ())| n), buf)
}

/// Writes the first part of a buffer, which the operation owns.
pub(crate) async fn write_owned<'a, S: Source, B: IoBuf>(
    io: &'a PollEvented<S>,
    buf: B,
) -> BufResult<usize, B>
where
    &'a S: Write,
{
    let result = write(io, init(&buf)).await;
    (result, buf)
}

/// Writes all of a buffer, which the operation owns.
pub(crate) async fn write_all_owned<'a, S: Source, B: IoBuf>(
    io: &'a PollEvented<S>,
    buf: B,
) -> BufResult<(), B>
where
    &'a S: Write,
{
    let mut written = 0;
    while written < buf.bytes_init() {
        match write(io, &init(&buf)[written..]).await {
            Ok(0) => return (Err(io::ErrorKind::WriteZero.into()), buf),
            Ok(n) => written += n,
            Err(error) => return (Err(error), buf),
        }
    }
    (Ok(()), buf)
}

async fn write<'a, S: Source>(io: &'a PollEvented<S>, bytes: &[u8]) -> io::Result<usize>
where
    &'a S: Write,
{
    if bytes.is_empty() {
        return Ok(0);
    }
    let write = || (&**io).write(bytes);
    (io.registration())
        .async_io(Direction::Write.mask(), write)
        .await
}

/// Makes the methods that read without waiting.
macro_rules! read_methods {
    () => {
        /// Reads the available bytes, without waiting. Returns the number of bytes: 0 at the end
        /// of the stream, or if the buffer is empty.
        ///
        /// # Errors
        ///
        /// Returns the system's errors, and `WouldBlock` if there is nothing to read.
        pub fn try_read(&self, buf: &mut [u8]) -> std::io::Result<usize> {
            self.io.try_read(buf)
        }

        /// Reads the available bytes into several buffers, in order, without waiting. Returns the
        /// number of bytes: 0 at the end of the stream, or if the buffers are empty.
        ///
        /// # Errors
        ///
        /// Returns the system's errors, and `WouldBlock` if there is nothing to read.
        pub fn try_read_vectored(
            &self,
            bufs: &mut [std::io::IoSliceMut<'_>],
        ) -> std::io::Result<usize> {
            $crate::stream::try_read_vectored(&self.io, bufs)
        }

        /// Reads the available bytes into a buffer that grows or tracks how far it is filled,
        /// without waiting. Returns the number of bytes: 0 at the end of the stream, or if the
        /// buffer has no room.
        ///
        /// # Errors
        ///
        /// Returns the system's errors, and `WouldBlock` if there is nothing to read.
        pub fn try_read_buf<B: bytes::BufMut>(&self, buf: &mut B) -> std::io::Result<usize> {
            $crate::stream::try_read_buf(&self.io, buf)
        }
    };
}

/// Makes the methods that write without waiting.
macro_rules! write_methods {
    () => {
        /// Writes as many bytes as there is room for, without waiting. Returns the number of bytes.
        ///
        /// # Errors
        ///
        /// Returns the system's errors, and `WouldBlock` if there is no room.
        pub fn try_write(&self, buf: &[u8]) -> std::io::Result<usize> {
            $crate::stream::try_write(&self.io, buf)
        }

        /// Writes as many bytes of several buffers, in order, as there is room for, without
        /// waiting. Returns the number of bytes.
        ///
        /// # Errors
        ///
        /// Returns the system's errors, and `WouldBlock` if there is no room.
        pub fn try_write_vectored(&self, bufs: &[std::io::IoSlice<'_>]) -> std::io::Result<usize> {
            $crate::stream::try_write_vectored(&self.io, bufs)
        }
    };
}

/// Makes the methods that own their buffers. The attributes are the example of `read_owned`.
macro_rules! owned_buffer_methods {
    ($(#[$example:meta])*) => {
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
        $(#[$example])*
        #[track_caller]
        pub fn read_owned<B: blitz_io_aio::IoBufMut>(
            &self,
            buf: B,
        ) -> impl Future<Output = blitz_io_aio::BufResult<usize, B>> {
            blitz_io_observe::CalledAt::new(async move {
                $crate::stream::read_owned(&self.io, buf).await
            })
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
        #[track_caller]
        pub fn write_owned<B: blitz_io_aio::IoBuf>(
            &self,
            buf: B,
        ) -> impl Future<Output = blitz_io_aio::BufResult<usize, B>> {
            blitz_io_observe::CalledAt::new(async move {
                $crate::stream::write_owned(&self.io, buf).await
            })
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
        #[track_caller]
        pub fn write_all_owned<B: blitz_io_aio::IoBuf>(
            &self,
            buf: B,
        ) -> impl Future<Output = blitz_io_aio::BufResult<(), B>> {
            blitz_io_observe::CalledAt::new(async move {
                $crate::stream::write_all_owned(&self.io, buf).await
            })
        }
    };
}

/// Implements `AsyncRead` for a type. `$io` is the source of `$this`.
macro_rules! impl_async_read {
    ($type:ty, |$this:ident| $io:expr) => {
        impl blitz_io_aio::AsyncRead for $type {
            #[inline]
            fn poll_read(
                self: std::pin::Pin<&mut Self>,
                cx: &mut std::task::Context<'_>,
                buf: &mut blitz_io_aio::ReadBuf<'_>,
            ) -> std::task::Poll<std::io::Result<()>> {
                let $this = self;
                $crate::stream::poll_read($io, cx, buf)
            }
        }

        blitz_io_aio::foreign_traits!([] $type: read);
    };
}

/// Implements `AsyncWrite` for a type. `$io` is the source of `$this`, and `$shut` shuts it down.
macro_rules! impl_async_write {
    (
        $type:ty, |$this:ident| $io:expr,
        flush = $flush:literal,
        $(#[$shutdown:meta])*
        shutdown = $shut:expr
    ) => {
        impl blitz_io_aio::AsyncWrite for $type {
            #[inline]
            fn poll_write(
                self: std::pin::Pin<&mut Self>,
                cx: &mut std::task::Context<'_>,
                buf: &[u8],
            ) -> std::task::Poll<std::io::Result<usize>> {
                let $this = self;
                $io.poll_write(cx, buf)
            }

            #[inline]
            fn poll_write_vectored(
                self: std::pin::Pin<&mut Self>,
                cx: &mut std::task::Context<'_>,
                bufs: &[std::io::IoSlice<'_>],
            ) -> std::task::Poll<std::io::Result<usize>> {
                let $this = self;
                $io.poll_write_vectored(cx, bufs)
            }

            fn is_write_vectored(&self) -> bool {
                true
            }

            #[doc = $flush]
            #[inline]
            fn poll_flush(
                self: std::pin::Pin<&mut Self>,
                _: &mut std::task::Context<'_>,
            ) -> std::task::Poll<std::io::Result<()>> {
                std::task::Poll::Ready(Ok(()))
            }

            $(#[$shutdown])*
            fn poll_shutdown(
                self: std::pin::Pin<&mut Self>,
                _: &mut std::task::Context<'_>,
            ) -> std::task::Poll<std::io::Result<()>> {
                #[allow(unused_variables, reason = "a pipe has nothing to shut down")]
                let $this = self;
                std::task::Poll::Ready($shut)
            }
        }

        blitz_io_aio::foreign_traits!([] $type: write);
    };
}

pub(crate) use {
    impl_async_read, impl_async_write, owned_buffer_methods, read_methods, write_methods,
};
