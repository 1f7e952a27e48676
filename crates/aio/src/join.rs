//! `join`: a source and a destination combined into one stream.

use std::pin::Pin;

use pin_project_lite::pin_project;

use crate::forward::{forward_buf_read, forward_read, forward_write};
use crate::{AsyncBufRead, AsyncRead, AsyncWrite};

/// Combines a source and a destination into one stream: the opposite of
/// [`split`](crate::split).
///
/// ```
/// use blitz_io::io::{AsyncReadExt, AsyncWriteExt, join};
///
/// # pollster::block_on(async {
/// let mut stream = join(&b"in"[..], Vec::new());
/// stream.write_all(b"out").await?;
/// assert_eq!(stream.read_u8().await?, b'i');
/// assert_eq!(stream.writer(), b"out");
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub fn join<R, W>(reader: R, writer: W) -> Join<R, W>
where
    R: AsyncRead,
    W: AsyncWrite,
{
    Join { reader, writer }
}

pin_project! {
    /// A source and a destination combined into one stream: see [`join`].
    #[derive(Debug)]
    pub struct Join<R, W> {
        #[pin]
        reader: R,
        #[pin]
        writer: W,
    }
}

impl<R, W> Join<R, W>
where
    R: AsyncRead,
    W: AsyncWrite,
{
    /// Returns the source and the destination.
    pub fn into_inner(self) -> (R, W) {
        (self.reader, self.writer)
    }

    /// Returns a reference to the source.
    pub fn reader(&self) -> &R {
        &self.reader
    }

    /// Returns a reference to the destination.
    pub fn writer(&self) -> &W {
        &self.writer
    }

    /// Returns a mutable reference to the source.
    pub fn reader_mut(&mut self) -> &mut R {
        &mut self.reader
    }

    /// Returns a mutable reference to the destination.
    pub fn writer_mut(&mut self) -> &mut W {
        &mut self.writer
    }

    /// Returns a pinned reference to the source.
    pub fn reader_pin_mut(self: Pin<&mut Self>) -> Pin<&mut R> {
        self.project().reader
    }

    /// Returns a pinned reference to the destination.
    pub fn writer_pin_mut(self: Pin<&mut Self>) -> Pin<&mut W> {
        self.project().writer
    }
}

forward_read!([R: AsyncRead, W] Join<R, W>, reader);
forward_buf_read!([R: AsyncBufRead, W] Join<R, W>, reader);
forward_write!([R, W: AsyncWrite] Join<R, W>, writer);
