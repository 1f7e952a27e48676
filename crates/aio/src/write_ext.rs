//! `AsyncWriteExt`: the methods of a destination of bytes.

use std::io::IoSlice;

use bytes::Buf;

use crate::AsyncWrite;
use crate::number::WriteNumber;
use crate::operation::Operation;
use crate::write::{Flush, Shutdown, Write, WriteAll, WriteAllFrom, WriteFrom, WriteVectored};

macro_rules! numbers {
    ($($name:ident: $type:ident, $bytes:literal, $to:ident, $order:literal;)*) => {$(
        #[doc = concat!("Writes a number of type `", stringify!($type), "`: ", $bytes, " byte(s), ", $order, ".")]
        ///
        /// # Errors
        ///
        /// Returns the errors of [`write_all`](AsyncWriteExt::write_all).
        ///
        /// # Cancel safety
        ///
        /// Not cancel safe, unless it is one byte: a part may have been written.
        ///
        /// ```
        /// use blitz_io::io::AsyncWriteExt;
        ///
        /// # pollster::block_on(async {
        /// let mut bytes = Vec::new();
        #[doc = concat!("bytes.", stringify!($name), "(7 as ", stringify!($type), ").await?;")]
        #[doc = concat!("assert_eq!(bytes, (7 as ", stringify!($type), ").", stringify!($to), "());")]
        /// # std::io::Result::Ok(()) }).unwrap();
        /// ```
        #[track_caller]
        fn $name(&mut self, n: $type) -> Operation<'_, Self, WriteNumber<$bytes>>
        where
            Self: Unpin,
        {
            Operation::new(self, WriteNumber::new(n.$to()))
        }
    )*};
}

