//! The steps of `read`, `read_buf` and `read_exact`.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::BufMut;

use crate::operation::Step;
use crate::{AsyncRead, ReadBuf};

/// The step of `read`.
#[derive(Debug)]
pub struct Read<'a>(pub(crate) &'a mut [u8]);

impl<R: AsyncRead + ?Sized> Step<R> for Read<'_> {
    type Output = io::Result<usize>;

    #[inline]
    fn poll(&mut self, reader: Pin<&mut R>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let mut buf = ReadBuf::new(self.0);
        ready!(reader.poll_read(cx, &mut buf))?;
        Poll::Ready(Ok(buf.filled().len()))
    }
}

/// The step of `read_buf`.
#[derive(Debug)]
pub struct ReadInto<'a, B: ?Sized>(pub(crate) &'a mut B);

impl<R: AsyncRead + ?Sized, B: BufMut + ?Sized> Step<R> for ReadInto<'_, B> {
    type Output = io::Result<usize>;

    #[inline]
    fn poll(&mut self, reader: Pin<&mut R>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if !self.0.has_remaining_mut() {
            return Poll::Ready(Ok(0));
        }
        // SAFETY: a `ReadBuf` never makes bytes uninitialised.
        let memory = unsafe { self.0.chunk_mut().as_uninit_slice_mut() };
        let start = memory.as_ptr().cast::<u8>();
        let mut buf = ReadBuf::uninit(memory);
        ready!(reader.poll_read(cx, &mut buf))?;
        // A reader can replace this `ReadBuf` by another one.
        assert_eq!(buf.filled().as_ptr(), start);
        let count = buf.filled().len();
        // SAFETY: the reader has filled `count` bytes of the chunk.
        unsafe { self.0.advance_mut(count) };
        Poll::Ready(Ok(count))
    }
}

/// The step of `read_exact`.
#[derive(Debug)]
pub struct ReadExact<'a>(pub(crate) ReadBuf<'a>);

impl<R: AsyncRead + ?Sized> Step<R> for ReadExact<'_> {
    type Output = io::Result<usize>;

    #[inline]
    fn poll(&mut self, mut reader: Pin<&mut R>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        while self.0.remaining() != 0 {
            let before = self.0.remaining();
            match ready!(reader.as_mut().poll_read(cx, &mut self.0)) {
                Ok(()) if self.0.remaining() == before => {
                    let error = io::Error::new(io::ErrorKind::UnexpectedEof, "early eof");
                    return Poll::Ready(Err(error));
                }
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        Poll::Ready(Ok(self.0.capacity()))
    }
}
