//! `AsyncRead`: sources of bytes, and the types that are one.

use std::io;
use std::ops::DerefMut;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::ReadBuf;

/// Reads bytes from a source without blocking the thread.
///
/// This is the counterpart of [`std::io::Read`] for tasks: where that blocks, this returns
/// [`Poll::Pending`] and wakes the task later. The methods to call are those of
/// [`AsyncReadExt`](crate::AsyncReadExt).
pub trait AsyncRead {
    /// Attempts to read into `buf`, which is advanced by the number of bytes read.
    ///
    /// After `Ready(Ok(()))` with no byte added, the end of the source is reached, or `buf`
    /// had no room left. After `Pending`, nothing has been added, and the waker of the last
    /// call is woken once there may be bytes to read.
    ///
    /// # Errors
    ///
    /// Returns the errors of the source. In that case nothing has been added to `buf`.
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>>;
}

macro_rules! through_a_reference {
    ($type:ty) => {
        impl<T: ?Sized + AsyncRead + Unpin> AsyncRead for $type {
            #[inline]
            fn poll_read(
                mut self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                Pin::new(&mut **self).poll_read(cx, buf)
            }
        }
    };
}

through_a_reference!(Box<T>);
through_a_reference!(&mut T);

impl<P> AsyncRead for Pin<P>
where
    P: DerefMut,
    P::Target: AsyncRead,
{
    #[inline]
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.as_deref_mut().poll_read(cx, buf)
    }
}

impl AsyncRead for &[u8] {
    #[inline]
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let (now, later) = self.split_at(self.len().min(buf.remaining()));
        buf.put_slice(now);
        *self = later;
        Poll::Ready(Ok(()))
    }
}

impl<T: AsRef<[u8]> + Unpin> AsyncRead for io::Cursor<T> {
    #[inline]
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let position = self.position();
        let bytes = self.get_ref().as_ref();
        // A cursor may be positioned behind the end.
        let start = usize::try_from(position).map_or(bytes.len(), |start| start.min(bytes.len()));
        let count = (bytes.len() - start).min(buf.remaining());
        buf.put_slice(&bytes[start..start + count]);
        self.set_position(position + count as u64);
        Poll::Ready(Ok(()))
    }
}
