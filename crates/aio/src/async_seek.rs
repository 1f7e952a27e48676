//! `AsyncSeek`: a place in a stream of bytes that can be moved.

use std::io::{self, Seek, SeekFrom};
use std::ops::DerefMut;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Moves the place at which a stream is read and written.
///
/// It is the counterpart of [`std::io::Seek`] for tasks. The methods to call are those of
/// [`AsyncSeekExt`](crate::AsyncSeekExt).
pub trait AsyncSeek {
    /// Starts to move to `position`; [`poll_complete`](AsyncSeek::poll_complete) says when
    /// that is done.
    ///
    /// A place behind the end is allowed; what it means is for the type to say.
    ///
    /// # Errors
    ///
    /// Those of the stream; among them `position` being before the start, and another
    /// operation being under way.
    fn start_seek(self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()>;

    /// Attempts to complete the move, and returns the new place, in bytes from the start.
    ///
    /// Without a move under way it returns the place, or a number that means nothing: the
    /// type says which.
    ///
    /// # Errors
    ///
    /// Those of the stream.
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
