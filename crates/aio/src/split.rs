//! `split`: the two directions of a stream as two values.
//!
//! The halves share a lock, which is held for one poll. So no half waits for I/O of the
//! other. Only the stream's own reader and writer wait, each with its own waker.

use std::fmt;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::{AsyncRead, AsyncWrite, ReadBuf};
use blitz_io_core::Lock;

/// Splits a stream into its read half and its write half, which can be in two tasks.
///
/// [`unsplit`](ReadHalf::unsplit) returns the stream.
///
/// ```
/// use blitz_io::io::{AsyncReadExt, AsyncWriteExt, duplex, split};
///
/// # pollster::block_on(async {
/// let (near, mut far) = duplex(64);
/// let (mut reader, mut writer) = split(near);
/// writer.write_all(b"out").await?;
/// far.write_all(b"in").await?;
/// assert_eq!(reader.read_u16().await?, u16::from_be_bytes(*b"in"));
/// let near = reader.unsplit(writer);
/// # drop(near);
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub fn split<T>(stream: T) -> (ReadHalf<T>, WriteHalf<T>)
where
    T: AsyncRead + AsyncWrite,
{
    let shared = Arc::new(Shared {
        is_write_vectored: stream.is_write_vectored(),
        stream: Lock::new(stream),
    });
    let reader = ReadHalf {
        shared: shared.clone(),
    };
    (reader, WriteHalf { shared })
}

/// The read half of a stream: see [`split`].
pub struct ReadHalf<T> {
    shared: Arc<Shared<T>>,
}

/// The write half of a stream: see [`split`].
pub struct WriteHalf<T> {
    shared: Arc<Shared<T>>,
}

struct Shared<T> {
    is_write_vectored: bool,
    stream: Lock<T>,
}

impl<T> Shared<T> {
    fn with<R>(&self, run: impl FnOnce(Pin<&mut T>) -> R) -> R {
        let mut stream = self.stream.lock();
        // SAFETY: the stream does not move until both halves are dropped, or until
        // `unsplit` takes it out, for which it must be `Unpin`. All other accesses go
        // through this function.
        run(unsafe { Pin::new_unchecked(&mut *stream) })
    }
}

impl<T> ReadHalf<T> {
    /// Returns whether the two are halves of one stream.
    pub fn is_pair_of(&self, other: &WriteHalf<T>) -> bool {
        other.is_pair_of(self)
    }

    /// Reunites the halves, and returns the stream.
    ///
    /// # Panics
    ///
    /// Panics if they are not halves of one stream, which
    /// [`is_pair_of`](ReadHalf::is_pair_of) tells.
    #[track_caller]
    pub fn unsplit(self, wr: WriteHalf<T>) -> T
    where
        T: Unpin,
    {
        if !self.is_pair_of(&wr) {
            panic!("Unrelated `split::Write` passed to `split::Read::unsplit`.");
        }
        drop(wr);
        let shared = Arc::try_unwrap(self.shared).ok();
        shared
            .expect("only the two halves have a reference")
            .stream
            .into_inner()
    }
}

impl<T> WriteHalf<T> {
    /// Returns whether the two are halves of one stream.
    pub fn is_pair_of(&self, other: &ReadHalf<T>) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }
}

impl<T: AsyncRead> AsyncRead for ReadHalf<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.shared.with(|stream| stream.poll_read(cx, buf))
    }
}

impl<T: AsyncWrite> AsyncWrite for WriteHalf<T> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.shared.with(|stream| stream.poll_write(cx, buf))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.shared.with(|stream| stream.poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.shared.with(|stream| stream.poll_shutdown(cx))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.shared
            .with(|stream| stream.poll_write_vectored(cx, bufs))
    }

    fn is_write_vectored(&self) -> bool {
        self.shared.is_write_vectored
    }
}

impl<T: fmt::Debug> fmt::Debug for ReadHalf<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("split::ReadHalf").finish()
    }
}

impl<T: fmt::Debug> fmt::Debug for WriteHalf<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("split::WriteHalf").finish()
    }
}
