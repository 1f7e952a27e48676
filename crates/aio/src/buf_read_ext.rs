//! `AsyncBufReadExt`: the methods of a source with a buffer.

use std::pin::Pin;

use crate::operation::Operation;
use crate::read_until::{FillBuf, ReadLine, ReadUntil};
use crate::{AsyncBufRead, Lines, Split};

/// The methods of everything that is [`AsyncBufRead`].
pub trait AsyncBufReadExt: AsyncBufRead {
    /// Reads up to and including the next `byte`, or to the end, appends that to `buf`, and
    /// returns the number of bytes read.
    ///
    /// Zero means that the end is reached.
    ///
    /// # Errors
    ///
    /// Returns the errors of the source, except
    /// [`Interrupted`](std::io::ErrorKind::Interrupted), after which it reads again. Bytes
    /// read before the error are in `buf`.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: the bytes read so far are in `buf`, and another call continues there.
    /// The number that the other call returns does not include them.
    ///
    /// ```
    /// use blitz_io::io::AsyncBufReadExt;
    ///
    /// # pollster::block_on(async {
    /// let mut source: &[u8] = b"key=value";
    /// let mut key = Vec::new();
    /// assert_eq!(source.read_until(b'=', &mut key).await?, 4);
    /// assert_eq!(key, b"key=");
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    #[track_caller]
    fn read_until<'a>(
        &'a mut self,
        byte: u8,
        buf: &'a mut Vec<u8>,
    ) -> Operation<'a, Self, ReadUntil<'a>>
    where
        Self: Unpin,
    {
        Operation::new(self, ReadUntil::new(byte, buf))
    }

    /// Reads up to and including the next line feed, or to the end, appends that to `buf`,
    /// and returns the number of bytes read.
    ///
    /// Zero means that the end is reached.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidData`](std::io::ErrorKind::InvalidData) if the bytes are not UTF-8:
    /// they are lost, and `buf` is unchanged. Also returns the errors of the source, except
    /// [`Interrupted`](std::io::ErrorKind::Interrupted), after which it reads again. Bytes
    /// read before such an error are in `buf`, if they are UTF-8.
    ///
    /// # Cancel safety
    ///
    /// Not cancel safe: the bytes read so far and the content of `buf` are lost. Use
    /// [`read_until`](AsyncBufReadExt::read_until) or [`lines`](AsyncBufReadExt::lines).
    ///
    /// ```
    /// use blitz_io::io::AsyncBufReadExt;
    ///
    /// # pollster::block_on(async {
    /// let mut source: &[u8] = b"one\ntwo";
    /// let mut line = String::new();
    /// source.read_line(&mut line).await?;
    /// assert_eq!(line, "one\n");
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    #[track_caller]
    fn read_line<'a>(&'a mut self, buf: &'a mut String) -> Operation<'a, Self, ReadLine<'a>>
    where
        Self: Unpin,
    {
        Operation::new(self, ReadLine::new(buf))
    }

    /// Returns the pieces between the occurrences of `byte`, one by one.
    ///
    /// ```
    /// use blitz_io::io::{AsyncBufReadExt, BufReader};
    ///
    /// # pollster::block_on(async {
    /// let mut words = BufReader::new(&b"red green"[..]).split(b' ');
    /// assert_eq!(words.next_segment().await?.unwrap(), b"red");
    /// assert_eq!(words.next_segment().await?.unwrap(), b"green");
    /// assert_eq!(words.next_segment().await?, None);
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    fn split(self, byte: u8) -> Split<Self>
    where
        Self: Sized + Unpin,
    {
        Split::new(self, byte)
    }

    /// Returns the contents of the buffer, after filling it from the source if it is empty.
    ///
    /// An empty slice means that the end is reached. The bytes stay in the buffer until
    /// [`consume`](AsyncBufReadExt::consume) marks them as used.
    ///
    /// # Errors
    ///
    /// Returns the errors of the source.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: no byte is lost.
    ///
    /// ```
    /// use blitz_io::io::{AsyncBufReadExt, BufReader};
    ///
    /// # pollster::block_on(async {
    /// let mut reader = BufReader::new(&b"abc"[..]);
    /// assert_eq!(reader.fill_buf().await?, b"abc");
    /// reader.consume(2);
    /// assert_eq!(reader.fill_buf().await?, b"c");
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    fn fill_buf(&mut self) -> FillBuf<'_, Self>
    where
        Self: Unpin,
    {
        FillBuf::new(self)
    }

    /// Marks `amt` bytes of the buffer as used, so that no read returns them again.
    ///
    /// `amt` is at most the length of what [`fill_buf`](AsyncBufReadExt::fill_buf) has
    /// returned.
    fn consume(&mut self, amt: usize)
    where
        Self: Unpin,
    {
        Pin::new(self).consume(amt);
    }

    /// Returns the lines, one by one, without their line endings (`\n` or `\r\n`).
    ///
    /// ```
    /// use blitz_io::io::AsyncBufReadExt;
    ///
    /// # pollster::block_on(async {
    /// let mut lines = (&b"one\r\ntwo"[..]).lines();
    /// assert_eq!(lines.next_line().await?.as_deref(), Some("one"));
    /// assert_eq!(lines.next_line().await?.as_deref(), Some("two"));
    /// assert_eq!(lines.next_line().await?, None);
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    fn lines(self) -> Lines<Self>
    where
        Self: Sized,
    {
        Lines::new(self)
    }
}

impl<R: AsyncBufRead + ?Sized> AsyncBufReadExt for R {}
