//! `AsyncSeek`: a position in a stream of bytes that can be moved.

use std::io::{self, Seek, SeekFrom};
use std::ops::DerefMut;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Moves the position at which a stream is read and written.
///
/// This is the counterpart of [`std::io::Seek`] for tasks. The methods to call are those of
/// [`AsyncSeekExt`](crate::AsyncSeekExt).
pub trait AsyncSeek {
    /// Starts to move to `position`; [`poll_complete`](AsyncSeek::poll_complete) reports
    /// when the move is complete.
    ///
    /// A position behind the end is allowed; each type defines what it means.
    ///
    /// # Errors
    ///
    /// Returns the errors of the stream; among them that `position` is before the start,
    /// and that another operation is under way.
    fn start_seek(self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()>;

    /// Attempts to complete the move, and returns the new position, in bytes from the
    /// start.
    ///
    /// Without a move under way, it returns the position or a meaningless number: each type
    /// documents which.
    ///
    /// # Errors
    ///
    /// Returns the errors of the stream.
    fn poll_complete(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>>;
}

macro_rules! through_a_reference {
    ($type:ty) => {
        impl<T: ?Sized + AsyncSeek + Unpin> AsyncSeek for $type {
            #[inline]
            fn start_seek(mut self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
                Pin::new(&mut **self).start_seek(position)
            }

            #[inline]
            fn poll_complete(
                mut self: Pin<&mut Self>,
                cx: &mut Context<'_>,
            ) -> Poll<io::Result<u64>> {
                Pin::new(&mut **self).poll_complete(cx)
            }
        }
    };
}

through_a_reference!(Box<T>);
through_a_reference!(&mut T);

impl<P> AsyncSeek for Pin<P>
where
    P: DerefMut,
    P::Target: AsyncSeek,
{
    #[inline]
    fn start_seek(self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
        self.as_deref_mut().start_seek(position)
    }

    #[inline]
    fn poll_complete(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        self.as_deref_mut().poll_complete(cx)
    }
}

impl<T: AsRef<[u8]> + Unpin> AsyncSeek for io::Cursor<T> {
    #[inline]
    fn start_seek(mut self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
        self.seek(position).map(drop)
    }

    #[inline]
    fn poll_complete(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<u64>> {
        Poll::Ready(Ok(self.position()))
    }
}
