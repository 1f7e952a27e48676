//! The steps of `read_until`, `read_line` and `fill_buf`.

use std::io;
use std::marker::PhantomPinned;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use crate::AsyncBufRead;
use crate::operation::Step;
use crate::utf8::Text;

/// Appends to `bytes` up to and including `delimiter`, or to the end. `read` keeps the
/// number of appended bytes from one poll to the next.
pub(crate) fn poll_read_until<R: AsyncBufRead + ?Sized>(
    mut reader: Pin<&mut R>,
    cx: &mut Context<'_>,
    delimiter: u8,
    bytes: &mut Vec<u8>,
    read: &mut usize,
) -> Poll<io::Result<usize>> {
    loop {
        let available = match ready!(reader.as_mut().poll_fill_buf(cx)) {
            Ok(available) => available,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Poll::Ready(Err(error)),
        };
        let found = find(delimiter, available);
        let count = found.map_or(available.len(), |place| place + 1);
        bytes.extend_from_slice(&available[..count]);
        reader.as_mut().consume(count);
        *read += count;
        if found.is_some() || count == 0 {
            return Poll::Ready(Ok(mem::take(read)));
        }
    }
}

/// Returns the place of the first `byte`: the system's library compares many bytes at once.
#[cfg(unix)]
fn find(byte: u8, bytes: &[u8]) -> Option<usize> {
    let begin = bytes.as_ptr();
    // SAFETY: `begin` is valid for reads of `bytes.len()` bytes, as it is that of the slice.
    let found = unsafe { libc::memchr(begin.cast(), byte.into(), bytes.len()) };
    (!found.is_null()).then(|| found.addr() - begin.addr())
}

#[cfg(not(unix))]
fn find(byte: u8, bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|&found| found == byte)
}

/// The step of `read_until`.
#[derive(Debug)]
pub struct ReadUntil<'a> {
    delimiter: u8,
    bytes: &'a mut Vec<u8>,
    read: usize,
}

impl<'a> ReadUntil<'a> {
    pub(crate) fn new(delimiter: u8, bytes: &'a mut Vec<u8>) -> Self {
        Self {
            delimiter,
            bytes,
            read: 0,
        }
    }
}

impl<R: AsyncBufRead + ?Sized> Step<R> for ReadUntil<'_> {
    type Output = io::Result<usize>;

    fn poll(&mut self, reader: Pin<&mut R>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        poll_read_until(reader, cx, self.delimiter, self.bytes, &mut self.read)
    }
}

/// The step of `read_line`.
#[derive(Debug)]
pub struct ReadLine<'a> {
    text: Text<'a>,
    read: usize,
}

impl<'a> ReadLine<'a> {
    pub(crate) fn new(text: &'a mut String) -> Self {
        Self {
            text: Text::new(text),
            read: 0,
        }
    }
}

impl<R: AsyncBufRead + ?Sized> Step<R> for ReadLine<'_> {
    type Output = io::Result<usize>;

    fn poll(&mut self, reader: Pin<&mut R>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let bytes = &mut self.text.bytes;
        let result = ready!(poll_read_until(reader, cx, b'\n', bytes, &mut self.read));
        Poll::Ready(self.text.finish(result))
    }
}

pin_project! {
    /// The step of `fill_buf`. Its result borrows the reader for longer than a step may.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct FillBuf<'a, R: ?Sized> {
        reader: Option<&'a mut R>,
        #[pin]
        _pin: PhantomPinned,
    }
}

impl<'a, R: ?Sized> FillBuf<'a, R> {
    pub(crate) fn new(reader: &'a mut R) -> Self {
        Self {
            reader: Some(reader),
            _pin: PhantomPinned,
        }
    }
}

impl<'a, R: AsyncBufRead + ?Sized + Unpin> Future for FillBuf<'a, R> {
    type Output = io::Result<&'a [u8]>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let slot = self.project().reader;
        let reader = slot.take().expect("Polled after completion.");
        match Pin::new(&mut *reader).poll_fill_buf(cx) {
            Poll::Pending => {
                *slot = Some(reader);
                Poll::Pending
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Ready(Ok(bytes)) => {
                // SAFETY: `reader` is borrowed for `'a`. The future has given that borrow
                // up, so nothing uses it while the bytes are in use. The compiler does not
                // see that the borrow of one arm does not reach into the others.
                Poll::Ready(Ok(unsafe { mem::transmute::<&[u8], &'a [u8]>(bytes) }))
            }
        }
    }
}
