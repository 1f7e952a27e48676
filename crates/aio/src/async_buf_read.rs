//! `AsyncBufRead`: a source whose buffer can be read in place.

use std::io;
use std::ops::DerefMut;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::AsyncRead;

/// Reads from a source that has a buffer, without copying out of it.
///
/// This is the counterpart of [`std::io::BufRead`] for tasks. The methods to call are those
/// of [`AsyncBufReadExt`](crate::AsyncBufReadExt).
pub trait AsyncBufRead: AsyncRead {
    /// Attempts to return the contents of the buffer, filling it from the source if it is
    /// empty.
    ///
    /// An empty slice means that the end is reached. The bytes stay in the buffer until
    /// [`consume`](AsyncBufRead::consume) marks them as used.
    ///
    /// # Errors
    ///
    /// Returns the errors of the source.
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>>;

    /// Marks `amt` bytes of the buffer as used, so that no read returns them again.
    ///
    /// `amt` is at most the length of what
    /// [`poll_fill_buf`](AsyncBufRead::poll_fill_buf) has returned.
    fn consume(self: Pin<&mut Self>, amt: usize);
}

macro_rules! through_a_reference {
    ($type:ty) => {
        impl<T: ?Sized + AsyncBufRead + Unpin> AsyncBufRead for $type {
            #[inline]
            fn poll_fill_buf(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
            ) -> Poll<io::Result<&[u8]>> {
                Pin::new(&mut **self.get_mut()).poll_fill_buf(cx)
            }

            #[inline]
            fn consume(mut self: Pin<&mut Self>, amt: usize) {
                Pin::new(&mut **self).consume(amt);
            }
        }
    };
}

through_a_reference!(Box<T>);
through_a_reference!(&mut T);

impl<P> AsyncBufRead for Pin<P>
where
    P: DerefMut,
    P::Target: AsyncBufRead,
{
    #[inline]
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        self.as_deref_mut().poll_fill_buf(cx)
    }

    #[inline]
    fn consume(self: Pin<&mut Self>, amt: usize) {
        self.as_deref_mut().consume(amt);
    }
}

impl AsyncBufRead for &[u8] {
    #[inline]
    fn poll_fill_buf(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        Poll::Ready(Ok(*self))
    }

    #[inline]
    fn consume(mut self: Pin<&mut Self>, amt: usize) {
        *self = &self[amt..];
    }
}

impl<T: AsRef<[u8]> + Unpin> AsyncBufRead for io::Cursor<T> {
    #[inline]
    fn poll_fill_buf(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        Poll::Ready(io::BufRead::fill_buf(self.get_mut()))
    }

    #[inline]
    fn consume(self: Pin<&mut Self>, amt: usize) {
        io::BufRead::consume(self.get_mut(), amt);
    }
}
