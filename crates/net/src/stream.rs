//! Operations that stream sockets share, in part with pipes.
//!
//! The operations that own their buffer wait for readiness and then call the system, like
//! all other operations on a socket. In a ring they would cost as much, and a read that is
//! cancelled there may consume bytes.

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

// SAFETY: one call of `recv`.
unsafe impl ByteSource for mio::net::TcpStream {}
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
