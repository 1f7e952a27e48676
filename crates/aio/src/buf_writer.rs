//! `BufWriter`: a buffer in front of a destination.

use std::fmt;
use std::io::{self, IoSlice, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use crate::forward::{forward_buf_read, forward_read};
use crate::{AsyncBufRead, AsyncRead, AsyncSeek, AsyncWrite, DEFAULT_BUF_SIZE};

pin_project! {
    /// Adds a buffer to a destination, so that many small writes become few large ones.
    ///
    /// The contents of the buffer are lost when the `BufWriter` is dropped: call
    /// [`flush`](crate::AsyncWriteExt::flush) first.
    ///
    /// ```
    /// use blitz_io::io::{AsyncWriteExt, BufWriter};
    ///
    /// # pollster::block_on(async {
    /// let mut writer = BufWriter::new(Vec::new());
    /// for number in 0..3 {
    ///     writer.write_u8(number).await?;
    /// }
    /// writer.flush().await?;
    /// assert_eq!(writer.into_inner(), [0, 1, 2]);
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    pub struct BufWriter<W> {
        #[pin]
        pub(crate) inner: W,
        pub(crate) buf: Vec<u8>,
        // How much of the buffer has been written during a flush.
        pub(crate) written: usize,
        pub(crate) seek: SeekState,
    }
}

/// The state of a seek.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SeekState {
    /// No seek is under way.
    Idle,
    /// A seek has been requested.
    Start(SeekFrom),
    /// The destination is seeking.
    Pending,
}

impl<W: AsyncWrite> BufWriter<W> {
    /// Creates a `BufWriter` with a buffer of 8 KiB.
    pub fn new(inner: W) -> Self {
        Self::with_capacity(DEFAULT_BUF_SIZE, inner)
    }

    /// Creates a `BufWriter` with a buffer of at least `cap` bytes.
    pub fn with_capacity(cap: usize, inner: W) -> Self {
        Self {
            inner,
            buf: Vec::with_capacity(cap),
            written: 0,
            seek: SeekState::Idle,
        }
    }

    /// Returns a reference to the destination.
    pub fn get_ref(&self) -> &W {
        &self.inner
    }

    /// Returns a mutable reference to the destination. It is rarely right to write to it
    /// directly.
    pub fn get_mut(&mut self) -> &mut W {
        &mut self.inner
    }

    /// Returns a pinned reference to the destination. It is rarely right to write to it
    /// directly.
    pub fn get_pin_mut(self: Pin<&mut Self>) -> Pin<&mut W> {
        self.project().inner
    }

    /// Returns the destination. The contents of the buffer are lost.
    pub fn into_inner(self) -> W {
        self.inner
    }

    /// Returns the contents of the buffer.
    pub fn buffer(&self) -> &[u8] {
        &self.buf
    }

    /// Returns the room left in the buffer, in bytes.
    fn room(&self) -> usize {
        self.buf.capacity() - self.buf.len()
    }

    fn flush_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut this = self.project();
        let mut result = Ok(());
        while *this.written < this.buf.len() {
            let rest = &this.buf[*this.written..];
            match ready!(this.inner.as_mut().poll_write(cx, rest)) {
                Ok(0) => {
                    let message = "failed to write the buffered data";
                    result = Err(io::Error::new(io::ErrorKind::WriteZero, message));
                    break;
                }
                Ok(count) => *this.written += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    result = Err(error);
                    break;
                }
            }
        }
        this.buf.drain(..*this.written);
        *this.written = 0;
        Poll::Ready(result)
    }

    /// Copies as many whole buffers as fit, and at least a part of the first that is not
    /// empty. For a destination that takes one buffer in each write.
    fn poll_write_each(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut bufs = bufs.iter().skip_while(|buf| buf.is_empty());
        let Some(first) = bufs.next() else {
            return Poll::Ready(Ok(0));
        };
        if first.len() > self.room() {
            ready!(self.as_mut().flush_buf(cx))?;
        }
        let this = self.project();
        if first.len() >= this.buf.capacity() {
            return this.inner.poll_write(cx, first);
        }
        this.buf.extend_from_slice(first);
        let mut total = first.len();
        for buf in bufs {
            if buf.len() > this.buf.capacity() - this.buf.len() {
                break;
            }
            this.buf.extend_from_slice(buf);
            total += buf.len();
        }
        Poll::Ready(Ok(total))
    }
}

impl<W: AsyncWrite> AsyncWrite for BufWriter<W> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        if buf.len() > self.room() {
            ready!(self.as_mut().flush_buf(cx))?;
        }
        let this = self.project();
        // A large write needs no copy. The buffer is empty here.
        if buf.len() >= this.buf.capacity() {
            return this.inner.poll_write(cx, buf);
        }
        this.buf.extend_from_slice(buf);
        Poll::Ready(Ok(buf.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.as_mut().flush_buf(cx))?;
        self.get_pin_mut().poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.as_mut().flush_buf(cx))?;
        self.get_pin_mut().poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if !self.inner.is_write_vectored() {
            return self.poll_write_each(cx, bufs);
        }
        let total = bufs
            .iter()
            .fold(0, |total: usize, buf| total.saturating_add(buf.len()));
        if total > self.room() {
            ready!(self.as_mut().flush_buf(cx))?;
        }
        let this = self.project();
        if total >= this.buf.capacity() {
            return this.inner.poll_write_vectored(cx, bufs);
        }
        for buf in bufs {
            this.buf.extend_from_slice(buf);
        }
        Poll::Ready(Ok(total))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }
}

/// The buffer is written before the position changes.
impl<W: AsyncWrite + AsyncSeek> AsyncSeek for BufWriter<W> {
    fn start_seek(self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
        *self.project().seek = SeekState::Start(position);
        Ok(())
    }

    fn poll_complete(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        if let SeekState::Idle = self.seek {
            return self.get_pin_mut().poll_complete(cx);
        }
        ready!(self.as_mut().flush_buf(cx))?;
        let mut this = self.project();
        if let SeekState::Start(position) = *this.seek {
            // A cancelled seek may still be under way.
            ready!(this.inner.as_mut().poll_complete(cx))?;
            *this.seek = SeekState::Idle;
            this.inner.as_mut().start_seek(position)?;
            *this.seek = SeekState::Pending;
        }
        let place = ready!(this.inner.poll_complete(cx));
        *this.seek = SeekState::Idle;
        Poll::Ready(place)
    }
}

forward_read!([W: AsyncWrite + AsyncRead] BufWriter<W>, inner);
forward_buf_read!([W: AsyncWrite + AsyncBufRead] BufWriter<W>, inner);

impl<W: fmt::Debug> fmt::Debug for BufWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (used, size) = (self.buf.len(), self.buf.capacity());
        f.debug_struct("BufWriter")
            .field("writer", &self.inner)
            .field("buffer", &format_args!("{used}/{size}"))
            .field("written", &self.written)
            .finish()
    }
}
