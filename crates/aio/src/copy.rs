//! `copy`, `copy_bidirectional`: from a source to a destination through a buffer.
//!
//! A pass reads into the buffer and writes it out. While the destination is not ready, the
//! pass fills the rest of the buffer, so that the source does not wait as well. While the
//! source is not ready, the pass flushes the written bytes: the peer may wait for them
//! before it sends more.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use blitz_io_core::coop;

use crate::{AsyncRead, AsyncWrite, DEFAULT_BUF_SIZE, ReadBuf};

#[derive(Debug)]
pub(crate) struct CopyBuffer {
    bytes: Box<[u8]>,
    /// Bytes from `start` to `end` have been read and not written yet.
    start: usize,
    end: usize,
    source_ended: bool,
    needs_flush: bool,
    copied: u64,
}

impl CopyBuffer {
    pub(crate) fn new(size: usize) -> Self {
        Self {
            bytes: vec![0; size].into_boxed_slice(),
            start: 0,
            end: 0,
            source_ended: false,
            needs_flush: false,
            copied: 0,
        }
    }

    fn has_room(&self) -> bool {
        self.end < self.bytes.len() && !self.source_ended
    }

    fn poll_fill<R: AsyncRead + ?Sized>(
        &mut self,
        cx: &mut Context<'_>,
        mut reader: Pin<&mut R>,
    ) -> Poll<io::Result<()>> {
        loop {
            let mut buf = ReadBuf::new(&mut self.bytes);
            buf.set_filled(self.end);
            match ready!(reader.as_mut().poll_read(cx, &mut buf)) {
                Ok(()) => {
                    let end = buf.filled().len();
                    self.source_ended = end == self.end;
                    self.end = end;
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }

    fn poll_write<R, W>(
        &mut self,
        cx: &mut Context<'_>,
        mut reader: Pin<&mut R>,
        mut writer: Pin<&mut W>,
    ) -> Poll<io::Result<usize>>
    where
        R: AsyncRead + ?Sized,
        W: AsyncWrite + ?Sized,
    {
        loop {
            let bytes = &self.bytes[self.start..self.end];
            match writer.as_mut().poll_write(cx, bytes) {
                Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Poll::Ready(result) => return Poll::Ready(result),
                Poll::Pending => {
                    if self.has_room() {
                        ready!(self.poll_fill(cx, reader.as_mut()))?;
                    }
                    return Poll::Pending;
                }
            }
        }
    }

    /// Copies to the end of the source, and returns the number of bytes copied.
    pub(crate) fn poll_copy<R, W>(
        &mut self,
        cx: &mut Context<'_>,
        mut reader: Pin<&mut R>,
        mut writer: Pin<&mut W>,
    ) -> Poll<io::Result<u64>>
    where
        R: AsyncRead + ?Sized,
        W: AsyncWrite + ?Sized,
    {
        let unit = ready!(coop::poll_proceed(cx));
        loop {
            if self.has_room() {
                match self.poll_fill(cx, reader.as_mut()) {
                    Poll::Ready(result) => {
                        unit.made_progress();
                        result?;
                    }
                    Poll::Pending if self.start < self.end => {}
                    Poll::Pending => {
                        if self.needs_flush {
                            ready!(writer.as_mut().poll_flush(cx))?;
                            unit.made_progress();
                            self.needs_flush = false;
                        }
                        return Poll::Pending;
                    }
                }
            }
            while self.start < self.end {
                let count = ready!(self.poll_write(cx, reader.as_mut(), writer.as_mut()))?;
                unit.made_progress();
                if count == 0 {
                    let message = "write zero byte into writer";
                    return Poll::Ready(Err(io::Error::new(io::ErrorKind::WriteZero, message)));
                }
                self.start += count;
                self.copied += count as u64;
                self.needs_flush = true;
            }
            self.start = 0;
            self.end = 0;
            if self.source_ended {
                ready!(writer.as_mut().poll_flush(cx))?;
                unit.made_progress();
                return Poll::Ready(Ok(self.copied));
            }
        }
    }
}

/// Copies everything from `reader` to `writer`, flushes it, and returns the number of bytes
/// copied.
///
/// It uses a buffer of 8 KiB. For a source that has its own buffer,
/// [`copy_buf`](crate::copy_buf) needs none.
///
/// # Errors
///
/// Returns [`WriteZero`](io::ErrorKind::WriteZero) if the destination accepts no more, and
/// the errors of both, except [`Interrupted`](io::ErrorKind::Interrupted), after which it
/// tries again.
///
/// # Cancel safety
///
/// Not cancel safe: bytes that have been read and not written are lost.
///
/// ```
/// use blitz_io::io;
///
/// # pollster::block_on(async {
/// let mut bytes = Vec::new();
/// assert_eq!(io::copy(&mut &b"hello"[..], &mut bytes).await?, 5);
/// assert_eq!(bytes, b"hello");
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub async fn copy<'a, R, W>(reader: &'a mut R, writer: &'a mut W) -> io::Result<u64>
where
    R: AsyncRead + Unpin + ?Sized,
    W: AsyncWrite + Unpin + ?Sized,
{
    let mut buffer = CopyBuffer::new(DEFAULT_BUF_SIZE);
    poll_fn(|cx| buffer.poll_copy(cx, Pin::new(&mut *reader), Pin::new(&mut *writer))).await
}

/// One of the two directions.
enum Direction {
    Copying(CopyBuffer),
    ShuttingDown(u64),
    Done(u64),
}

impl Direction {
    fn poll<R, W>(
        &mut self,
        cx: &mut Context<'_>,
        reader: &mut R,
        writer: &mut W,
    ) -> Poll<io::Result<u64>>
    where
        R: AsyncRead + Unpin + ?Sized,
        W: AsyncWrite + Unpin + ?Sized,
    {
        loop {
            *self = match self {
                Self::Copying(buffer) => {
                    let (reader, writer) = (Pin::new(&mut *reader), Pin::new(&mut *writer));
                    Self::ShuttingDown(ready!(buffer.poll_copy(cx, reader, writer))?)
                }
                Self::ShuttingDown(copied) => {
                    ready!(Pin::new(&mut *writer).poll_shutdown(cx))?;
                    Self::Done(*copied)
                }
                Self::Done(copied) => return Poll::Ready(Ok(*copied)),
            };
        }
    }
}

/// Copies in both directions between `a` and `b` until both have ended, and returns the
/// number of bytes copied from `a` to `b` and from `b` to `a`.
///
/// When one side has ended, the other is shut down for writing, and the other direction
/// continues. It uses two buffers of 8 KiB.
///
/// # Errors
///
/// Returns the first error of either direction, except
/// [`Interrupted`](io::ErrorKind::Interrupted). The other direction stops, and the content
/// of both buffers is lost.
///
/// # Cancel safety
///
/// Not cancel safe: bytes that have been read and not written are lost.
///
/// ```
/// use blitz_io::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional, duplex};
///
/// # pollster::block_on(async {
/// let (mut client, mut near) = duplex(64);
/// let (mut far, mut server) = duplex(64);
/// client.write_all(b"request").await?;
/// client.shutdown().await?;
/// server.write_all(b"answer").await?;
/// server.shutdown().await?;
///
/// assert_eq!(copy_bidirectional(&mut near, &mut far).await?, (7, 6));
///
/// let mut answer = String::new();
/// client.read_to_string(&mut answer).await?;
/// assert_eq!(answer, "answer");
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub async fn copy_bidirectional<A, B>(a: &mut A, b: &mut B) -> io::Result<(u64, u64)>
where
    A: AsyncRead + AsyncWrite + Unpin + ?Sized,
    B: AsyncRead + AsyncWrite + Unpin + ?Sized,
{
    copy_bidirectional_with_sizes(a, b, DEFAULT_BUF_SIZE, DEFAULT_BUF_SIZE).await
}

/// Works like [`copy_bidirectional`], with buffers of these sizes, in bytes.
///
/// # Errors
///
/// Returns the errors of `copy_bidirectional`.
///
/// # Panics
///
/// Panics if a size is zero.
pub async fn copy_bidirectional_with_sizes<A, B>(
    a: &mut A,
    b: &mut B,
    a_to_b_buf_size: usize,
    b_to_a_buf_size: usize,
) -> io::Result<(u64, u64)>
where
    A: AsyncRead + AsyncWrite + Unpin + ?Sized,
    B: AsyncRead + AsyncWrite + Unpin + ?Sized,
{
    assert!(
        a_to_b_buf_size > 0,
        "`a_to_b_buf_size` must be greater than 0"
    );
    assert!(
        b_to_a_buf_size > 0,
        "`b_to_a_buf_size` must be greater than 0"
    );
    let mut to_b = Direction::Copying(CopyBuffer::new(a_to_b_buf_size));
    let mut to_a = Direction::Copying(CopyBuffer::new(b_to_a_buf_size));
    poll_fn(|cx| {
        let to_b = to_b.poll(cx, a, b)?;
        let to_a = to_a.poll(cx, b, a)?;
        Poll::Ready(Ok((ready!(to_b), ready!(to_a))))
    })
    .await
}
