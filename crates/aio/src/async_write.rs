//! `AsyncWrite`: destinations of bytes.

use std::io::{self, IoSlice, Write};
use std::ops::DerefMut;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Writes bytes without blocking the thread.
///
/// This is the counterpart of [`std::io::Write`] for tasks: where that blocks, this returns
/// [`Poll::Pending`] and wakes the task later. The methods to call are those of
/// [`AsyncWriteExt`](crate::AsyncWriteExt).
pub trait AsyncWrite {
    /// Attempts to write bytes of `buf`, and returns how many were accepted.
    ///
    /// Zero means that no more bytes are accepted, or that `buf` is empty. After
    /// `Pending`, nothing has been written, and the waker of the last call is woken once
    /// there may be room.
    ///
    /// # Errors
    ///
    /// Returns the errors of the destination. In that case nothing of `buf` has been
    /// written.
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>>;

    /// Attempts to pass everything written so far on to its destination.
    ///
    /// # Errors
    ///
    /// Returns the errors of the destination.
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Attempts to end writing in an orderly way, which includes a flush.
    ///
    /// After `Ready(Ok(()))` nothing more can be written, and the value can be dropped
    /// without loss. A socket closes its sending half.
    ///
    /// # Errors
    ///
    /// Returns the errors of the destination.
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Attempts to write bytes of several buffers, in order.
    ///
    /// It is [`poll_write`](AsyncWrite::poll_write) for the first buffer that is not empty,
    /// unless the type does better.
    ///
    /// # Errors
    ///
    /// Returns the errors of `poll_write`.
    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let first = bufs.iter().find(|buf| !buf.is_empty());
        self.poll_write(cx, first.map_or(&[], |buf| buf))
    }

    /// Returns whether [`poll_write_vectored`](AsyncWrite::poll_write_vectored) is
    /// better than a write for each buffer.
    fn is_write_vectored(&self) -> bool {
        false
    }
}

macro_rules! through_a_reference {
    ($type:ty) => {
        impl<T: ?Sized + AsyncWrite + Unpin> AsyncWrite for $type {
            #[inline]
            fn poll_write(
                mut self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &[u8],
            ) -> Poll<io::Result<usize>> {
                Pin::new(&mut **self).poll_write(cx, buf)
            }

            #[inline]
            fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                Pin::new(&mut **self).poll_flush(cx)
            }

            #[inline]
            fn poll_shutdown(
                mut self: Pin<&mut Self>,
                cx: &mut Context<'_>,
            ) -> Poll<io::Result<()>> {
                Pin::new(&mut **self).poll_shutdown(cx)
            }

            #[inline]
            fn poll_write_vectored(
                mut self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                bufs: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                Pin::new(&mut **self).poll_write_vectored(cx, bufs)
            }

            #[inline]
            fn is_write_vectored(&self) -> bool {
                (**self).is_write_vectored()
            }
        }
    };
}

through_a_reference!(Box<T>);
through_a_reference!(&mut T);

impl<P> AsyncWrite for Pin<P>
where
    P: DerefMut,
    P::Target: AsyncWrite,
{
    #[inline]
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.as_deref_mut().poll_write(cx, buf)
    }

    #[inline]
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.as_deref_mut().poll_flush(cx)
    }

    #[inline]
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.as_deref_mut().poll_shutdown(cx)
    }

    #[inline]
    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.as_deref_mut().poll_write_vectored(cx, bufs)
    }

    #[inline]
    fn is_write_vectored(&self) -> bool {
        (**self).is_write_vectored()
    }
}

/// Implements the trait for types in memory: there, a write of `std::io::Write` does not
/// block.
macro_rules! as_std_does {
    ($($type:ty),*) => {$(
        impl AsyncWrite for $type {
            #[inline]
            fn poll_write(
                mut self: Pin<&mut Self>,
                _: &mut Context<'_>,
                buf: &[u8],
            ) -> Poll<io::Result<usize>> {
                Poll::Ready(Write::write(&mut *self, buf))
            }

            #[inline]
            fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }

            #[inline]
            fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }

            #[inline]
            fn poll_write_vectored(
                mut self: Pin<&mut Self>,
                _: &mut Context<'_>,
                bufs: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                Poll::Ready(Write::write_vectored(&mut *self, bufs))
            }

            #[inline]
            fn is_write_vectored(&self) -> bool {
                true
            }
        }
    )*};
}

as_std_does!(
    Vec<u8>,
    io::Cursor<&mut [u8]>,
    io::Cursor<&mut Vec<u8>>,
    io::Cursor<Vec<u8>>,
    io::Cursor<Box<[u8]>>
);
