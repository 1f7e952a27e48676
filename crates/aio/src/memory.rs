//! `duplex`, `simplex`: in-memory streams.
//!
//! A [`SimplexStream`] holds the bytes that have been written and not yet read, whether one
//! of its ends is closed, and the wakers of a waiting reader and a waiting writer. Every
//! read or change of this state is under one lock (or needs `&mut`), and so is storing a
//! waker. So no wake-up is lost:
//!
//! 1. A reader that finds no byte stores its waker before it releases the lock, so the
//!    write that brings the next byte finds the waker.
//! 2. The same holds for a writer that finds no room, and for the closing of an end.
//!
//! Wakers run after the lock is released: a waker may poll the other end at once.
//!
//! Each direction is an object of its own in reports, which has the records of both waits. In a simulation, each read and write
//! is an operation on it.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use blitz_io_core::coop;
use blitz_io_observe::decisions::{self, Note};
use blitz_io_observe::{Caller, Kind, Observed, Wait, WaitKind};

use crate::{AsyncRead, AsyncWrite, ReadBuf, ReadHalf, WriteHalf, split};
use blitz_io_core::Lock;

/// One end of an in-memory stream that goes both ways: see [`duplex`].
///
/// When it is dropped, the other end reads the rest and then the end of the stream, and its
/// writes fail with [`BrokenPipe`](io::ErrorKind::BrokenPipe).
#[derive(Debug)]
pub struct DuplexStream {
    read: Arc<Lock<SimplexStream>>,
    write: Arc<Lock<SimplexStream>>,
}

/// A one-way in-memory stream: bytes that are written to it can be read from it.
#[derive(Debug)]
pub struct SimplexStream {
    bytes: VecDeque<u8>,
    is_closed: bool,
    max_buf_size: usize,
    reader: Polled,
    writer: Polled,
    observed: Observed,
}

/// The task that polls an operation of one end.
#[derive(Debug)]
struct Polled {
    waker: Option<Waker>,
    /// Set only while there is a waker.
    record: Wait,
}

impl Polled {
    const fn new() -> Self {
        Self {
            waker: None,
            record: Wait::new(Caller::UNKNOWN),
        }
    }

    fn take(&mut self) -> Option<Waker> {
        self.record.end();
        self.waker.take()
    }
}

/// Creates the two ends of an in-memory stream: each reads the bytes that are written to
/// the other.
///
/// Each direction holds at most `max_buf_size` bytes; a write waits for room.
///
/// # Panics
///
/// Panics if `max_buf_size` is zero.
///
/// ```
/// use blitz_io::io::{AsyncReadExt, AsyncWriteExt, duplex};
///
/// # pollster::block_on(async {
/// let (mut client, mut server) = duplex(64);
/// client.write_all(b"ping").await?;
/// let mut buf = [0; 4];
/// server.read_exact(&mut buf).await?;
/// assert_eq!(&buf, b"ping");
/// server.write_all(b"pong").await?;
/// client.read_exact(&mut buf).await?;
/// assert_eq!(&buf, b"pong");
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
#[track_caller]
pub fn duplex(max_buf_size: usize) -> (DuplexStream, DuplexStream) {
    let one = Arc::new(Lock::new(SimplexStream::new_unsplit(max_buf_size)));
    let other = Arc::new(Lock::new(SimplexStream::new_unsplit(max_buf_size)));
    let near = DuplexStream {
        read: one.clone(),
        write: other.clone(),
    };
    let far = DuplexStream {
        read: other,
        write: one,
    };
    (near, far)
}

/// Creates an in-memory stream that goes one way, as its two halves.
///
/// It holds at most `max_buf_size` bytes; a write waits for room.
///
/// # Panics
///
/// Panics if `max_buf_size` is zero.
///
/// ```
/// use blitz_io::io::{AsyncReadExt, AsyncWriteExt, simplex};
///
/// # pollster::block_on(async {
/// let (mut receiver, mut sender) = simplex(64);
/// sender.write_all(b"hello").await?;
/// sender.shutdown().await?;
/// let mut text = String::new();
/// receiver.read_to_string(&mut text).await?;
/// assert_eq!(text, "hello");
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
#[track_caller]
pub fn simplex(max_buf_size: usize) -> (ReadHalf<SimplexStream>, WriteHalf<SimplexStream>) {
    split(SimplexStream::new_unsplit(max_buf_size))
}

/// Wakers to handle after the lock is released: one is woken, and one that was replaced is
/// dropped, which may run user code too.
#[derive(Default)]
struct AfterUnlock {
    wake: Option<Waker>,
    _replaced: Option<Waker>,
}

impl AfterUnlock {
    /// One end is closed, so no task waits there any more. The task at the other one is woken.
    fn closing(closed: &mut Polled, other: &mut Polled) -> Self {
        closed.record.end();
        Self {
            wake: other.take(),
            _replaced: None,
        }
    }
}

impl Drop for AfterUnlock {
    #[inline]
    fn drop(&mut self) {
        if let Some(waker) = self.wake.take() {
            waker.wake();
        }
    }
}

/// Stores the waker of `cx` in `place`. It waits for this kind of operation.
fn register(
    (place, observed, kind): (&mut Polled, &Observed, Kind),
    cx: &mut Context<'_>,
    after: &mut AfterUnlock,
) {
    let known = place.waker.as_ref();
    if !known.is_some_and(|waker| waker.will_wake(cx.waker())) {
        after._replaced = place.waker.replace(cx.waker().clone());
    }
    (place.record).begin_called(WaitKind::new(kind), &observed.object, cx.waker());
}

