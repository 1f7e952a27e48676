//! The traits `hyper::rt::{Read, Write}`.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use super::wrapper;
use crate::{AsyncRead, AsyncWrite, ReadBuf};

#[doc(hidden)]
#[macro_export]
macro_rules! __hyper_trait {
    (read [$($generics:tt)*] $type:ty) => {
        impl<$($generics)*> $crate::packages::hyper::rt::Read for $type {
            fn poll_read(
                self: std::pin::Pin<&mut Self>,
                cx: &mut std::task::Context<'_>,
                buf: $crate::packages::hyper::rt::ReadBufCursor<'_>,
            ) -> std::task::Poll<std::io::Result<()>> {
                $crate::packages::read_into_hyper(self, cx, buf)
            }
        }
    };
    (write [$($generics:tt)*] $type:ty) => {
        impl<$($generics)*> $crate::packages::hyper::rt::Write for $type {
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

            fn is_write_vectored(&self) -> bool {
                $crate::AsyncWrite::is_write_vectored(self)
            }

            fn poll_write_vectored(
                self: std::pin::Pin<&mut Self>,
                cx: &mut std::task::Context<'_>,
                bufs: &[std::io::IoSlice<'_>],
            ) -> std::task::Poll<std::io::Result<usize>> {
                $crate::AsyncWrite::poll_write_vectored(self, cx, bufs)
            }
        }
    };
    ($($any:tt)*) => {};
}

/// Reads into hyper's buffer type.
#[doc(hidden)]
pub fn read_into_hyper<R: AsyncRead + ?Sized>(
    reader: Pin<&mut R>,
    cx: &mut Context<'_>,
    mut buf: hyper::rt::ReadBufCursor<'_>,
) -> Poll<io::Result<()>> {
    // SAFETY: a `ReadBuf` never makes bytes uninitialised.
    let mut part = ReadBuf::uninit(unsafe { buf.as_mut() });
    let start = part.filled().as_ptr();
    ready!(reader.poll_read(cx, &mut part))?;
    // A reader can replace this `ReadBuf` by another one.
    assert_eq!(part.filled().as_ptr(), start);
    let count = part.filled().len();
    // SAFETY: the reader has filled the first `count` unfilled bytes.
    unsafe { buf.advance(count) };
    Poll::Ready(Ok(()))
}

pin_project! {
    /// Implements this crate's traits for any type that has hyper's `Read` and `Write`,
    /// such as a connection that hyper has upgraded.
    #[derive(Debug)]
    pub struct FromHyper<T> {
        #[pin]
        inner: T,
    }
}

impl<T> FromHyper<T> {
    /// Wraps a stream.
    pub fn new(inner: T) -> Self {
        Self { inner }
    }
}

wrapper!(FromHyper);

impl<T: hyper::rt::Read> AsyncRead for FromHyper<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // SAFETY: a `ReadBuf` never makes bytes uninitialised.
        let mut part = hyper::rt::ReadBuf::uninit(unsafe { buf.unfilled_mut() });
        ready!(self.project().inner.poll_read(cx, part.unfilled()))?;
        let count = part.filled().len();
        // SAFETY: the reader has filled the first `count` unfilled bytes: a cursor cannot
        // be exchanged for another one.
        unsafe { buf.assume_init(count) };
        buf.advance(count);
        Poll::Ready(Ok(()))
    }
}

impl<T: hyper::rt::Write> AsyncWrite for FromHyper<T> {
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
