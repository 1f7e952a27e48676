//! `BufReader`: a buffer in front of a source.

use std::fmt;
use std::io::{self, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use crate::forward::forward_write;
use crate::{AsyncBufRead, AsyncRead, AsyncSeek, AsyncWrite, DEFAULT_BUF_SIZE, ReadBuf};

pin_project! {
    /// Adds a buffer to a source, so that many small reads become few large ones.
    ///
    /// The contents of the buffer are lost when the `BufReader` is dropped, so do not
    /// create a second one for the same source.
    ///
    /// ```
    /// use blitz_io::io::{AsyncBufReadExt, BufReader};
    ///
    /// # pollster::block_on(async {
    /// let mut lines = BufReader::new(&b"one\ntwo\n"[..]).lines();
    /// while let Some(line) = lines.next_line().await? {
    ///     println!("{line}");
    /// }
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    pub struct BufReader<R> {
        #[pin]
        pub(crate) inner: R,
        pub(crate) buf: Box<[u8]>,
        // Bytes from `pos` to `cap` have been read from the source and not used yet.
        pub(crate) pos: usize,
        pub(crate) cap: usize,
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
    /// The source first seeks back by the number of buffered bytes, because the whole
    /// distance does not fit into one number. This is the rest of the distance.
    Back(i64),
    /// The source is seeking.
    Pending,
}

impl<R: AsyncRead> BufReader<R> {
    /// Creates a `BufReader` with a buffer of 8 KiB.
    pub fn new(inner: R) -> Self {
        Self::with_capacity(DEFAULT_BUF_SIZE, inner)
    }

    /// Creates a `BufReader` with a buffer of `capacity` bytes.
    ///
    /// # Panics
    ///
    /// Panics if `capacity` is zero.
    #[track_caller]
    pub fn with_capacity(capacity: usize, inner: R) -> Self {
        assert!(capacity > 0, "capacity must be greater than zero");
        Self {
            inner,
            buf: vec![0; capacity].into_boxed_slice(),
            pos: 0,
            cap: 0,
            seek: SeekState::Idle,
        }
    }

    /// Returns a reference to the source. It is rarely right to read from it directly.
    pub fn get_ref(&self) -> &R {
        &self.inner
    }

    /// Returns a mutable reference to the source. It is rarely right to read from it
    /// directly.
    pub fn get_mut(&mut self) -> &mut R {
        &mut self.inner
    }

    /// Returns a pinned reference to the source. It is rarely right to read from it
    /// directly.
    pub fn get_pin_mut(self: Pin<&mut Self>) -> Pin<&mut R> {
        self.project().inner
    }

    /// Returns the source. The contents of the buffer are lost.
    pub fn into_inner(self) -> R {
        self.inner
    }

    /// Returns the contents of the buffer, without reading more.
    pub fn buffer(&self) -> &[u8] {
        &self.buf[self.pos..self.cap]
    }

    fn discard_buffer(self: Pin<&mut Self>) {
        let this = self.project();
        *this.pos = 0;
        *this.cap = 0;
    }
}

impl<R: AsyncRead> AsyncRead for BufReader<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // A large read that finds the buffer empty needs no copy.
        if self.pos == self.cap && buf.remaining() >= self.buf.len() {
            let result = ready!(self.as_mut().get_pin_mut().poll_read(cx, buf));
            self.discard_buffer();
            return Poll::Ready(result);
        }
        let available = ready!(self.as_mut().poll_fill_buf(cx))?;
        let count = available.len().min(buf.remaining());
        buf.put_slice(&available[..count]);
        self.consume(count);
        Poll::Ready(Ok(()))
    }
}

impl<R: AsyncRead> AsyncBufRead for BufReader<R> {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        let this = self.project();
        if *this.pos >= *this.cap {
            let mut buf = ReadBuf::new(this.buf);
            ready!(this.inner.poll_read(cx, &mut buf))?;
            *this.cap = buf.filled().len();
            *this.pos = 0;
        }
        Poll::Ready(Ok(&this.buf[*this.pos..*this.cap]))
    }

    fn consume(self: Pin<&mut Self>, amt: usize) {
        let this = self.project();
        *this.pos = this.pos.saturating_add(amt).min(*this.cap);
    }
}

impl<R: AsyncRead + AsyncSeek> BufReader<R> {
    /// Tells the source to seek to `position`, as the caller means it: the source is ahead
    /// of the caller by the number of buffered bytes.
    fn start(mut self: Pin<&mut Self>, position: SeekFrom) -> io::Result<SeekState> {
        let buffered = (self.cap - self.pos) as i64;
        let (position, next) = match position {
            SeekFrom::Current(distance) => match distance.checked_sub(buffered) {
                Some(distance) => (SeekFrom::Current(distance), SeekState::Pending),
                None => (SeekFrom::Current(-buffered), SeekState::Back(distance)),
            },
            position => (position, SeekState::Pending),
        };
        self.as_mut().get_pin_mut().start_seek(position)?;
        Ok(next)
    }
}

/// The buffer is dropped even if the new position lies in it. A seek without a change,
/// `SeekFrom::Current(0)`, therefore brings the source to where the caller is.
impl<R: AsyncRead + AsyncSeek> AsyncSeek for BufReader<R> {
    fn start_seek(self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
        *self.project().seek = SeekState::Start(position);
        Ok(())
    }

    fn poll_complete(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        loop {
            // After an error there is no seek under way.
            let state = std::mem::replace(self.as_mut().project().seek, SeekState::Idle);
            let state = match state {
                SeekState::Idle => return self.get_pin_mut().poll_complete(cx),
                SeekState::Start(position) => self.as_mut().start(position)?,
                state => state,
            };
            let Poll::Ready(place) = self.as_mut().get_pin_mut().poll_complete(cx)? else {
                *self.as_mut().project().seek = state;
                return Poll::Pending;
            };
            self.as_mut().discard_buffer();
            let SeekState::Back(distance) = state else {
                return Poll::Ready(Ok(place));
            };
            *self.as_mut().project().seek = SeekState::Start(SeekFrom::Current(distance));
        }
    }
}

forward_write!([R: AsyncRead + AsyncWrite] BufReader<R>, inner);

impl<R: fmt::Debug> fmt::Debug for BufReader<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (used, size) = (self.cap - self.pos, self.buf.len());
        f.debug_struct("BufReader")
            .field("reader", &self.inner)
            .field("buffer", &format_args!("{used}/{size}"))
            .finish()
    }
}
