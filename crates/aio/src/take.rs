//! `Take`: a source limited to a number of bytes.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use crate::{AsyncBufRead, AsyncRead, ReadBuf};

pin_project! {
    /// The first bytes of a source.
    ///
    /// Created by [`AsyncReadExt::take`](crate::AsyncReadExt::take).
    #[derive(Debug)]
    #[must_use = "streams do nothing unless you `.await` or poll them"]
    pub struct Take<R> {
        #[pin]
        inner: R,
        limit: u64,
    }
}

impl<R: AsyncRead> Take<R> {
    pub(crate) fn new(inner: R, limit: u64) -> Self {
        Self { inner, limit }
    }

    /// Returns how many more bytes can be read. The source may end earlier.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Sets how many more bytes can be read, regardless of how many have been read so far.
    pub fn set_limit(&mut self, limit: u64) {
        self.limit = limit;
    }

    /// Returns a reference to the source.
    pub fn get_ref(&self) -> &R {
        &self.inner
    }

    /// Returns a mutable reference to the source. Bytes read from it directly are not
    /// counted.
    pub fn get_mut(&mut self) -> &mut R {
        &mut self.inner
    }

    /// Returns a pinned reference to the source. Bytes read from it directly are not
    /// counted.
    pub fn get_pin_mut(self: Pin<&mut Self>) -> Pin<&mut R> {
        self.project().inner
    }

    /// Returns the source.
    pub fn into_inner(self) -> R {
        self.inner
    }

    /// Returns `count`, or as many bytes as can still be read.
    fn at_most(&self, count: usize) -> usize {
        usize::try_from(self.limit).map_or(count, |limit| limit.min(count))
    }
}

impl<R: AsyncRead> AsyncRead for Take<R> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.limit == 0 {
            return Poll::Ready(Ok(()));
        }
        let mut part = buf.take(self.at_most(usize::MAX));
        let start = part.filled().as_ptr();
        let this = self.project();
        ready!(this.inner.poll_read(cx, &mut part))?;
        // A reader can replace this `ReadBuf` by another one.
        assert_eq!(part.filled().as_ptr(), start);
        let count = part.filled().len();
        // SAFETY: the source has filled the first `count` unfilled bytes.
        unsafe { buf.assume_init(count) };
        buf.advance(count);
        *this.limit -= count as u64;
        Poll::Ready(Ok(()))
    }
}

impl<R: AsyncBufRead> AsyncBufRead for Take<R> {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        let most = self.at_most(usize::MAX);
        if most == 0 {
            return Poll::Ready(Ok(&[]));
        }
        let bytes = ready!(self.project().inner.poll_fill_buf(cx))?;
        Poll::Ready(Ok(&bytes[..bytes.len().min(most)]))
    }

    fn consume(self: Pin<&mut Self>, amt: usize) {
        let amt = self.at_most(amt);
        let this = self.project();
        *this.limit -= amt as u64;
        this.inner.consume(amt);
    }
}
