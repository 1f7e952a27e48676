//! The steps of `write`, `write_vectored`, `write_buf`, `write_all`, `write_all_buf`,
//! `flush` and `shutdown`.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Buf;

use crate::AsyncWrite;
use crate::operation::Step;

/// At most this many pieces of a `Buf` go into one vectored write. An array of them lives
/// on the stack, and systems accept at least 16 and at most 1024.
const MAX_SLICES: usize = 64;

/// Writes `bytes` from `written` on, and advances `written`.
pub(crate) fn poll_write_all<W: AsyncWrite + ?Sized>(
    mut writer: Pin<&mut W>,
    cx: &mut Context<'_>,
    bytes: &[u8],
    written: &mut usize,
) -> Poll<io::Result<()>> {
    while *written < bytes.len() {
        match ready!(writer.as_mut().poll_write(cx, &bytes[*written..])) {
            Ok(0) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
            Ok(count) => *written += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Poll::Ready(Err(error)),
        }
    }
    Poll::Ready(Ok(()))
}

/// Writes some of `buf`, which is not empty.
fn poll_write_some<W: AsyncWrite + ?Sized, B: Buf>(
    writer: Pin<&mut W>,
    cx: &mut Context<'_>,
    buf: &mut B,
) -> Poll<io::Result<usize>> {
    let count = if writer.is_write_vectored() {
        let mut slices = [IoSlice::new(&[]); MAX_SLICES];
        let used = buf.chunks_vectored(&mut slices);
        ready!(writer.poll_write_vectored(cx, &slices[..used]))?
    } else {
        ready!(writer.poll_write(cx, buf.chunk()))?
    };
    buf.advance(count);
    Poll::Ready(Ok(count))
}

/// The step of `write`.
#[derive(Debug)]
pub struct Write<'a>(pub(crate) &'a [u8]);

impl<W: AsyncWrite + ?Sized> Step<W> for Write<'_> {
    type Output = io::Result<usize>;

    #[inline]
    fn poll(&mut self, writer: Pin<&mut W>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        writer.poll_write(cx, self.0)
    }
}

/// The step of `write_vectored`.
#[derive(Debug)]
pub struct WriteVectored<'a, 'b>(pub(crate) &'a [IoSlice<'b>]);

impl<W: AsyncWrite + ?Sized> Step<W> for WriteVectored<'_, '_> {
    type Output = io::Result<usize>;

    #[inline]
    fn poll(&mut self, writer: Pin<&mut W>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        writer.poll_write_vectored(cx, self.0)
    }
}

/// The step of `write_buf`.
#[derive(Debug)]
pub struct WriteFrom<'a, B>(pub(crate) &'a mut B);

impl<W: AsyncWrite + ?Sized, B: Buf> Step<W> for WriteFrom<'_, B> {
    type Output = io::Result<usize>;

    #[inline]
    fn poll(&mut self, writer: Pin<&mut W>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if !self.0.has_remaining() {
            return Poll::Ready(Ok(0));
        }
        poll_write_some(writer, cx, self.0)
    }
}

/// The step of `write_all`.
#[derive(Debug)]
pub struct WriteAll<'a> {
    bytes: &'a [u8],
    written: usize,
}

impl<'a> WriteAll<'a> {
    #[inline]
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, written: 0 }
    }
}

impl<W: AsyncWrite + ?Sized> Step<W> for WriteAll<'_> {
    type Output = io::Result<()>;

    #[inline]
    fn poll(&mut self, writer: Pin<&mut W>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        poll_write_all(writer, cx, self.bytes, &mut self.written)
    }
}

/// The step of `write_all_buf`.
#[derive(Debug)]
pub struct WriteAllFrom<'a, B>(pub(crate) &'a mut B);

impl<W: AsyncWrite + ?Sized, B: Buf> Step<W> for WriteAllFrom<'_, B> {
    type Output = io::Result<()>;

    #[inline]
    fn poll(&mut self, mut writer: Pin<&mut W>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.0.has_remaining() {
            match ready!(poll_write_some(writer.as_mut(), cx, self.0)) {
                Ok(0) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        Poll::Ready(Ok(()))
    }
}

/// The step of `flush`.
#[derive(Debug)]
pub struct Flush(pub(crate) ());

impl<W: AsyncWrite + ?Sized> Step<W> for Flush {
    type Output = io::Result<()>;

    #[inline]
    fn poll(&mut self, writer: Pin<&mut W>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        writer.poll_flush(cx)
    }
}

/// The step of `shutdown`.
#[derive(Debug)]
pub struct Shutdown(pub(crate) ());

impl<W: AsyncWrite + ?Sized> Step<W> for Shutdown {
    type Output = io::Result<()>;

    #[inline]
    fn poll(&mut self, writer: Pin<&mut W>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        writer.poll_shutdown(cx)
    }
}
