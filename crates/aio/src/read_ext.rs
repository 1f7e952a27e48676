//! `AsyncReadExt`: the methods of a source of bytes.

use bytes::BufMut;

use crate::number::ReadNumber;
use crate::operation::Operation;
use crate::read::{Read, ReadExact, ReadInto};
use crate::read_to_end::{ReadToEnd, ReadToString};
use crate::{AsyncRead, Chain, ReadBuf, Take};

macro_rules! numbers {
    ($($name:ident: $type:ident, $bytes:literal, $from:ident, $to:ident, $order:literal;)*) => {$(
        #[doc = concat!("Reads a number of type `", stringify!($type), "`: ", $bytes, " byte(s), ", $order, ".")]
        ///
        /// # Errors
        ///
        /// Returns [`UnexpectedEof`](std::io::ErrorKind::UnexpectedEof) if the source ends
        /// too early, and the errors of the source, except
        /// [`Interrupted`](std::io::ErrorKind::Interrupted), after which it reads again.
        ///
        /// # Cancel safety
        ///
        /// Not cancel safe, unless it is one byte: bytes already read are lost.
        ///
        /// ```
        /// use blitz_io::io::AsyncReadExt;
        ///
        /// # pollster::block_on(async {
        #[doc = concat!("let bytes = (7 as ", stringify!($type), ").", stringify!($to), "();")]
        #[doc = concat!("assert_eq!((&bytes[..]).", stringify!($name), "().await?, 7 as ", stringify!($type), ");")]
        /// # std::io::Result::Ok(()) }).unwrap();
        /// ```
        #[track_caller]
        fn $name(&mut self) -> Operation<'_, Self, ReadNumber<$bytes, $type>>
        where
            Self: Unpin,
        {
            Operation::new(self, ReadNumber::new($type::$from))
        }
    )*};
}