/// Tells a simulation that the current task begins an operation on the stream.
#[inline]
fn begins(stream: &Lock<SimplexStream>, kind: Kind) {
    if decisions::is_on() {
        stream.lock().begins(kind);
    }
}

/// Tells a simulation what the current task has done: a sentence with `{}` for the stream.
#[inline]
fn done(kind: Kind, text: impl FnOnce() -> String) {
    decisions::note(|| Note::Operation(kind, text()));
}

impl SimplexStream {
    /// Creates a one-way in-memory stream that is not split: [`split`](crate::split) makes
    /// the halves that [`simplex`] returns.
    ///
    /// It holds at most `max_buf_size` bytes; a write waits for room.
    ///
    /// # Panics
    ///
    /// Panics if `max_buf_size` is zero.
    #[track_caller]
    pub fn new_unsplit(max_buf_size: usize) -> SimplexStream {
        assert!(max_buf_size > 0, "`max_buf_size` must be greater than 0");
        SimplexStream {
            bytes: VecDeque::new(),
            is_closed: false,
            max_buf_size,
            reader: Polled::new(),
            writer: Polled::new(),
            observed: Observed::here(),
        }
    }

    #[inline]
    fn begins(&self, kind: Kind) {
        self.observed.object.touch(kind);
    }

    fn read(
        &mut self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
        after: &mut AfterUnlock,
    ) -> Poll<io::Result<()>> {
        if buf.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        if self.bytes.is_empty() && self.is_closed {
            done(Kind::MemoryRead, || "reads the end of {}".to_owned());
            return Poll::Ready(Ok(()));
        }
        if self.bytes.is_empty() {
            let end = (&mut self.reader, &self.observed, Kind::MemoryRead);
            register(end, cx, after);
            return Poll::Pending;
        }
        let count = self.bytes.len().min(buf.remaining());
        let (first, second) = self.bytes.as_slices();
        let from_first = first.len().min(count);
        buf.put_slice(&first[..from_first]);
        buf.put_slice(&second[..count - from_first]);
        self.bytes.drain(..count);
        done(Kind::MemoryRead, || {
            format!("reads {} from {{}}", decisions::bytes(count))
        });
        after.wake = self.writer.take();
        Poll::Ready(Ok(()))
    }

    fn write(
        &mut self,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
        after: &mut AfterUnlock,
    ) -> Poll<io::Result<usize>> {
        if self.is_closed {
            let error = io::Error::from(io::ErrorKind::BrokenPipe);
            done(Kind::MemoryWrite, || {
                format!("fails to write to {{}}: {error}")
            });
            return Poll::Ready(Err(error));
        }
        if bufs.iter().all(|buf| buf.is_empty()) {
            return Poll::Ready(Ok(0));
        }
        let room = self.max_buf_size - self.bytes.len();
        if room == 0 {
            let end = (&mut self.writer, &self.observed, Kind::MemoryWrite);
            register(end, cx, after);
            return Poll::Pending;
        }
        let mut left = room;
        for buf in bufs {
            let part = &buf[..buf.len().min(left)];
            self.bytes.extend(part);
            left -= part.len();
        }
        done(Kind::MemoryWrite, || {
            format!("writes {} to {{}}", decisions::bytes(room - left))
        });
        after.wake = self.reader.take();
        Poll::Ready(Ok(room - left))
    }

    fn end_writing(&mut self) -> AfterUnlock {
        coop::acted();
        self.is_closed = true;
        AfterUnlock::closing(&mut self.writer, &mut self.reader)
    }

    fn end_reading(&mut self) -> AfterUnlock {
        coop::acted();
        self.is_closed = true;
        AfterUnlock::closing(&mut self.reader, &mut self.writer)
    }
}

impl AsyncRead for SimplexStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.begins(Kind::MemoryRead);
        let mut after = AfterUnlock::default();
        coop::poll_with(cx, |cx| self.read(cx, buf, &mut after))
    }
}

impl AsyncWrite for SimplexStream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(buf)])
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        drop(self.end_writing());
        Poll::Ready(Ok(()))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.begins(Kind::MemoryWrite);
        let mut after = AfterUnlock::default();
        coop::poll_with(cx, |cx| self.write(cx, bufs, &mut after))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }
}

impl AsyncRead for DuplexStream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        begins(&self.read, Kind::MemoryRead);
        // Dropped after the guard, which is a temporary.
        let mut after = AfterUnlock::default();
        coop::poll_with(cx, |cx| self.read.lock().read(cx, buf, &mut after))
    }
}

impl AsyncWrite for DuplexStream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(buf)])
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        let after = self.write.lock().end_writing();
        drop(after);
        Poll::Ready(Ok(()))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        begins(&self.write, Kind::MemoryWrite);
        let mut after = AfterUnlock::default();
        coop::poll_with(cx, |cx| self.write.lock().write(cx, bufs, &mut after))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }
}

impl Drop for DuplexStream {
    fn drop(&mut self) {
        let reader = self.write.lock().end_writing();
        let writer = self.read.lock().end_reading();
        drop((reader, writer));
    }
}
