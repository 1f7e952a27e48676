//! `BufStream`: a buffer for each direction.

use std::pin::Pin;

use pin_project_lite::pin_project;

use crate::forward::{forward_buf_read, forward_read, forward_seek, forward_write};
use crate::{AsyncRead, AsyncSeek, AsyncWrite, BufReader, BufWriter};

pin_project! {
    /// Adds a read buffer and a write buffer to a stream that is both a source and a
    /// destination.
    ///
    /// It is a [`BufReader`] around a [`BufWriter`], and their documentation applies here.
    #[derive(Debug)]
    pub struct BufStream<RW> {
        #[pin]
        inner: BufReader<BufWriter<RW>>,
    }
}

impl<RW: AsyncRead + AsyncWrite> BufStream<RW> {
    /// Creates a `BufStream` with two buffers of 8 KiB.
    ///
    /// ```
    /// use blitz_io::io::{AsyncBufReadExt, AsyncWriteExt, BufStream, duplex};
    ///
    /// # pollster::block_on(async {
    /// let (near, far) = duplex(64);
    /// let (mut near, mut far) = (BufStream::new(near), BufStream::new(far));
    /// near.write_all(b"ping\n").await?;
    /// near.flush().await?;
    /// let mut line = String::new();
    /// far.read_line(&mut line).await?;
    /// assert_eq!(line, "ping\n");
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    pub fn new(stream: RW) -> BufStream<RW> {
        BufReader::new(BufWriter::new(stream)).into()
    }

    /// Creates a `BufStream` with buffers of these sizes, in bytes.
    ///
    /// # Panics
    ///
    /// Panics if `reader_capacity` is zero.
    #[track_caller]
    pub fn with_capacity(
        reader_capacity: usize,
        writer_capacity: usize,
        stream: RW,
    ) -> BufStream<RW> {
        let writer = BufWriter::with_capacity(writer_capacity, stream);
        BufReader::with_capacity(reader_capacity, writer).into()
    }

    /// Returns a reference to the stream. It is rarely right to read from it directly.
    pub fn get_ref(&self) -> &RW {
        self.inner.get_ref().get_ref()
    }

    /// Returns a mutable reference to the stream. It is rarely right to use it directly.
    pub fn get_mut(&mut self) -> &mut RW {
        self.inner.get_mut().get_mut()
    }

    /// Returns a pinned reference to the stream. It is rarely right to use it directly.
    pub fn get_pin_mut(self: Pin<&mut Self>) -> Pin<&mut RW> {
        self.project().inner.get_pin_mut().get_pin_mut()
    }

    /// Returns the stream. The contents of the buffers are lost.
    pub fn into_inner(self) -> RW {
        self.inner.into_inner().into_inner()
    }
}

impl<RW> From<BufReader<BufWriter<RW>>> for BufStream<RW> {
    fn from(inner: BufReader<BufWriter<RW>>) -> Self {
        BufStream { inner }
    }
}

impl<RW> From<BufWriter<BufReader<RW>>> for BufStream<RW> {
    fn from(writer: BufWriter<BufReader<RW>>) -> Self {
        // The same buffers, nested the other way round.
        let reader = writer.inner;
        let writer = BufWriter {
            inner: reader.inner,
            buf: writer.buf,
            written: writer.written,
            seek: writer.seek,
        };
        let reader = BufReader {
            inner: writer,
            buf: reader.buf,
            pos: reader.pos,
            cap: reader.cap,
            seek: reader.seek,
        };
        reader.into()
    }
}

forward_read!([RW: AsyncRead + AsyncWrite] BufStream<RW>, inner);
forward_buf_read!([RW: AsyncRead + AsyncWrite] BufStream<RW>, inner);
forward_write!([RW: AsyncRead + AsyncWrite] BufStream<RW>, inner);
forward_seek!([RW: AsyncRead + AsyncWrite + AsyncSeek] BufStream<RW>, inner);
