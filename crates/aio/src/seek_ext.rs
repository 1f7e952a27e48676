//! `AsyncSeekExt`: the methods of a stream whose position can be moved.

use std::io::{self, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use crate::AsyncSeek;
use crate::operation::{Operation, Step};

/// The methods of everything that is [`AsyncSeek`].
///
/// ```
/// use std::io::{Cursor, SeekFrom};
/// use blitz_io::io::{AsyncReadExt, AsyncSeekExt};
///
/// # pollster::block_on(async {
/// let mut file = Cursor::new(b"abcdef");
/// assert_eq!(file.seek(SeekFrom::End(-2)).await?, 4);
/// assert_eq!(file.read_u8().await?, b'e');
/// assert_eq!(file.stream_position().await?, 5);
/// file.rewind().await?;
/// assert_eq!(file.read_u8().await?, b'a');
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub trait AsyncSeekExt: AsyncSeek {
    /// Moves to a position, and returns it, in bytes from the start.
    ///
    /// # Errors
    ///
    /// Returns the errors of the stream; among them that `pos` is before the start.
    ///
    /// # Cancel safety
    ///
    /// Not cancel safe: it is not known whether the position has changed.
    #[track_caller]
    fn seek(&mut self, pos: SeekFrom) -> Operation<'_, Self, Seek>
    where
        Self: Unpin,
    {
        Operation::new(self, Seek(Some(pos)))
    }

    /// Moves to the start: `seek(SeekFrom::Start(0))`.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`seek`](AsyncSeekExt::seek).
    fn rewind(&mut self) -> Operation<'_, Self, Seek>
    where
        Self: Unpin,
    {
        self.seek(SeekFrom::Start(0))
    }

    /// Returns the position, in bytes from the start: `seek(SeekFrom::Current(0))`.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`seek`](AsyncSeekExt::seek).
    fn stream_position(&mut self) -> Operation<'_, Self, Seek>
    where
        Self: Unpin,
    {
        self.seek(SeekFrom::Current(0))
    }
}

impl<S: AsyncSeek + ?Sized> AsyncSeekExt for S {}

/// The step of `seek`: the position, until the seek has been started.
#[derive(Debug)]
pub struct Seek(Option<SeekFrom>);

impl<S: AsyncSeek + ?Sized> Step<S> for Seek {
    type Output = io::Result<u64>;

    fn poll(&mut self, mut stream: Pin<&mut S>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        if let Some(position) = self.0 {
            // A cancelled seek may still be under way.
            ready!(stream.as_mut().poll_complete(cx))?;
            stream.as_mut().start_seek(position)?;
            self.0 = None;
        }
        stream.poll_complete(cx)
    }
}
