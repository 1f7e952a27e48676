//! The traits of `tokio::io`.

use std::io::{self, IoSlice, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use super::wrapper;
use crate::{AsyncBufRead, AsyncRead, AsyncSeek, AsyncWrite, ReadBuf};

#[doc(hidden)]
#[macro_export]
macro_rules! __tokio_trait {
    (read [$($generics:tt)*] $type:ty) => {
        impl<$($generics)*> $crate::packages::tokio::io::AsyncRead for $type {
            fn poll_read(
                self: std::pin::Pin<&mut Self>,
                cx: &mut std::task::Context<'_>,
                buf: &mut $crate::packages::tokio::io::ReadBuf<'_>,
            ) -> std::task::Poll<std::io::Result<()>> {
                $crate::packages::read_into_tokio(self, cx, buf)
            }
        }
    };
    (buf_read [$($generics:tt)*] $type:ty) => {
        impl<$($generics)*> $crate::packages::tokio::io::AsyncBufRead for $type {
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
        impl<$($generics)*> $crate::packages::tokio::io::AsyncWrite for $type {
            fn poll_write(
                self: std::pin::Pin<&mut Self>,
                cx: &mut std::task::Context<'_>,
                buf: &[u8],
            ) -> std::task::Poll<std::io::Result<usize>> {
                $crate::AsyncWrite::poll_write(self, cx, buf)
            }

            fn poll_flush(
                self: std::pin::Pin<&mut Self>,
                cx: &mut std::task::Context<'_>,
            ) -> std::task::Poll<std::io::Result<()>> {
                $crate::AsyncWrite::poll_flush(self, cx)
            }

            fn poll_shutdown(
                self: std::pin::Pin<&mut Self>,
                cx: &mut std::task::Context<'_>,
            ) -> std::task::Poll<std::io::Result<()>> {
                $crate::AsyncWrite::poll_shutdown(self, cx)
            }

            fn poll_write_vectored(
                self: std::pin::Pin<&mut Self>,
                cx: &mut std::task::Context<'_>,
                bufs: &[std::io::IoSlice<'_>],
            ) -> std::task::Poll<std::io::Result<usize>> {
                $crate::AsyncWrite::poll_write_vectored(self, cx, bufs)
            }

            fn is_write_vectored(&self) -> bool {
                $crate::AsyncWrite::is_write_vectored(self)
            }
        }
    };
    (seek [$($generics:tt)*] $type:ty) => {
        impl<$($generics)*> $crate::packages::tokio::io::AsyncSeek for $type {
            fn start_seek(
                self: std::pin::Pin<&mut Self>,
                position: std::io::SeekFrom,
            ) -> std::io::Result<()> {
                $crate::AsyncSeek::start_seek(self, position)
            }

            fn poll_complete(
                self: std::pin::Pin<&mut Self>,
                cx: &mut std::task::Context<'_>,
            ) -> std::task::Poll<std::io::Result<u64>> {
                $crate::AsyncSeek::poll_complete(self, cx)
            }
        }
    };
}

/// Reads into Tokio's buffer type.
#[doc(hidden)]
pub fn read_into_tokio<R: AsyncRead + ?Sized>(
    reader: Pin<&mut R>,
    cx: &mut Context<'_>,
    buf: &mut tokio::io::ReadBuf<'_>,
) -> Poll<io::Result<()>> {
    // SAFETY: a `ReadBuf` never makes bytes uninitialised.
    let mut part = ReadBuf::uninit(unsafe { buf.unfilled_mut() });
    let start = part.filled().as_ptr();
    ready!(reader.poll_read(cx, &mut part))?;
    // A reader can replace this `ReadBuf` by another one.
    assert_eq!(part.filled().as_ptr(), start);
    let count = part.filled().len();
    // SAFETY: the reader has filled the first `count` unfilled bytes.
    unsafe { buf.assume_init(count) };
    buf.advance(count);
    Poll::Ready(Ok(()))
}

pin_project! {
    /// Implements this crate's traits for any type that has those of `tokio::io`.
    ///
    /// ```
    /// use blitz_io::io::{AsyncReadExt, FromTokio};
    ///
    /// # pollster::block_on(async {
    /// // Tokio has its traits for slices too.
    /// let mut stream = FromTokio::new(&b"bytes"[..]);
    /// let mut text = String::new();
    /// stream.read_to_string(&mut text).await?;
    /// assert_eq!(text, "bytes");
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    #[derive(Debug)]
    pub struct FromTokio<T> {
        #[pin]
        inner: T,
    }
}

impl<T> FromTokio<T> {
    /// Wraps a stream.
    pub fn new(inner: T) -> Self {
        Self { inner }
    }
}

wrapper!(FromTokio);

impl<T: tokio::io::AsyncRead> AsyncRead for FromTokio<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // SAFETY: a `ReadBuf` never makes bytes uninitialised.
        let mut part = tokio::io::ReadBuf::uninit(unsafe { buf.unfilled_mut() });
        let start = part.filled().as_ptr();
        ready!(self.project().inner.poll_read(cx, &mut part))?;
        // A reader can replace this `ReadBuf` by another one.
        assert_eq!(part.filled().as_ptr(), start);
        let count = part.filled().len();
        // SAFETY: the reader has filled the first `count` unfilled bytes.
        unsafe { buf.assume_init(count) };
        buf.advance(count);
        Poll::Ready(Ok(()))
    }
}

impl<T: tokio::io::AsyncBufRead> AsyncBufRead for FromTokio<T> {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        self.project().inner.poll_fill_buf(cx)
    }

    fn consume(self: Pin<&mut Self>, amt: usize) {
        self.project().inner.consume(amt);
    }
}

impl<T: tokio::io::AsyncWrite> AsyncWrite for FromTokio<T> {
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
        self.project().inner.poll_shutdown(cx)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.project().inner.poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }
}

impl<T: tokio::io::AsyncSeek> AsyncSeek for FromTokio<T> {
    fn start_seek(self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
        self.project().inner.start_seek(position)
    }

    fn poll_complete(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        self.project().inner.poll_complete(cx)
    }
}
