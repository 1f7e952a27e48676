//! The traits of `futures-io`, and so of `futures::io`.

use std::io::{self, IoSlice, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use super::{Compat, wrapper};
use crate::{AsyncBufRead, AsyncRead, AsyncSeek, AsyncWrite, ReadBuf};

#[doc(hidden)]
#[macro_export]
macro_rules! __futures_trait {
    (read [$($generics:tt)*] $type:ty) => {
        impl<$($generics)*> $crate::packages::futures_io::AsyncRead for $type {
            fn poll_read(
                self: std::pin::Pin<&mut Self>,
                cx: &mut std::task::Context<'_>,
                buf: &mut [u8],
            ) -> std::task::Poll<std::io::Result<usize>> {
                let mut buf = $crate::ReadBuf::new(buf);
                std::task::ready!($crate::AsyncRead::poll_read(self, cx, &mut buf))?;
                std::task::Poll::Ready(Ok(buf.filled().len()))
            }
        }
    };
    (buf_read [$($generics:tt)*] $type:ty) => {
        impl<$($generics)*> $crate::packages::futures_io::AsyncBufRead for $type {
            fn poll_fill_buf(
                self: std::pin::Pin<&mut Self>,
                cx: &mut std::task::Context<'_>,
            ) -> std::task::Poll<std::io::Result<&[u8]>> {
                $crate::AsyncBufRead::poll_fill_buf(self, cx)
            }

            fn consume(self: std::pin::Pin<&mut Self>, amt: usize) {
                $crate::AsyncBufRead::consume(self, amt);
            }
        }
    };
    (write [$($generics:tt)*] $type:ty) => {
        impl<$($generics)*> $crate::packages::futures_io::AsyncWrite for $type {
            fn poll_write(
                self: std::pin::Pin<&mut Self>,
                cx: &mut std::task::Context<'_>,
                buf: &[u8],
            ) -> std::task::Poll<std::io::Result<usize>> {
                $crate::AsyncWrite::poll_write(self, cx, buf)
            }

            fn poll_write_vectored(
                self: std::pin::Pin<&mut Self>,
                cx: &mut std::task::Context<'_>,
                bufs: &[std::io::IoSlice<'_>],
            ) -> std::task::Poll<std::io::Result<usize>> {
                $crate::AsyncWrite::poll_write_vectored(self, cx, bufs)
            }

            fn poll_flush(
                self: std::pin::Pin<&mut Self>,
                cx: &mut std::task::Context<'_>,
            ) -> std::task::Poll<std::io::Result<()>> {
                $crate::AsyncWrite::poll_flush(self, cx)
            }

            fn poll_close(
                self: std::pin::Pin<&mut Self>,
                cx: &mut std::task::Context<'_>,
            ) -> std::task::Poll<std::io::Result<()>> {
                $crate::AsyncWrite::poll_shutdown(self, cx)
            }
        }
    };
    (seek $($any:tt)*) => {};
}

impl<T: AsyncSeek> futures_io::AsyncSeek for Compat<T> {
    fn poll_seek(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        position: SeekFrom,
    ) -> Poll<io::Result<u64>> {
        let mut this = self.project();
        if *this.seeking != Some(position) {
            // A cancelled seek may still be under way.
            ready!(this.inner.as_mut().poll_complete(cx))?;
            this.inner.as_mut().start_seek(position)?;
            *this.seeking = Some(position);
        }
        let place = ready!(this.inner.poll_complete(cx));
        *this.seeking = None;
        Poll::Ready(place)
    }
}

pin_project! {
    /// Implements this crate's traits for any type that has those of `futures-io`.
    ///
    /// ```
    /// use blitz_io::io::{AsyncReadExt, FromFutures};
    ///
    /// # pollster::block_on(async {
    /// // That package has its traits for slices too.
    /// let mut stream = FromFutures::new(&b"bytes"[..]);
    /// let mut text = String::new();
    /// stream.read_to_string(&mut text).await?;
    /// assert_eq!(text, "bytes");
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    #[derive(Debug)]
    pub struct FromFutures<T> {
        #[pin]
        inner: T,
        seeking: Option<SeekFrom>,
    }
}

impl<T> FromFutures<T> {
    /// Wraps a stream.
    pub fn new(inner: T) -> Self {
        Self {
            inner,
            seeking: None,
        }
    }
}

wrapper!(FromFutures);

impl<T: futures_io::AsyncRead> AsyncRead for FromFutures<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let unfilled = buf.initialize_unfilled();
        let count = ready!(self.project().inner.poll_read(cx, unfilled))?;
        buf.advance(count);
        Poll::Ready(Ok(()))
    }
}

impl<T: futures_io::AsyncBufRead> AsyncBufRead for FromFutures<T> {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        self.project().inner.poll_fill_buf(cx)
    }

    fn consume(self: Pin<&mut Self>, amt: usize) {
        self.project().inner.consume(amt);
    }
}

impl<T: futures_io::AsyncWrite> AsyncWrite for FromFutures<T> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.project().inner.poll_write(cx, buf)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.project().inner.poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.project().inner.poll_close(cx)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.project().inner.poll_write_vectored(cx, bufs)
    }
}

impl<T: futures_io::AsyncSeek> AsyncSeek for FromFutures<T> {
    fn start_seek(self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
        *self.project().seeking = Some(position);
        Ok(())
    }

    fn poll_complete(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        let this = self.project();
        // Asking for the position is a seek as well.
        let position = this.seeking.unwrap_or(SeekFrom::Current(0));
        let place = ready!(this.inner.poll_seek(cx, position));
        *this.seeking = None;
        Poll::Ready(place)
    }
}