/// The methods of everything that is [`AsyncRead`].
///
/// ```
/// use blitz_io::io::AsyncReadExt;
///
/// # pollster::block_on(async {
/// let mut source: &[u8] = b"\x01\x02rest";
/// assert_eq!(source.read_u16().await?, 0x0102);
/// let mut rest = String::new();
/// source.read_to_string(&mut rest).await?;
/// assert_eq!(rest, "rest");
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub trait AsyncReadExt: AsyncRead {
    /// Returns a source of the bytes of this one, followed by those of `next`.
    ///
    /// ```
    /// use blitz_io::io::AsyncReadExt;
    ///
    /// # pollster::block_on(async {
    /// let mut text = String::new();
    /// (&b"one "[..]).chain(&b"two"[..]).read_to_string(&mut text).await?;
    /// assert_eq!(text, "one two");
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    fn chain<R>(self, next: R) -> Chain<Self, R>
    where
        Self: Sized,
        R: AsyncRead,
    {
        Chain::new(self, next)
    }

    /// Reads some bytes into `buf`, and returns the number of bytes read.
    ///
    /// Zero means that the end is reached, or that `buf` is empty.
    ///
    /// # Errors
    ///
    /// Returns the errors of the source. Nothing has been read in that case.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: a future that is dropped before it is ready has read nothing.
    ///
    /// ```
    /// use blitz_io::io::AsyncReadExt;
    ///
    /// # pollster::block_on(async {
    /// let mut source: &[u8] = b"abc";
    /// let mut buf = [0; 2];
    /// assert_eq!(source.read(&mut buf).await?, 2);
    /// assert_eq!(&buf, b"ab");
    /// assert_eq!(source.read(&mut buf).await?, 1);
    /// assert_eq!(source.read(&mut buf).await?, 0);
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    #[track_caller]
    fn read<'a>(&'a mut self, buf: &'a mut [u8]) -> Operation<'a, Self, Read<'a>>
    where
        Self: Unpin,
    {
        Operation::new(self, Read(buf))
    }

    /// Reads some bytes into the room that `buf` has left, and returns the number of bytes
    /// read.
    ///
    /// A `Vec` or a `BytesMut` grows if it has no room left, so it does not limit how much
    /// can be read; `&mut [u8]` and `limit` of [`BufMut`] do. Zero means that the end is
    /// reached, or that there is no room.
    ///
    /// # Errors
    ///
    /// Returns the errors of the source. Nothing has been read in that case.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: a future that is dropped before it is ready has read nothing.
    ///
    /// ```
    /// use blitz_io::io::AsyncReadExt;
    ///
    /// # pollster::block_on(async {
    /// let mut source: &[u8] = b"abc";
    /// let mut bytes = Vec::with_capacity(10);
    /// assert_eq!(source.read_buf(&mut bytes).await?, 3);
    /// assert_eq!(bytes, b"abc");
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    #[track_caller]
    fn read_buf<'a, B>(&'a mut self, buf: &'a mut B) -> Operation<'a, Self, ReadInto<'a, B>>
    where
        Self: Unpin,
        B: BufMut + ?Sized,
    {
        Operation::new(self, ReadInto(buf))
    }

    /// Reads until `buf` is full, and returns its length.
    ///
    /// # Errors
    ///
    /// Returns [`UnexpectedEof`](std::io::ErrorKind::UnexpectedEof) if the source ends too
    /// early, and the errors of the source, except
    /// [`Interrupted`](std::io::ErrorKind::Interrupted), after which it reads again. After
    /// an error, it is not known how much of `buf` has been filled.
    ///
    /// # Cancel safety
    ///
    /// Not cancel safe: bytes may have been read into `buf`, and how many is not known.
    ///
    /// ```
    /// use blitz_io::io::AsyncReadExt;
    ///
    /// # pollster::block_on(async {
    /// let mut source: &[u8] = b"abc";
    /// let mut buf = [0; 2];
    /// source.read_exact(&mut buf).await?;
    /// assert_eq!(&buf, b"ab");
    /// let error = source.read_exact(&mut buf).await.unwrap_err();
    /// assert_eq!(error.kind(), std::io::ErrorKind::UnexpectedEof);
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    #[track_caller]
    fn read_exact<'a>(&'a mut self, buf: &'a mut [u8]) -> Operation<'a, Self, ReadExact<'a>>
    where
        Self: Unpin,
    {
        Operation::new(self, ReadExact(ReadBuf::new(buf)))
    }

    numbers! {
        read_u8: u8, 1, from_be_bytes, to_be_bytes, "as it is";
        read_i8: i8, 1, from_be_bytes, to_be_bytes, "as it is";
        read_u16: u16, 2, from_be_bytes, to_be_bytes, "the most significant first";
        read_i16: i16, 2, from_be_bytes, to_be_bytes, "the most significant first";
        read_u32: u32, 4, from_be_bytes, to_be_bytes, "the most significant first";
        read_i32: i32, 4, from_be_bytes, to_be_bytes, "the most significant first";
        read_u64: u64, 8, from_be_bytes, to_be_bytes, "the most significant first";
        read_i64: i64, 8, from_be_bytes, to_be_bytes, "the most significant first";
        read_u128: u128, 16, from_be_bytes, to_be_bytes, "the most significant first";
        read_i128: i128, 16, from_be_bytes, to_be_bytes, "the most significant first";
        read_f32: f32, 4, from_be_bytes, to_be_bytes, "the most significant first";
        read_f64: f64, 8, from_be_bytes, to_be_bytes, "the most significant first";
        read_u16_le: u16, 2, from_le_bytes, to_le_bytes, "the least significant first";
        read_i16_le: i16, 2, from_le_bytes, to_le_bytes, "the least significant first";
        read_u32_le: u32, 4, from_le_bytes, to_le_bytes, "the least significant first";
        read_i32_le: i32, 4, from_le_bytes, to_le_bytes, "the least significant first";
        read_u64_le: u64, 8, from_le_bytes, to_le_bytes, "the least significant first";
        read_i64_le: i64, 8, from_le_bytes, to_le_bytes, "the least significant first";
        read_u128_le: u128, 16, from_le_bytes, to_le_bytes, "the least significant first";
        read_i128_le: i128, 16, from_le_bytes, to_le_bytes, "the least significant first";
        read_f32_le: f32, 4, from_le_bytes, to_le_bytes, "the least significant first";
        read_f64_le: f64, 8, from_le_bytes, to_le_bytes, "the least significant first";
    }

    /// Reads to the end, appends everything to `buf`, and returns the number of bytes read.
    ///
    /// # Errors
    ///
    /// Returns the errors of the source, except
    /// [`Interrupted`](std::io::ErrorKind::Interrupted), after which it reads again. Bytes
    /// read before the error are in `buf`.
    ///
    /// # Cancel safety
    ///
    /// No byte is lost: the bytes read so far are in `buf`.
    ///
    /// ```
    /// use blitz_io::io::AsyncReadExt;
    ///
    /// # pollster::block_on(async {
    /// let mut bytes = b"12".to_vec();
    /// assert_eq!((&b"345"[..]).read_to_end(&mut bytes).await?, 3);
    /// assert_eq!(bytes, b"12345");
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    #[track_caller]
    fn read_to_end<'a>(&'a mut self, buf: &'a mut Vec<u8>) -> Operation<'a, Self, ReadToEnd<'a>>
    where
        Self: Unpin,
    {
        Operation::new(self, ReadToEnd::new(buf))
    }

    /// Reads to the end, appends everything to `dst`, and returns the number of bytes read.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidData`](std::io::ErrorKind::InvalidData) if the bytes are not UTF-8,
    /// and the errors of the source, except
    /// [`Interrupted`](std::io::ErrorKind::Interrupted), after which it reads again. An
    /// error leaves `dst` unchanged.
    ///
    /// # Cancel safety
    ///
    /// Not cancel safe: the bytes read so far and the content of `dst` are lost.
    ///
    /// ```
    /// use blitz_io::io::AsyncReadExt;
    ///
    /// # pollster::block_on(async {
    /// let mut text = String::from("a ");
    /// assert_eq!((&b"word"[..]).read_to_string(&mut text).await?, 4);
    /// assert_eq!(text, "a word");
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    #[track_caller]
    fn read_to_string<'a>(
        &'a mut self,
        dst: &'a mut String,
    ) -> Operation<'a, Self, ReadToString<'a>>
    where
        Self: Unpin,
    {
        Operation::new(self, ReadToString::new(dst))
    }

    /// Returns a source that ends after `limit` bytes.
    ///
    /// ```
    /// use blitz_io::io::AsyncReadExt;
    ///
    /// # pollster::block_on(async {
    /// let mut text = String::new();
    /// (&b"a long text"[..]).take(6).read_to_string(&mut text).await?;
    /// assert_eq!(text, "a long");
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    fn take(self, limit: u64) -> Take<Self>
    where
        Self: Sized,
    {
        Take::new(self, limit)
    }
}

impl<R: AsyncRead + ?Sized> AsyncReadExt for R {}