/// The methods of everything that is [`AsyncWrite`].
///
/// ```
/// use blitz_io::io::AsyncWriteExt;
///
/// # pollster::block_on(async {
/// let mut bytes = Vec::new();
/// bytes.write_u16(5).await?;
/// bytes.write_all(b"hello").await?;
/// assert_eq!(bytes, b"\0\x05hello");
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub trait AsyncWriteExt: AsyncWrite {
    /// Writes some of `src`, and returns the number of bytes written.
    ///
    /// Zero means that no more is accepted, or that `src` is empty.
    ///
    /// # Errors
    ///
    /// Returns the errors of the destination. Nothing has been written in that case.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: a future that is dropped before it is ready has written nothing.
    ///
    /// ```
    /// use blitz_io::io::AsyncWriteExt;
    ///
    /// # pollster::block_on(async {
    /// let mut room = [0; 3];
    /// let mut cursor = std::io::Cursor::new(&mut room[..]);
    /// assert_eq!(cursor.write(b"abcd").await?, 3);
    /// assert_eq!(cursor.write(b"d").await?, 0);
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    #[track_caller]
    fn write<'a>(&'a mut self, src: &'a [u8]) -> Operation<'a, Self, Write<'a>>
    where
        Self: Unpin,
    {
        Operation::new(self, Write(src))
    }

    /// Writes some of several buffers, in order, and returns the number of bytes written.
    ///
    /// # Errors
    ///
    /// Returns the errors of the destination. Nothing has been written in that case.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: a future that is dropped before it is ready has written nothing.
    ///
    /// ```
    /// use std::io::IoSlice;
    /// use blitz_io::io::AsyncWriteExt;
    ///
    /// # pollster::block_on(async {
    /// let mut bytes = Vec::new();
    /// let pieces = [IoSlice::new(b"head "), IoSlice::new(b"body")];
    /// assert_eq!(bytes.write_vectored(&pieces).await?, 9);
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    #[track_caller]
    fn write_vectored<'a, 'b>(
        &'a mut self,
        bufs: &'a [IoSlice<'b>],
    ) -> Operation<'a, Self, WriteVectored<'a, 'b>>
    where
        Self: Unpin,
    {
        Operation::new(self, WriteVectored(bufs))
    }

    /// Writes some of `src`, advances it by as much, and returns the number of bytes
    /// written.
    ///
    /// It is a vectored write if the destination is better at that.
    ///
    /// # Errors
    ///
    /// Returns the errors of the destination. Nothing has been written in that case.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: a future that is dropped before it is ready has written nothing.
    ///
    /// ```
    /// use blitz_io::io::AsyncWriteExt;
    ///
    /// # pollster::block_on(async {
    /// let mut source: &[u8] = b"abc";
    /// let mut bytes = Vec::new();
    /// while !source.is_empty() {
    ///     bytes.write_buf(&mut source).await?;
    /// }
    /// assert_eq!(bytes, b"abc");
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    #[track_caller]
    fn write_buf<'a, B>(&'a mut self, src: &'a mut B) -> Operation<'a, Self, WriteFrom<'a, B>>
    where
        Self: Sized + Unpin,
        B: Buf,
    {
        Operation::new(self, WriteFrom(src))
    }

    /// Writes all of `src`, and advances it as far as it gets.
    ///
    /// # Errors
    ///
    /// Returns [`WriteZero`](std::io::ErrorKind::WriteZero) if the destination accepts no
    /// more, and the errors of the destination, except
    /// [`Interrupted`](std::io::ErrorKind::Interrupted), after which it writes again. The
    /// rest is left in `src`.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: the rest is left in `src`, and another call continues there.
    ///
    /// ```
    /// use blitz_io::io::AsyncWriteExt;
    ///
    /// # pollster::block_on(async {
    /// let mut source: &[u8] = b"abc";
    /// let mut bytes = Vec::new();
    /// bytes.write_all_buf(&mut source).await?;
    /// assert!(source.is_empty());
    /// assert_eq!(bytes, b"abc");
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    #[track_caller]
    fn write_all_buf<'a, B>(
        &'a mut self,
        src: &'a mut B,
    ) -> Operation<'a, Self, WriteAllFrom<'a, B>>
    where
        Self: Sized + Unpin,
        B: Buf,
    {
        Operation::new(self, WriteAllFrom(src))
    }

    /// Writes all of `src`.
    ///
    /// # Errors
    ///
    /// Returns [`WriteZero`](std::io::ErrorKind::WriteZero) if the destination accepts no
    /// more, and the errors of the destination, except
    /// [`Interrupted`](std::io::ErrorKind::Interrupted), after which it writes again. After
    /// an error, it is not known how much has been written.
    ///
    /// # Cancel safety
    ///
    /// Not cancel safe: a part may have been written, and how much is not known. See
    /// [`write_all_buf`](AsyncWriteExt::write_all_buf).
    ///
    /// ```
    /// use blitz_io::io::AsyncWriteExt;
    ///
    /// # pollster::block_on(async {
    /// let mut bytes = Vec::new();
    /// bytes.write_all(b"abc").await?;
    /// assert_eq!(bytes, b"abc");
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    #[track_caller]
    fn write_all<'a>(&'a mut self, src: &'a [u8]) -> Operation<'a, Self, WriteAll<'a>>
    where
        Self: Unpin,
    {
        Operation::new(self, WriteAll::new(src))
    }

    numbers! {
        write_u8: u8, 1, to_be_bytes, "as it is";
        write_i8: i8, 1, to_be_bytes, "as it is";
        write_u16: u16, 2, to_be_bytes, "the most significant first";
        write_i16: i16, 2, to_be_bytes, "the most significant first";
        write_u32: u32, 4, to_be_bytes, "the most significant first";
        write_i32: i32, 4, to_be_bytes, "the most significant first";
        write_u64: u64, 8, to_be_bytes, "the most significant first";
        write_i64: i64, 8, to_be_bytes, "the most significant first";
        write_u128: u128, 16, to_be_bytes, "the most significant first";
        write_i128: i128, 16, to_be_bytes, "the most significant first";
        write_f32: f32, 4, to_be_bytes, "the most significant first";
        write_f64: f64, 8, to_be_bytes, "the most significant first";
        write_u16_le: u16, 2, to_le_bytes, "the least significant first";
        write_i16_le: i16, 2, to_le_bytes, "the least significant first";
        write_u32_le: u32, 4, to_le_bytes, "the least significant first";
        write_i32_le: i32, 4, to_le_bytes, "the least significant first";
        write_u64_le: u64, 8, to_le_bytes, "the least significant first";
        write_i64_le: i64, 8, to_le_bytes, "the least significant first";
        write_u128_le: u128, 16, to_le_bytes, "the least significant first";
        write_i128_le: i128, 16, to_le_bytes, "the least significant first";
        write_f32_le: f32, 4, to_le_bytes, "the least significant first";
        write_f64_le: f64, 8, to_le_bytes, "the least significant first";
    }

    /// Passes everything written so far on to its destination.
    ///
    /// # Errors
    ///
    /// Returns the errors of the destination.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: a part may have been passed on, and another call continues there.
    ///
    /// ```
    /// use blitz_io::io::{AsyncWriteExt, BufWriter};
    ///
    /// # pollster::block_on(async {
    /// let mut writer = BufWriter::new(Vec::new());
    /// writer.write_all(b"abc").await?;
    /// assert!(writer.get_ref().is_empty());
    /// writer.flush().await?;
    /// assert_eq!(writer.get_ref(), b"abc");
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    #[track_caller]
    fn flush(&mut self) -> Operation<'_, Self, Flush>
    where
        Self: Unpin,
    {
        Operation::new(self, Flush(()))
    }

    /// Ends writing in an orderly way, after a flush.
    ///
    /// Nothing more can be written after that. A socket closes its sending half.
    ///
    /// # Errors
    ///
    /// Returns the errors of the destination.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: another call continues there.
    ///
    /// ```
    /// use blitz_io::io::{AsyncReadExt, AsyncWriteExt, duplex};
    ///
    /// # pollster::block_on(async {
    /// let (mut near, mut far) = duplex(16);
    /// near.write_all(b"bye").await?;
    /// near.shutdown().await?;
    /// let mut text = String::new();
    /// far.read_to_string(&mut text).await?;
    /// assert_eq!(text, "bye");
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    #[track_caller]
    fn shutdown(&mut self) -> Operation<'_, Self, Shutdown>
    where
        Self: Unpin,
    {
        Operation::new(self, Shutdown(()))
    }
}

impl<W: AsyncWrite + ?Sized> AsyncWriteExt for W {}
