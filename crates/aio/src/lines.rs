//! `Lines` and `Split`: a source divided into pieces.
//!
//! The piece being read is stored in the struct, so that dropping a future loses nothing of
//! it.

use std::future::poll_fn;
use std::io;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use crate::AsyncBufRead;
use crate::read_until::poll_read_until;

pin_project! {
    /// The pieces of a source between the occurrences of a byte.
    ///
    /// Created by [`AsyncBufReadExt::split`](crate::AsyncBufReadExt::split).
    #[derive(Debug)]
    #[must_use = "streams do nothing unless polled"]
    pub struct Split<R> {
        #[pin]
        reader: R,
        bytes: Vec<u8>,
        delimiter: u8,
        read: usize,
    }
}

impl<R: AsyncBufRead> Split<R> {
    pub(crate) fn new(reader: R, delimiter: u8) -> Self {
        Self {
            reader,
            bytes: Vec::new(),
            delimiter,
            read: 0,
        }
    }

    /// Attempts to read the next piece; returns `None` after the last one.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`next_segment`](Split::next_segment).
    pub fn poll_next_segment(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<Option<Vec<u8>>>> {
        let this = self.project();
        let (reader, delimiter) = (this.reader, *this.delimiter);
        let count = ready!(poll_read_until(
            reader, cx, delimiter, this.bytes, this.read
        ))?;
        // Bytes that an error or a dropped future has left are a piece as well.
        if count == 0 && this.bytes.is_empty() {
            return Poll::Ready(Ok(None));
        }
        let mut piece = mem::take(this.bytes);
        if piece.last() == Some(&delimiter) {
            piece.pop();
        }
        Poll::Ready(Ok(Some(piece)))
    }
}

impl<R: AsyncBufRead + Unpin> Split<R> {
    /// Reads the next piece; returns `None` after the last one.
    ///
    /// # Errors
    ///
    /// Returns the errors of the source. The part of the piece that was read is kept for
    /// the next call.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: the part of the piece that was read is kept for the next call.
    pub async fn next_segment(&mut self) -> io::Result<Option<Vec<u8>>> {
        poll_fn(|cx| Pin::new(&mut *self).poll_next_segment(cx)).await
    }
}

pin_project! {
    /// The lines of a source.
    ///
    /// Created by [`AsyncBufReadExt::lines`](crate::AsyncBufReadExt::lines).
    #[derive(Debug)]
    #[must_use = "streams do nothing unless polled"]
    pub struct Lines<R> {
        #[pin]
        reader: R,
        bytes: Vec<u8>,
    }
}

impl<R: AsyncBufRead> Lines<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self {
            reader,
            bytes: Vec::new(),
        }
    }

    /// Attempts to read the next line, without its line ending; returns `None` after the
    /// last one.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`next_line`](Lines::next_line).
    pub fn poll_next_line(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<Option<String>>> {
        let this = self.project();
        let mut read = 0;
        let result = poll_read_until(this.reader, cx, b'\n', this.bytes, &mut read);
        let count = ready!(result)?;
        // Bytes that an error or a dropped future has left are a line as well.
        if count == 0 && this.bytes.is_empty() {
            return Poll::Ready(Ok(None));
        }
        let mut line = mem::take(this.bytes);
        if line.last() == Some(&b'\n') {
            line.pop();
            if line.last() == Some(&b'\r') {
                line.pop();
            }
        }
        let line = String::from_utf8(line);
        Poll::Ready(match line {
            Ok(line) => Ok(Some(line)),
            Err(error) => Err(io::Error::new(io::ErrorKind::InvalidData, error)),
        })
    }
}

impl<R: AsyncBufRead + Unpin> Lines<R> {
    /// Reads the next line, without its line ending; returns `None` after the last one.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidData`](io::ErrorKind::InvalidData) if the line is not UTF-8; it is
    /// skipped. Also returns the errors of the source; the part of the line that was read
    /// is kept for the next call.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: the part of the line that was read is kept for the next call.
    pub async fn next_line(&mut self) -> io::Result<Option<String>> {
        poll_fn(|cx| Pin::new(&mut *self).poll_next_line(cx)).await
    }

    /// Returns a mutable reference to the source.
    pub fn get_mut(&mut self) -> &mut R {
        &mut self.reader
    }

    /// Returns a reference to the source.
    pub fn get_ref(&mut self) -> &R {
        &self.reader
    }

    /// Returns the source. A partially read line is lost.
    pub fn into_inner(self) -> R {
        self.reader
    }
}
