//! The steps of `read_u8` … `write_f64_le`: numbers of a fixed number of bytes.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use crate::operation::Step;
use crate::write::poll_write_all;
use crate::{AsyncRead, AsyncWrite, ReadBuf};

/// Reads `N` bytes, and converts them to a number.
pub struct ReadNumber<const N: usize, T> {
    bytes: [u8; N],
    read: usize,
    convert: fn([u8; N]) -> T,
}

impl<const N: usize, T> ReadNumber<N, T> {
    #[inline]
    pub(crate) fn new(convert: fn([u8; N]) -> T) -> Self {
        Self {
            bytes: [0; N],
            read: 0,
            convert,
        }
    }
}

impl<const N: usize, T, R: AsyncRead + ?Sized> Step<R> for ReadNumber<N, T> {
    type Output = io::Result<T>;

    #[inline]
    fn poll(&mut self, mut reader: Pin<&mut R>, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        while self.read < N {
            let mut buf = ReadBuf::new(&mut self.bytes[self.read..]);
            match ready!(reader.as_mut().poll_read(cx, &mut buf)) {
                Ok(()) if buf.filled().is_empty() => {
                    return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
                }
                Ok(()) => self.read += buf.filled().len(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        Poll::Ready(Ok((self.convert)(self.bytes)))
    }
}

impl<const N: usize, T> fmt::Debug for ReadNumber<N, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadNumber")
            .field("read", &&self.bytes[..self.read])
            .finish_non_exhaustive()
    }
}

/// Writes `N` bytes.
#[derive(Debug)]
pub struct WriteNumber<const N: usize> {
    bytes: [u8; N],
    written: usize,
}

impl<const N: usize> WriteNumber<N> {
    #[inline]
    pub(crate) fn new(bytes: [u8; N]) -> Self {
        Self { bytes, written: 0 }
    }
}

impl<const N: usize, W: AsyncWrite + ?Sized> Step<W> for WriteNumber<N> {
    type Output = io::Result<()>;

    #[inline]
    fn poll(&mut self, writer: Pin<&mut W>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        poll_write_all(writer, cx, &self.bytes, &mut self.written)
    }
}
